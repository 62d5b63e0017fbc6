#pragma once
// RoutedSchedule: a collective's steps placed on the machine.
//
// Each message of the schedule has its chips, its route over the links and the
// tier it crosses (MessageRoutes); each phase what it puts on the resources
// (PhaseLoads) and how long its messages take to get going. Fluid and
// closed-form plans are read off the phases, stepped plans off the messages.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <utility>
#include <vector>

#include "sim/network/library_costs.h"
#include "sim/network/message_routes.h"
#include "sim/network/phase_loads.h"

namespace orrery {

class RoutedSchedule {
 public:
  // Fails as MessageRoutes::Find does. `schedule` must outlive the result.
  // Ports are noted under kPortFair only.
  static absl::StatusOr<RoutedSchedule> Make(const Schedule& schedule,
                                             const GroupPlacement& placement,
                                             const NetworkResources& resources,
                                             Router& router,
                                             Arbitration arbitration);

  const Schedule& schedule() const { return *schedule_; }
  // The chip of each rank of the schedule.
  absl::Span<const VertexId> chips() const { return chips_; }
  const MessageRoutes& routes() const { return routes_; }
  const PhaseLoads& loads() const { return loads_; }

  // How long phase `phase` of one segment waits before bytes flow: of a round,
  // the slowest message once, or in the mean as often as it repeats.
  Duration Latency(size_t phase, const ProtocolPair& protocols) const;

 private:
  RoutedSchedule(const Schedule& schedule, std::vector<VertexId> chips,
                 MessageRoutes routes, PhaseLoads loads)
      : schedule_(&schedule),
        chips_(std::move(chips)),
        routes_(std::move(routes)),
        loads_(std::move(loads)) {}

  const Schedule* schedule_;
  std::vector<VertexId> chips_;
  MessageRoutes routes_;
  PhaseLoads loads_;
};

}  // namespace orrery
