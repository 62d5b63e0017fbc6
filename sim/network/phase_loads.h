#pragma once
// PhaseLoads: what each phase of a routed schedule puts on the resources.
//
// Fluid and closed-form plans are read off these. They add up: groups that run
// the same schedule at the same time load the links together.
#include <absl/types/span.h>

#include <utility>
#include <vector>

#include "sim/network/exchange_routes.h"
#include "sim/network/message_routes.h"
#include "sim/network/resource_load.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/collectives/collective.h"

namespace orrery {

// The same of a resource and the port its bytes come in by.
struct PortLoad {
  ResourceId resource;
  ResourceId port;
  TierShares shares;
  std::pair<ResourceId, ResourceId> key() const { return {resource, port}; }
  void operator+=(const PortLoad& other) { shares += other.shares; }
};

class PhaseLoads {
 public:
  // `exchanges`: those of each round. `sums`: one per resource, all empty, and
  // left so. Cost: O(uses of all messages, sorted).
  PhaseLoads(const Schedule& schedule, const MessageRoutes& routes,
             absl::Span<const ExchangeRoutes> exchanges,
             absl::Span<TierShares> sums);

  // Requires: the same schedule, for other groups.
  void Add(absl::Span<const PhaseLoads* const> others);

  // In the order of resources, and of their ports; those are empty if ports do
  // not count.
  absl::Span<const ResourceLoad> loads(size_t phase) const {
    return loads_[phase];
  }
  absl::Span<const PortLoad> port_loads(size_t phase) const {
    return port_loads_.empty() ? absl::Span<const PortLoad>()
                               : port_loads_[phase];
  }

 private:
  void AddResources(const Schedule& schedule, const MessageRoutes& routes,
                    absl::Span<const ExchangeRoutes> exchanges,
                    absl::Span<TierShares> sums);
  void AddPorts(const Schedule& schedule, const MessageRoutes& routes);

  std::vector<std::vector<ResourceLoad>> loads_;
  std::vector<std::vector<PortLoad>> port_loads_;
};

}  // namespace orrery
