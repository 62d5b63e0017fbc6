#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <limits>

#include "sim/network/leaf_exchange.h"
#include "topology/routing/leaf_flows.h"

namespace orrery {
namespace {

// Sprayed ways between all leaves of a machine.
class SprayedWays {
 public:
  SprayedWays(const std::vector<VertexId>& leaves, Router& router)
      : leaves_(leaves),
        router_(router),
        latencies_(leaves.size() * leaves.size()),
        routes_(leaves.size()) {
    if (LeafFlows::Covers(router.graph(), leaves)) {
      flows_.emplace(router.graph(), leaves);
    }
  }

  // False if leaves are cut off from each other.
  bool Find() {
    const std::vector<double> one(leaves_.size(), 1);
    std::vector<double> ignored(router_.graph().link_count());
    for (size_t a = 0; a < leaves_.size(); ++a) {
      const absl::Span<Duration> row =
          absl::MakeSpan(latencies_)
              .subspan(a * leaves_.size(), leaves_.size());
      if (flows_ && flows_->Spray(a, one, absl::MakeSpan(ignored), row)) {
        continue;
      }
      routes_[a].resize(leaves_.size());
      for (size_t b = 0; b < leaves_.size(); ++b) {
        if (a == b) continue;
        absl::StatusOr<Route> route = router_.Sprayed(leaves_[a], leaves_[b]);
        if (!route.ok()) return false;
        row[b] = route->latency;
        routes_[a][b] = *std::move(route);
      }
    }
    FindClasses();
    return true;
  }

  Duration latency(size_t a, size_t b) const {
    return latencies_[a * leaves_.size() + b];
  }
  // How long detours take from leaf `a` to leaf `b`: mark where each of them
  // turns, then take all times that occur.
  struct Turns {
    const uint32_t* from;
    const uint32_t* to;
    char* marked;
    void Mark(size_t turn) { marked[from[turn] + to[turn]] = true; }
  };
  Turns TurnsBetween(size_t a, size_t b) {
    return {&class_from_[a * leaves_.size()], &class_to_[b * leaves_.size()],
            marked_.data()};
  }
  template <class Visit>
  void TakeTurns(Visit visit) {
    for (size_t i = 0; i < marked_.size(); ++i) {
      if (!marked_[i]) continue;
      marked_[i] = false;
      visit(times_[i / times_.size()] + times_[i % times_.size()]);
    }
  }

  // Adds what so many units from leaf `a` to each put on links.
  void Add(size_t a, absl::Span<const double> amounts,
           absl::Span<double> loads) {
    if (routes_[a].empty()) {
      scratch_.resize(leaves_.size());
      flows_->Spray(a, amounts, loads, absl::MakeSpan(scratch_));
      return;
    }
    for (size_t b = 0; b < leaves_.size(); ++b) {
      if (amounts[b] == 0) continue;
      for (const LinkShare& l : routes_[a][b].links) {
        loads[Index(l.link)] += l.share * amounts[b];
      }
    }
  }

 private:
  void FindClasses() {
    const size_t count = leaves_.size();
    absl::flat_hash_map<int64_t, uint32_t> known;
    class_to_.resize(count * count);
    class_from_.resize(count * count);
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < count; ++b) {
        const auto [found, is_new] = known.try_emplace(
            latency(a, b).count(), static_cast<uint32_t>(times_.size()));
        if (is_new) times_.push_back(latency(a, b));
        class_from_[a * count + b] = found->second;
        class_to_[b * count + a] = found->second;
      }
    }
    for (uint32_t& each : class_from_) {
      each *= static_cast<uint32_t>(times_.size());
    }
    marked_.resize(times_.size() * times_.size());
  }

  const std::vector<VertexId>& leaves_;
  Router& router_;
  std::optional<LeafFlows> flows_;
  std::vector<Duration> latencies_;  // by leaf and leaf
  // Latencies are few: each has a number. By leaf and leaf, that of the way to
  // a turn times how many there are, and that of the way from it.
  std::vector<Duration> times_;
  std::vector<uint32_t> class_from_;
  std::vector<uint32_t> class_to_;
  std::vector<char> marked_;                // by the sum of both
  std::vector<std::vector<Route>> routes_;  // of leaves that are not counted
  std::vector<Duration> scratch_;
};

// Chips of a leaf that are as far from it.
struct Side {
  std::vector<VertexId> chips = {};
  absl::flat_hash_set<int64_t> islands = {};
  Duration out{};
  Duration in{};
};

std::vector<Side> SidesOf(const std::vector<LeafGroup>& leaves,
                          Router& router) {
  const Graph& graph = router.graph();
  std::vector<Side> sides;
  for (const LeafGroup& leaf : leaves) {
    const size_t begin = sides.size();
    for (const VertexId chip : leaf.chips) {
      const Duration out = LatencyOf(graph, router.segments().Leaving(chip));
      const Duration in = LatencyOf(graph, router.segments().Entering(chip));
      size_t place = begin;
      while (place < sides.size() &&
             (sides[place].out != out || sides[place].in != in)) {
        ++place;
      }
      if (place == sides.size()) sides.push_back({.out = out, .in = in});
      sides[place].chips.push_back(chip);
      sides[place].islands.insert(IslandNumber(graph, chip));
    }
  }
  return sides;
}

bool ShareIsland(const Side& a, const Side& b) {
  return std::any_of(a.islands.begin(), a.islands.end(), [&](int64_t island) {
    return b.islands.contains(island);
  });
}

}  // namespace

std::optional<LeafDetours> DetoursBetween(const std::vector<LeafGroup>& leaves,
                                          Router& router) {
  const Graph& graph = router.graph();
  std::vector<VertexId> ends;
  IdVector<VertexId, uint32_t> leaf_of(graph.vertex_count(), 0);
  absl::flat_hash_map<VertexId, uint32_t> known;
  for (const VertexId chip : Chips(graph)) {
    const VertexId end = router.segments().Leaving(chip).end;
    const auto [found, is_new] =
        known.try_emplace(end, static_cast<uint32_t>(ends.size()));
    if (is_new) ends.push_back(end);
    leaf_of[chip] = found->second;
  }
  SprayedWays ways(ends, router);
  if (!ways.Find()) return std::nullopt;

  // First legs by the leaf they leave and second ones by the leaf they reach,
  // then by the leaf where they turn; pairs of leaves one after the other, so
  // that what they count is near. No more than kMostHashedPairs.
  static_assert(kMostHashedPairs < std::numeric_limits<uint32_t>::max());
  const size_t count = ends.size();
  std::vector<uint32_t> leaving(count * count);
  std::vector<uint32_t> reaching(count * count);
  LeafDetours result;
  absl::flat_hash_set<WayTimes> seen;
  const auto note = [&](const WayTimes& times) {
    if (seen.insert(times).second) result.times.push_back(times);
  };
  const std::vector<Side> sides = SidesOf(leaves, router);
  const Intermediates& intermediates = router.intermediates();
  std::vector<VertexId> by;
  std::vector<VertexId> to;
  for (const Side& from : sides) {
    const size_t a = leaf_of[from.chips.front()];
    for (const Side& sink : sides) {
      const size_t b = leaf_of[sink.chips.front()];
      const Duration ends_only = from.out + sink.in;
      const Duration direct = ends_only + ways.latency(a, b);
      SprayedWays::Turns turns = ways.TurnsBetween(a, b);
      const bool apart = !ShareIsland(from, sink);
      for (const VertexId chip : from.chips) {
        absl::Span<const VertexId> targets = sink.chips;
        if (!apart) {
          to.clear();
          for (const VertexId other : sink.chips) {
            if (IslandNumber(graph, other) != IslandNumber(graph, chip)) {
              to.push_back(other);
            }
          }
          targets = to;
        }
        by.resize(targets.size());
        if (targets.empty()) continue;
        if (!intermediates.FindAll(chip, targets, absl::MakeSpan(by))) {
          leaving[a * count + b] += static_cast<uint32_t>(targets.size());
          note({direct, direct});
          continue;
        }
        uint32_t* const out = &leaving[a * count];
        uint32_t* const in = &reaching[b * count];
        for (const VertexId turn_at : by) {
          const size_t turn = leaf_of[turn_at];
          ++out[turn];
          ++in[turn];
          turns.Mark(turn);
        }
      }
      ways.TakeTurns([&](Duration detour) {
        note({direct, ends_only + detour});
      });
    }
  }
  result.loads.resize(graph.link_count());
  std::vector<double> amounts(count);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      amounts[b] = static_cast<double>(leaving[a * count + b]) +
                   static_cast<double>(reaching[b * count + a]);
    }
    amounts[a] = 0;
    ways.Add(a, amounts, absl::MakeSpan(result.loads));
  }
  return result;
}

}  // namespace orrery
