#pragma once
// The part of an exchange between the leaves that its chips hang on.
//
// What leaves a chip for other islands has one way to its leaf, and what comes
// to it one way from there: between them many chips have the same ways, which
// are counted leaf by leaf (topology/routing/leaf_flows.h). Detours turn at the
// leaf of a third chip: of every pair only that leaf is looked up, and both
// legs are counted with all others between the same leaves (leaf_detours.cc).
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <map>
#include <optional>
#include <vector>

#include "topology/routing/route.h"

namespace orrery {

// More are not hashed one by one: it would take minutes.
inline constexpr int64_t kMostHashedPairs = 1'000'000'000;

// Chips whose ways out of their islands, and into them, come together.
struct LeafGroup {
  std::vector<VertexId> chips = {};
  std::map<int64_t, int64_t> on_island = {};
  VertexId out{};
  VertexId in{};
  // The longest of a chip to the leaf, and back.
  Duration out_latency{};
  Duration in_latency{};
};

// A number for the island of a chip; its own where it is on none.
int64_t IslandNumber(const Graph& graph, VertexId chip);

// Nothing where a chip has a choice at once, where segments may meet, or where
// the routing between leaves is not one that is counted.
std::optional<std::vector<LeafGroup>> LeavesOf(absl::Span<const VertexId> chips,
                                               Router& router);

struct LeafExchange {
  std::vector<double> loads;  // by link, of those between leaves
  // From chip to chip, of the slowest pair of different islands; unset if there
  // is none.
  std::optional<Duration> slowest;
};
// If every chip sends one unit to every other of another island; sprayed where
// routing is adaptive. Fails if a pair is cut off.
absl::StatusOr<LeafExchange> ExchangeBetween(
    const std::vector<LeafGroup>& leaves, Router& router);

// How long the ways of a pair are that an adaptive router weighs.
struct WayTimes {
  Duration direct{};
  Duration detour{};
  friend bool operator==(const WayTimes&, const WayTimes&) = default;
  template <class H>
  friend H AbslHashValue(H h, const WayTimes& times) {
    return H::combine(std::move(h), times.direct.count(), times.detour.count());
  }
};
struct LeafDetours {
  std::vector<double> loads;  // as above
  // From chip to chip: all that occur, each once.
  std::vector<WayTimes> times;
};
// The same by Valiant routes. Nothing if leaves are cut off from each other.
std::optional<LeafDetours> DetoursBetween(const std::vector<LeafGroup>& leaves,
                                          Router& router);

// The links between a chip and its leaf.
Duration LatencyOf(const Graph& graph, const SharedSegment& segment);

}  // namespace orrery
