#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

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
    return true;
  }

  Duration latency(size_t a, size_t b) const {
    return latencies_[a * leaves_.size() + b];
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
  const std::vector<VertexId>& leaves_;
  Router& router_;
  std::optional<LeafFlows> flows_;
  std::vector<Duration> latencies_;
  std::vector<std::vector<Route>> routes_;  // of leaves that are not counted
  std::vector<Duration> scratch_;
};

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

  struct EndPoint {
    VertexId chip;
    int64_t island;
    Duration out{};
    Duration in{};
  };
  std::vector<EndPoint> points;
  for (const LeafGroup& leaf : leaves) {
    for (const VertexId chip : leaf.chips) {
      points.push_back({chip, IslandNumber(graph, chip),
                        LatencyOf(graph, router.segments().Leaving(chip)),
                        LatencyOf(graph, router.segments().Entering(chip))});
    }
  }
  // Legs from leaf to leaf, both of every detour.
  std::vector<int64_t> legs(ends.size() * ends.size());
  LeafDetours result;
  absl::flat_hash_set<WayTimes> seen;
  WayTimes last{Duration(-1)};
  const Intermediates& intermediates = router.intermediates();
  for (const EndPoint& from : points) {
    const uint64_t source_hash = SourceHash(from.chip);
    const size_t a = leaf_of[from.chip];
    for (const EndPoint& to : points) {
      if (from.island == to.island) continue;
      const size_t b = leaf_of[to.chip];
      const std::optional<VertexId> by = intermediates.Picked(
          from.chip, to.chip, FlowHash(source_hash, to.chip, /*flow=*/0));
      const Duration ends_only = from.out + to.in;
      WayTimes times = {ends_only + ways.latency(a, b)};
      if (by) {
        const size_t turn = leaf_of[*by];
        ++legs[a * ends.size() + turn];
        ++legs[turn * ends.size() + b];
        times.detour =
            ends_only + ways.latency(a, turn) + ways.latency(turn, b);
      } else {
        ++legs[a * ends.size() + b];
        times.detour = times.direct;
      }
      if (times == last) continue;
      last = times;
      if (seen.insert(times).second) result.times.push_back(times);
    }
  }
  result.loads.resize(graph.link_count());
  std::vector<double> amounts(ends.size());
  for (size_t a = 0; a < ends.size(); ++a) {
    for (size_t b = 0; b < ends.size(); ++b) {
      amounts[b] = static_cast<double>(legs[a * ends.size() + b]);
    }
    amounts[a] = 0;
    ways.Add(a, amounts, absl::MakeSpan(result.loads));
  }
  return result;
}

}  // namespace orrery
