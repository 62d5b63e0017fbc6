#pragma once
// RoutingScratch: what the routing of one schedule leaves for the next.
//
// Groups of a machine go by the same pairs of leaves, and a sum over all links
// of a large machine takes longer to clear than a small group to route. One per
// run, not shared between threads; no result depends on what was routed before.
#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <memory>
#include <utility>
#include <vector>

#include "sim/network/network_resources.h"
#include "sim/network/resource_load.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/routing/route.h"

namespace orrery {

// Canonical (keyed_sum.h).
std::vector<ResourceUse> UsesOf(const NetworkResources& resources,
                                absl::Span<const LinkShare> links,
                                bool one_of_alike = false);

using SharedUses = std::shared_ptr<const std::vector<ResourceUse>>;

class RoutingScratch {
 public:
  // `one_of_alike`: of resources that carry the same at any time
  // (NetworkResources::first_alike) the first alone is told.
  explicit RoutingScratch(bool one_of_alike = false)
      : one_of_alike_(one_of_alike) {}

  // The uses of a route's middle part; those of parts that the router keeps are
  // kept as well. Requires: always the same resources.
  SharedUses UsesOf(const RouteSet::Middle& middle,
                    const NetworkResources& resources);

  // Leaves of loads those that are told.
  void KeepTold(const NetworkResources& resources,
                std::vector<ResourceLoad>& loads) const;

  // One per resource, all empty: whoever adds to some leaves them empty again.
  std::vector<TierShares>& sums(size_t resources) {
    if (sums_.size() < resources) sums_.resize(resources);
    return sums_;
  }

 private:
  using Links = std::shared_ptr<const std::vector<LinkShare>>;
  // With the links, so that no others can have their address.
  absl::flat_hash_map<const std::vector<LinkShare>*,
                      std::pair<Links, SharedUses>>
      uses_;
  bool one_of_alike_;
  size_t kept_uses_ = 0;
  std::vector<TierShares> sums_;
};

}  // namespace orrery
