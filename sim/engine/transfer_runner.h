#pragma once
// TransferRunner: transfer plans in progress.
//
// Start a plan for a group; hand over the events of phase kTransfer; settle
// once per instant; collect the groups whose call is done. Each step in
// progress has a number, which is at once that of its event and of its
// activity; numbers are reused, lowest first, so they depend on what runs and
// not on history.
#include <absl/types/span.h>

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/sharing/sharing.h"
#include "sim/sharing/step_waits.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

// Defined for the queues of event_queue.h.
template <EventQueue Queue>
class TransferRunner {
 public:
  // `log`, if given, is told of every step and every rate.
  TransferRunner(const Transfers& transfers, Queue& queue,
                 TransferLog* log = nullptr)
      : plans_(transfers.plans),
        queue_(queue),
        sharing_(transfers.capacities),
        log_(log) {}

  void Start(GroupId group, PlanId plan, Time now);
  void OnEvent(uint32_t id, Time now);
  void Settle(Time now) {
    if (sharing_.has_changed()) SettleChanged(now);
  }

  // Groups whose call has ended, in order; the caller clears the list.
  std::vector<GroupId>& finished() { return finished_; }
  const Sharing& sharing() const { return sharing_; }
  int64_t steps() const { return steps_; }

 private:
  enum class Stage : uint8_t { kLatency, kMoving };
  struct Running {
    GroupId group{};
    PlanId plan{};
    StepTime step{};
    int32_t graph = 0;  // which of `graphs_`, if the plan is no chain
    Stage stage = Stage::kLatency;
  };
  // A plan in progress that is not a chain.
  struct Graph {
    StepWaits waits;
    int32_t steps_left = 0;
  };

  uint32_t NewRunning(const Running& running);
  void FreeRunning(uint32_t id);
  int32_t NewGraph(PlanId plan);
  // Begins the steps in `beginning_`, and those that they release at once.
  void Begin(Time now);
  void Move(uint32_t id, Time now);
  void EndStep(uint32_t id, Time now);
  int32_t PlaceIn(const Running& running) const {
    return PlaceOf(plans_.loops(running.plan), running.step);
  }
  void SettleChanged(Time now);

  const TransferPlans& plans_;
  Queue& queue_;
  Sharing sharing_;
  TransferLog* log_;
  std::vector<TransferLog::Span> spans_;  // of each, if there is a log
  std::vector<Running> running_;
  std::vector<uint32_t> free_;  // a heap, lowest on top
  std::vector<Graph> graphs_;
  std::vector<int32_t> free_graphs_;
  std::vector<uint32_t> beginning_;
  std::vector<GroupId> finished_;
  int64_t steps_ = 0;
};

}  // namespace orrery
