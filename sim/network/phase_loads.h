#pragma once
// PhaseLoads: what each phase of a routed schedule puts on the resources.
//
// Fluid and closed-form plans are read off these. They add up: groups that run
// the same schedule at the same time load the links together.
#include <absl/types/span.h>

#include <vector>

#include "sim/network/exchange_routes.h"
#include "sim/network/message_routes.h"
#include "sim/network/resource_load.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/collectives/collective.h"

namespace orrery {

class PhaseLoads {
 public:
  // `exchanges`: those of each round. `sums`: one per resource, all empty, and
  // left so. Cost: O(uses of all messages, sorted).
  PhaseLoads(const Schedule& schedule, const MessageRoutes& routes,
             absl::Span<const ExchangeRoutes> exchanges,
             absl::Span<TierShares> sums);

  // Requires: the same schedule, for other groups.
  void Add(absl::Span<const PhaseLoads* const> others);

  // In the order of resources.
  absl::Span<const ResourceLoad> loads(size_t phase) const {
    return loads_[phase];
  }

 private:
  std::vector<std::vector<ResourceLoad>> loads_;
};

}  // namespace orrery
