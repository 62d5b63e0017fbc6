#pragma once
// The loads of an exchange: every chip of a set with every other, without a
// list of the pairs.
//
// What leaves a chip for other islands has one way to its leaf, and the ways
// between two leaves are the same for all chips on them: traffic is counted
// leaf by leaf (leaf_exchange.h), whatever the routing but by dimensions, and
// inside an island of switches chip by chip. On a
// grid with dimension order the traffic along a line is the product of those
// who come from each of its places and those who go to each: it is counted line
// by line. Everything else is routed pair by pair, and refused above
// kMostRoutedPairs. Where routing is adaptive, one split between sprayed and
// Valiant routes is found for all pairs of a fabric, as Router::FindAll does,
// or is given.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <optional>
#include <vector>

#include "sim/network/network_resources.h"
#include "sim/network/resource_load.h"
#include "topology/collectives/collective.h"
#include "topology/routing/route.h"

namespace orrery {

inline constexpr int64_t kMostRoutedPairs = 4'000'000;

struct ExchangeRoutes {
  // In the order of resources, if every pair sends one unit each way.
  std::vector<ResourceLoad> loads;
  // Of the links of the farthest pair, one per tier that is crossed.
  struct Slowest {
    Tier tier;
    Duration latency{};
  };
  std::vector<Slowest> slowest;
};

// Chip i is rank i of the exchange. Fails if a pair is cut off, or pairs are
// too many.
absl::StatusOr<ExchangeRoutes> FindExchange(
    absl::Span<const VertexId> chips, const RankExchange& exchange,
    const NetworkResources& resources, Router& router,
    const std::optional<AdaptiveShares>& shares = {});

}  // namespace orrery
