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
    for (size_t b = 0; b < leaves_.size(); ++b) {
      for (size_t a = 0; a < leaves_.size(); ++a) {
        latencies_to_.push_back(latency(a, b));
      }
    }
    return true;
  }

  Duration latency(size_t a, size_t b) const {
    return latencies_[a * leaves_.size() + b];
  }
  // From `a` to `b`, near that of others to `b`.
  Duration latency_to(size_t b, size_t a) const {
    return latencies_to_[b * leaves_.size() + a];
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
  std::vector<Duration> latencies_;         // by leaf and leaf
  std::vector<Duration> latencies_to_;      // the other way round
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

  // By leaf of the exchange.
  struct EndPoint {
    VertexId chip;
    int64_t island;
    Duration out{};
    Duration in{};
  };
  std::vector<std::vector<EndPoint>> points;
  for (const LeafGroup& leaf : leaves) {
    std::vector<EndPoint>& own = points.emplace_back();
    for (const VertexId chip : leaf.chips) {
      own.push_back({chip, IslandNumber(graph, chip),
                     LatencyOf(graph, router.segments().Leaving(chip)),
                     LatencyOf(graph, router.segments().Entering(chip))});
    }
  }
  // First legs by the leaf they leave and second ones by the leaf they reach,
  // then by the leaf where they turn; pairs of leaves one after the other, so
  // that what they count is near.
  const size_t count = ends.size();
  std::vector<int64_t> leaving(count * count);
  std::vector<int64_t> reaching(count * count);
  LeafDetours result;
  absl::flat_hash_set<WayTimes> seen;
  WayTimes last{Duration(-1)};
  const Intermediates& intermediates = router.intermediates();
  const auto add = [&](const EndPoint& from, const EndPoint& to, size_t a,
                       size_t b) {
    const std::optional<VertexId> by = intermediates.Picked(
        from.chip, to.chip,
        FlowHash(SourceHash(from.chip), to.chip, /*flow=*/0));
    const Duration ends_only = from.out + to.in;
    WayTimes times = {ends_only + ways.latency(a, b)};
    if (by) {
      const size_t turn = leaf_of[*by];
      ++leaving[a * count + turn];
      ++reaching[b * count + turn];
      times.detour =
          ends_only + ways.latency(a, turn) + ways.latency_to(b, turn);
    } else {
      ++leaving[a * count + b];
      times.detour = times.direct;
    }
    if (times == last) return;
    last = times;
    if (seen.insert(times).second) result.times.push_back(times);
  };
  for (const std::vector<EndPoint>& sources : points) {
    const size_t a = leaf_of[sources.front().chip];
    for (const std::vector<EndPoint>& sinks : points) {
      const size_t b = leaf_of[sinks.front().chip];
      for (const EndPoint& from : sources) {
        for (const EndPoint& to : sinks) {
          if (from.island != to.island) add(from, to, a, b);
        }
      }
    }
  }
  result.loads.resize(graph.link_count());
  std::vector<double> amounts(count);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      amounts[b] =
          static_cast<double>(leaving[a * count + b] + reaching[b * count + a]);
    }
    amounts[a] = 0;
    ways.Add(a, amounts, absl::MakeSpan(result.loads));
  }
  return result;
}

}  // namespace orrery
