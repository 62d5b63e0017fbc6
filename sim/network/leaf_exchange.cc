#include "sim/network/leaf_exchange.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "topology/routing/leaf_flows.h"

namespace orrery {
namespace {

class Counter {
 public:
  Counter(const std::vector<LeafGroup>& leaves, Router& router)
      : leaves_(leaves), router_(router), graph_(router.graph()) {
    result_.loads.resize(graph_.link_count());
    absl::flat_hash_map<VertexId, size_t> known;
    const auto place = [&](VertexId end) {
      const auto [found, is_new] = known.try_emplace(end, ends_.size());
      if (is_new) ends_.push_back(end);
      return found->second;
    };
    for (size_t i = 0; i < leaves.size(); ++i) {
      out_.push_back(place(leaves[i].out));
      in_.push_back(place(leaves[i].in));
      for (const auto& [island, chips] : leaves[i].on_island) {
        on_island_[island].emplace_back(i, chips);
      }
    }
  }

  absl::StatusOr<LeafExchange> Run() && {
    const Routing routing = router_.routing().fabric;
    if (!LeafFlows::Covers(graph_, ends_)) {
      RETURN_IF_ERROR(AddAllPairs());
      return std::move(result_);
    }
    LeafFlows flows(graph_, ends_);
    for (size_t i = 0; i < leaves_.size(); ++i) {
      switch (routing) {
        case Routing::kMinimal:
          RETURN_IF_ERROR(AddTo(i, flows));
          break;
        case Routing::kEcmp:
          RETURN_IF_ERROR(AddHashed(i, flows));
          break;
        default:
          RETURN_IF_ERROR(AddFrom(i, flows));
          break;
      }
    }
    return std::move(result_);
  }

 private:
  // Pairs of chips of leaf `a` and each leaf that are not on one island. It is
  // the same both ways.
  const std::vector<double>& PairsOf(size_t a) {
    const auto chips = static_cast<double>(leaves_[a].chips.size());
    pairs_.clear();
    for (const LeafGroup& b : leaves_) {
      pairs_.push_back(chips * static_cast<double>(b.chips.size()));
    }
    for (const auto& [island, members] : leaves_[a].on_island) {
      for (const auto& [b, others] : on_island_[island]) {
        pairs_[b] -= static_cast<double>(members * others);
      }
    }
    return pairs_;
  }
  void Note(Duration latency) {
    result_.slowest = std::max(result_.slowest.value_or(Duration(0)), latency);
  }

  // Sprayed from one leaf to all.
  absl::Status AddFrom(size_t a, LeafFlows& flows) {
    const std::vector<double>& pairs = PairsOf(a);
    amounts_.assign(ends_.size(), 0);
    for (size_t b = 0; b < leaves_.size(); ++b) amounts_[in_[b]] += pairs[b];
    latencies_.assign(ends_.size(), Duration(0));
    if (!flows.Spray(out_[a], amounts_, absl::MakeSpan(result_.loads),
                     absl::MakeSpan(latencies_))) {
      for (size_t b = 0; b < leaves_.size(); ++b) {
        RETURN_IF_ERROR(AddPair(a, b, pairs[b]));
      }
      return absl::OkStatus();
    }
    for (size_t b = 0; b < leaves_.size(); ++b) {
      if (pairs[b] == 0) continue;
      Note(leaves_[a].out_latency + latencies_[in_[b]] + leaves_[b].in_latency);
    }
    return absl::OkStatus();
  }

  // By the lowest links from all leaves to one.
  absl::Status AddTo(size_t b, LeafFlows& flows) {
    const std::vector<double>& pairs = PairsOf(b);
    amounts_.assign(ends_.size(), 0);
    for (size_t a = 0; a < leaves_.size(); ++a) amounts_[out_[a]] += pairs[a];
    latencies_.assign(ends_.size(), Duration(0));
    if (!flows.Minimal(in_[b], amounts_, absl::MakeSpan(result_.loads),
                       absl::MakeSpan(latencies_))) {
      for (size_t a = 0; a < leaves_.size(); ++a) {
        RETURN_IF_ERROR(AddPair(a, b, pairs[a]));
      }
      return absl::OkStatus();
    }
    for (size_t a = 0; a < leaves_.size(); ++a) {
      if (pairs[a] == 0) continue;
      Note(leaves_[a].out_latency + latencies_[out_[a]] +
           leaves_[b].in_latency);
    }
    return absl::OkStatus();
  }

  absl::Status AddHashed(size_t b, LeafFlows& flows) {
    if (sources_.empty()) {
      for (size_t a = 0; a < leaves_.size(); ++a) {
        for (const VertexId chip : leaves_[a].chips) {
          sources_.push_back(
              {chip, IslandNumber(graph_, chip), out_[a],
               LatencyOf(graph_, router_.segments().Leaving(chip))});
        }
      }
    }
    std::vector<LeafFlows::EndPoint> sinks;
    bool any = false;
    for (const VertexId chip : leaves_[b].chips) {
      sinks.push_back({chip, IslandNumber(graph_, chip), in_[b],
                       LatencyOf(graph_, router_.segments().Entering(chip))});
    }
    for (const double pairs : PairsOf(b)) any = any || pairs > 0;
    if (!any) return absl::OkStatus();
    Duration slowest{};
    if (!flows.Hashed(in_[b], sources_, sinks, absl::MakeSpan(result_.loads),
                      slowest)) {
      // Who is cut off is found by the pair.
      for (size_t a = 0; a < leaves_.size(); ++a) {
        RETURN_IF_ERROR(AddPair(a, b, PairsOf(a)[b]));
      }
    }
    Note(slowest);
    return absl::OkStatus();
  }

  absl::Status AddAllPairs() {
    for (size_t a = 0; a < leaves_.size(); ++a) {
      for (size_t b = 0; b < leaves_.size(); ++b) {
        RETURN_IF_ERROR(AddPair(a, b, PairsOf(a)[b]));
      }
    }
    return absl::OkStatus();
  }

  // So many pairs from leaf to leaf, all by one route.
  absl::Status AddPair(size_t a, size_t b, double pairs) {
    if (pairs == 0) return absl::OkStatus();
    Duration latency = leaves_[a].out_latency + leaves_[b].in_latency;
    if (leaves_[a].out != leaves_[b].in) {
      ASSIGN_OR_RETURN(const Route middle,
                       router_.Find(leaves_[a].out, leaves_[b].in));
      for (const LinkShare& l : middle.links) {
        result_.loads[Index(l.link)] += l.share * pairs;
      }
      latency += middle.latency;
    }
    Note(latency);
    return absl::OkStatus();
  }

  const std::vector<LeafGroup>& leaves_;
  Router& router_;
  const Graph& graph_;
  LeafExchange result_;
  std::vector<VertexId> ends_;
  std::vector<size_t> out_;  // places in `ends_`, by leaf
  std::vector<size_t> in_;
  // Of each island, the leaves that its chips hang on, and how many on each.
  absl::flat_hash_map<int64_t, std::vector<std::pair<size_t, int64_t>>>
      on_island_;
  std::vector<double> pairs_;
  std::vector<double> amounts_;
  std::vector<Duration> latencies_;
  std::vector<LeafFlows::EndPoint> sources_;
};

}  // namespace

Duration LatencyOf(const Graph& graph, const SharedSegment& segment) {
  Duration latency{};
  for (const LinkId id : segment.all()) latency += graph.link(id).latency;
  return latency;
}

int64_t IslandNumber(const Graph& graph, VertexId chip) {
  const std::optional<int32_t> island = graph.island(chip);
  return island ? int64_t{*island} : -1 - static_cast<int64_t>(Index(chip));
}

namespace {

std::optional<std::vector<LeafGroup>> Grouped(absl::Span<const VertexId> chips,
                                              Router& router) {
  // Chip, NIC, leaf: what is further on could be on the way out and in.
  constexpr int kMostLinks = 2;
  const Graph& graph = router.graph();
  const Routing routing = router.routing().fabric;
  std::vector<LeafGroup> leaves;
  absl::flat_hash_map<std::pair<VertexId, VertexId>, size_t> known;
  absl::flat_hash_map<VertexId, int64_t> nics;
  for (const VertexId chip : chips) {
    if (graph.island(chip).has_value() !=
        graph.island(chips.front()).has_value()) {
      return std::nullopt;
    }
    const SharedSegment out = router.segments().Leaving(chip);
    const SharedSegment in = router.segments().Entering(chip);
    const int64_t island = IslandNumber(graph, chip);
    for (const SharedSegment* s : {&out, &in}) {
      if (s->count == 0 || s->count > kMostLinks ||
          graph.group(s->end) != graph.group(chip)) {
        return std::nullopt;
      }
      // A hashed pair chooses by itself: only ways of all of the graph are
      // counted.
      if (routing == Routing::kEcmp &&
          !LeafFlows::Covers(graph, {&s->end, 1})) {
        return std::nullopt;
      }
      if (s->count < kMostLinks) continue;
      const Link& last = graph.link(s->links[1]);
      const VertexId nic = s == &out ? last.from : last.to;
      const auto [found, is_new] = nics.try_emplace(nic, island);
      if (!is_new && found->second != island) return std::nullopt;
    }
    const auto [found, is_new] =
        known.try_emplace({out.end, in.end}, leaves.size());
    if (is_new) {
      leaves.push_back({.out = out.end, .in = in.end});
    }
    LeafGroup& leaf = leaves[found->second];
    leaf.chips.push_back(chip);
    ++leaf.on_island[island];
    leaf.out_latency = std::max(leaf.out_latency, LatencyOf(graph, out));
    leaf.in_latency = std::max(leaf.in_latency, LatencyOf(graph, in));
  }
  return leaves;
}

}  // namespace

std::optional<std::vector<LeafGroup>> LeavesOf(absl::Span<const VertexId> chips,
                                               Router& router) {
  switch (router.routing().fabric) {
    case Routing::kSpray:
    case Routing::kMinimal:
    case Routing::kEcmp:
      break;
    case Routing::kValiant:
    case Routing::kAdaptive: {
      // A detour turns at the leaf of any chip of the machine.
      const std::optional<std::vector<LeafGroup>> all =
          Grouped(Chips(router.graph()), router);
      if (!all) return std::nullopt;
      for (const LeafGroup& leaf : *all) {
        if (leaf.out != leaf.in) return std::nullopt;
      }
      break;
    }
    case Routing::kDimensionOrdered:
      return std::nullopt;
  }
  return Grouped(chips, router);
}

absl::StatusOr<LeafExchange> ExchangeBetween(
    const std::vector<LeafGroup>& leaves, Router& router) {
  return Counter(leaves, router).Run();
}

}  // namespace orrery
