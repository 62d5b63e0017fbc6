#include "sim/network/run_plans.h"

#include "base/check.h"
#include "sim/engine/default_event_queue.h"
#include "sim/engine/transfer_runner.h"

namespace orrery {

std::vector<Time> RunPlans(const IdVector<ResourceId, double>& capacities,
                           absl::Span<const StartedPlan> plans,
                           TransferLog* log) {
  Transfers transfers;
  transfers.capacities = capacities;
  // There are no kernels here; their events are the starts of plans.
  DefaultEventQueue queue;
  queue.Grow(EventPhase::kKernel, plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    AddPlan(plans[i].plan, transfers.plans);
    queue.Schedule({EventPhase::kKernel, static_cast<uint32_t>(i)},
                   plans[i].start);
  }
  TransferRunner runner(transfers, queue, log);
  std::vector<Time> ends(plans.size());
  std::vector<Event> events;
  while (!queue.empty()) {
    const Time now = queue.PopInstant(events);
    for (const Event& event : events) {
      if (event.phase() == EventPhase::kKernel) {
        runner.Start(static_cast<GroupId>(event.index()),
                     static_cast<PlanId>(event.index()), now);
      } else {
        runner.OnEvent(event.index(), now);
      }
    }
    for (GroupId done : runner.finished()) ends[Index(done)] = now;
    runner.finished().clear();
    runner.Settle(now);
  }
  return ends;
}

}  // namespace orrery
