#include "sim/network/routed_schedule.h"

#include <algorithm>

#include "base/status.h"

namespace orrery {

absl::StatusOr<RoutedSchedule> RoutedSchedule::Make(
    const Schedule& schedule, const GroupPlacement& placement,
    const NetworkResources& resources, Router& router,
    Arbitration arbitration) {
  ASSIGN_OR_RETURN(
      MessageRoutes routes,
      MessageRoutes::Find(schedule, placement, resources, router, arbitration));
  PhaseLoads loads(schedule, routes, resources.capacities().size());
  return RoutedSchedule(schedule, placement.chips, std::move(routes),
                        std::move(loads));
}

Duration RoutedSchedule::Latency(size_t phase,
                                 const ProtocolPair& protocols) const {
  Duration longest{};
  for (const Round& round : schedule_->rounds_of(schedule_->phases[phase])) {
    Duration slowest{};
    double sum = 0;
    for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
      const Duration one =
          StepLatency(routes_.of(static_cast<size_t>(i)), protocols);
      slowest = std::max(slowest, one);
      sum += ToSeconds(one);
    }
    // A chunk that goes round a ring meets every hop in turn.
    const double mean = sum / (round.messages_end - round.messages_begin);
    longest =
        std::max(longest, round.repeat == 1 ? slowest
                                            : FromSeconds(mean * round.repeat));
  }
  return longest;
}

}  // namespace orrery
