#include "sim/engine/transfer_runner.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "sim/engine/heap_event_queue.h"
#include "sim/engine/radix_event_queue.h"
#include "sim/sharing/completion.h"

namespace orrery {

template <EventQueue Queue>
uint32_t TransferRunner<Queue>::NewRunning(const Running& running) {
  if (free_.empty()) {
    running_.push_back(running);
    queue_.Grow(EventPhase::kTransfer, running_.size());
    return static_cast<uint32_t>(running_.size()) - 1;
  }
  std::pop_heap(free_.begin(), free_.end(), std::greater<>());
  const uint32_t lowest = free_.back();
  free_.pop_back();
  running_[lowest] = running;
  return lowest;
}

template <EventQueue Queue>
void TransferRunner<Queue>::FreeRunning(uint32_t id) {
  free_.push_back(id);
  std::push_heap(free_.begin(), free_.end(), std::greater<>());
}

template <EventQueue Queue>
int32_t TransferRunner<Queue>::NewGraph(PlanId plan) {
  if (free_graphs_.empty()) {
    free_graphs_.push_back(static_cast<int32_t>(graphs_.size()));
    graphs_.emplace_back();
  }
  const int32_t id = free_graphs_.back();
  free_graphs_.pop_back();
  Graph& graph = graphs_[static_cast<size_t>(id)];
  graph.steps_left = plans_.step_count(plan);
  graph.waits.Start(plans_, plan);
  return id;
}

template <EventQueue Queue>
void TransferRunner<Queue>::Start(GroupId group, PlanId plan, Time now) {
  DCHECK(beginning_.empty());
  if (plans_.is_chain(plan)) {
    beginning_.push_back(NewRunning({.group = group, .plan = plan}));
  } else {
    const int32_t graph = NewGraph(plan);
    graphs_[static_cast<size_t>(graph)].waits.ForEachFirst([&](StepTime step) {
      beginning_.push_back(NewRunning(
          {.group = group, .plan = plan, .step = step, .graph = graph}));
    });
  }
  Begin(now);
}

template <EventQueue Queue>
void TransferRunner<Queue>::Begin(Time now) {
  for (size_t next = 0; next < beginning_.size(); ++next) {
    const uint32_t id = beginning_[next];
    Running& running = running_[id];
    ++steps_;
    if (log_ != nullptr) {
      if (spans_.size() < running_.size()) spans_.resize(running_.size());
      spans_[id] = {running.group, PlaceIn(running), now, now,
                    now,           running.plan};
    }
    const TransferPlans::Step step =
        plans_.listed(running.plan, running.step.listed);
    if (step.latency > Duration(0)) {
      running.stage = Stage::kLatency;
      queue_.Schedule({EventPhase::kTransfer, id}, After(now, step.latency));
    } else {
      Move(id, now);
    }
  }
  beginning_.clear();
}

template <EventQueue Queue>
void TransferRunner<Queue>::Move(uint32_t id, Time now) {
  Running& running = running_[id];
  const TransferPlans::Step step =
      plans_.listed(running.plan, running.step.listed);
  if (log_ != nullptr) spans_[id].moved = now;
  if (step.work > 0) {
    running.stage = Stage::kMoving;
    sharing_.Start(static_cast<ActivityId>(id), now,
                   {.amount = step.work,
                    .rate_cap = step.rate_cap,
                    .penalty = step.penalty,
                    .uses = step.uses});
  } else {
    EndStep(id, now);
  }
}

// Releases what comes next into `beginning_`.
template <EventQueue Queue>
void TransferRunner<Queue>::EndStep(uint32_t id, Time now) {
  const Running running = running_[id];
  if (log_ != nullptr) {
    spans_[id].ended = now;
    log_->Add(spans_[id]);
  }
  if (plans_.is_chain(running.plan)) {
    if (running.step.listed + 1 < plans_.listed_count(running.plan)) {
      ++running_[id].step.listed;
      beginning_.push_back(id);
    } else {
      FreeRunning(id);
      finished_.push_back(running.group);
    }
    return;
  }
  FreeRunning(id);
  Graph& graph = graphs_[static_cast<size_t>(running.graph)];
  graph.waits.ForEachReleased(running.step, [&](StepTime next) {
    beginning_.push_back(NewRunning({.group = running.group,
                                     .plan = running.plan,
                                     .step = next,
                                     .graph = running.graph}));
  });
  if (--graph.steps_left == 0) {
    free_graphs_.push_back(running.graph);
    finished_.push_back(running.group);
  }
}

template <EventQueue Queue>
void TransferRunner<Queue>::OnEvent(uint32_t id, Time now) {
  if (running_[id].stage == Stage::kLatency) {
    Move(id, now);
  } else {
    sharing_.Finish(static_cast<ActivityId>(id), now);
    EndStep(id, now);
  }
  Begin(now);
}

template <EventQueue Queue>
void TransferRunner<Queue>::SettleChanged(Time now) {
  for (const Sharing::Completion& moved : sharing_.Resolve(now)) {
    queue_.Schedule(
        {EventPhase::kTransfer, static_cast<uint32_t>(moved.activity)},
        moved.at);
    if (log_ == nullptr) continue;
    const Running& running = running_[Index(moved.activity)];
    log_->Add(TransferLog::Rate{running.group, PlaceIn(running), now,
                                sharing_.rate(moved.activity), running.plan});
  }
}

template class TransferRunner<RadixEventQueue>;
template class TransferRunner<HeapEventQueue>;

}  // namespace orrery
