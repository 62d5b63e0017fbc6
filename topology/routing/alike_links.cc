#include "topology/routing/alike_links.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>
#include <vector>

#include "base/mix_bits.h"

namespace orrery {
namespace {

// What two links must agree in beside their ends.
using Cable = std::tuple<double, Duration, LinkClassId, int32_t>;

Cable CableOf(const Link& link) {
  return {link.bandwidth.value(), link.latency, link.link_class, link.cables};
}

uint64_t HashOf(const Link& link, Direction direction, uint64_t far_end) {
  uint64_t hash = MixBits(far_end + kSplitMixIncrement);
  hash = MixBits(hash ^ std::bit_cast<uint64_t>(link.bandwidth.value()));
  hash = MixBits(hash ^ static_cast<uint64_t>(link.latency.count()));
  hash = MixBits(hash ^ static_cast<uint64_t>(link.link_class));
  return MixBits(hash ^ static_cast<uint64_t>(link.cables) << 1 ^
                 static_cast<uint64_t>(direction));
}

constexpr Direction kBothWays[] = {Direction::kLeaving, Direction::kEntering};

// Sets of links, each known by its first.
class LinkSets {
 public:
  explicit LinkSets(size_t links) {
    first_.reserve(links);
    for (size_t i = 0; i < links; ++i) first_.Add(static_cast<LinkId>(i));
  }
  void Join(LinkId a, LinkId b) {
    a = First(a);
    b = First(b);
    first_[std::max(a, b)] = std::min(a, b);
  }
  LinkId First(LinkId link) {
    while (first_[link] != link) link = first_[link] = first_[first_[link]];
    return link;
  }

 private:
  IdVector<LinkId, LinkId> first_;
};

// The connected parts of the switches that are `hops` or more from the chips.
class Parts {
 public:
  Parts(const Graph& graph, const IdVector<VertexId, int32_t>& hops_of,
        int32_t hops)
      : graph_(graph), part_(graph.vertex_count(), -1) {
    for (const VertexId v : graph.vertices()) {
      if (hops_of[v] < hops || part_[v] >= 0) continue;
      const auto number = static_cast<int32_t>(parts_.size());
      std::vector<VertexId>& part = parts_.emplace_back();
      part_[v] = number;
      part.push_back(v);
      for (size_t i = 0; i < part.size(); ++i) {
        for (const Direction direction : kBothWays) {
          for (const LinkId id : graph.links_at(part[i], direction)) {
            const VertexId next = graph.far_end(id, direction);
            if (hops_of[next] < hops || part_[next] >= 0) continue;
            part_[next] = number;
            part.push_back(next);
          }
        }
      }
    }
    place_.resize(graph.vertex_count(), 0);
  }

  // Joins links of parts that may change places.
  void JoinAlike(LinkSets& sets) {
    absl::flat_hash_map<uint64_t, std::vector<size_t>> by_look;
    for (size_t part = 0; part < parts_.size(); ++part) {
      std::vector<size_t>& likely = by_look[PutInOrder(parts_[part])];
      const bool known =
          std::any_of(likely.begin(), likely.end(), [&](size_t other) {
            return JoinIfAlike(parts_[part], parts_[other], sets);
          });
      if (!known) likely.push_back(part);
    }
  }

 private:
  bool Inside(VertexId v) const { return part_[v] >= 0; }

  // By what switches are joined to, so that those of two parts that may change
  // places are in the same order. Returns how the part looks.
  uint64_t PutInOrder(std::vector<VertexId>& part) {
    constexpr int kRounds = 4;  // as far as it looks from each switch
    std::vector<uint64_t> looks(part.size(), 0);
    std::vector<uint64_t> next(part.size());
    for (size_t i = 0; i < part.size(); ++i) place_[part[i]] = i;
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < part.size(); ++i) {
        uint64_t sum = looks[i];
        for (const Direction direction : kBothWays) {
          for (const LinkId id : graph_.links_at(part[i], direction)) {
            const VertexId far = graph_.far_end(id, direction);
            sum += HashOf(graph_.link(id), direction,
                          Inside(far) ? looks[place_[far]]
                                      : static_cast<uint64_t>(far) << 32 | 1);
          }
        }
        next[i] = MixBits(sum);
      }
      looks.swap(next);
    }
    std::vector<std::pair<uint64_t, VertexId>> order;
    for (size_t i = 0; i < part.size(); ++i) {
      order.emplace_back(looks[i], part[i]);
    }
    std::sort(order.begin(), order.end());
    uint64_t look = part.size();
    for (size_t i = 0; i < part.size(); ++i) {
      look = MixBits(look ^ order[i].first);
      part[i] = order[i].second;
      place_[part[i]] = i;
    }
    return look;
  }

  // Links that take each other's place when two parts do, switch by switch;
  // joined if all have a counterpart.
  bool JoinIfAlike(const std::vector<VertexId>& a,
                   const std::vector<VertexId>& b, LinkSets& sets) {
    if (a.size() != b.size()) return false;
    struct End {
      VertexId far;
      Cable cable;
      LinkId id;
    };
    const auto less = [](const End& x, const End& y) {
      return std::tie(x.far, x.cable) < std::tie(y.far, y.cable);
    };
    std::vector<std::pair<LinkId, LinkId>> pairs;
    std::vector<End> ours;
    std::vector<End> theirs;
    for (size_t i = 0; i < a.size(); ++i) {
      if (graph_.forwards(a[i]) != graph_.forwards(b[i]) ||
          graph_.group(a[i]) != graph_.group(b[i])) {
        return false;
      }
      for (const Direction direction : kBothWays) {
        ours.clear();
        theirs.clear();
        for (const LinkId id : graph_.links_at(a[i], direction)) {
          const VertexId far = graph_.far_end(id, direction);
          ours.push_back({Inside(far) ? b[place_[far]] : far,
                          CableOf(graph_.link(id)), id});
        }
        for (const LinkId id : graph_.links_at(b[i], direction)) {
          theirs.push_back(
              {graph_.far_end(id, direction), CableOf(graph_.link(id)), id});
        }
        if (ours.size() != theirs.size()) return false;
        std::sort(ours.begin(), ours.end(), less);
        std::sort(theirs.begin(), theirs.end(), less);
        for (size_t j = 0; j < ours.size(); ++j) {
          if (less(ours[j], theirs[j]) || less(theirs[j], ours[j])) {
            return false;
          }
          pairs.emplace_back(ours[j].id, theirs[j].id);
        }
      }
    }
    for (const auto& [one, other] : pairs) sets.Join(one, other);
    return true;
  }

  const Graph& graph_;
  IdVector<VertexId, int32_t> part_;  // -1: in none
  std::vector<std::vector<VertexId>> parts_;
  IdVector<VertexId, size_t> place_;  // in its part
};

}  // namespace

IdVector<LinkId, LinkId> FirstAlikeLinks(const Graph& graph) {
  IdVector<VertexId, int32_t> hops =
      HopsFrom(graph, VertexKind::kChip, [](VertexId) { return true; });
  // Tiers of switches; the lowest has end points of its own.
  std::vector<int32_t> tiers;
  for (const VertexId v : graph.vertices()) {
    if (graph.kind(v) != VertexKind::kSwitch || graph.island(v)) {
      hops[v] = -1;
    } else if (hops[v] >= 0) {
      tiers.push_back(hops[v]);
    }
  }
  std::sort(tiers.begin(), tiers.end());
  tiers.erase(std::unique(tiers.begin(), tiers.end()), tiers.end());
  LinkSets sets(graph.link_count());
  for (size_t i = tiers.size(); i-- > 1;) {
    Parts(graph, hops, tiers[i]).JoinAlike(sets);
  }
  IdVector<LinkId, LinkId> first;
  first.reserve(graph.link_count());
  for (const LinkId id : graph.links()) first.Add(sets.First(id));
  return first;
}

}  // namespace orrery
