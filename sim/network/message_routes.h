#pragma once
// MessageRoutes: the links that the messages of a schedule take.
//
// Messages between the same two participants share a route. What routes have in
// common is kept once: a route is its own uses of resources, each with all of
// its traffic, and a middle part that others may have as well.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <memory>
#include <optional>
#include <vector>

#include "sim/network/library_costs.h"
#include "sim/network/network_resources.h"
#include "sim/network/routing_scratch.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/collectives/collective.h"
#include "topology/collectives/group_placement.h"
#include "topology/routing/route.h"

namespace orrery {

class MessageRoutes {
 public:
  struct Route {
    Tier tier;
    Duration latency;   // of the links
    int32_t own_begin;  // in the list of all routes' own uses
    int32_t own_end;
    int32_t middle;  // in `middles`, or -1
  };

  // `shares`: what an adaptive router does; unset: what suits this schedule
  // alone. Fails if a pair is cut off or a switch is needed that is not there.
  static absl::StatusOr<MessageRoutes> Find(
      const Schedule& schedule, const GroupPlacement& placement,
      const NetworkResources& resources, Router& router,
      const std::optional<AdaptiveShares>& shares, RoutingScratch& scratch);

  const Route& of(size_t message) const {
    return routes_[static_cast<size_t>(route_of_[message])];
  }
  absl::Span<const ResourceUse> own_uses(const Route& route) const {
    return absl::MakeConstSpan(own_uses_).subspan(
        static_cast<size_t>(route.own_begin),
        static_cast<size_t>(route.own_end - route.own_begin));
  }
  // Each in the order of resources.
  absl::Span<const SharedUses> middles() const { return middles_; }
  // What a message puts on resources per byte, in the order of ids.
  std::vector<ResourceUse> uses(size_t message) const;
  size_t size_in_bytes() const {
    return routes_.size() * sizeof(Route) +
           own_uses_.size() * sizeof(ResourceUse) +
           route_of_.size() * sizeof(int32_t);
  }

 private:
  MessageRoutes() = default;

  std::vector<Route> routes_;
  std::vector<ResourceUse> own_uses_;
  std::vector<SharedUses> middles_;
  std::vector<int32_t> route_of_;  // by message
};

// The latency of one message: the library's step, or the links' own if longer.
Duration StepLatency(Tier tier, Duration links, const ProtocolPair& protocols);
inline Duration StepLatency(const MessageRoutes::Route& route,
                            const ProtocolPair& protocols) {
  return StepLatency(route.tier, route.latency, protocols);
}

}  // namespace orrery
