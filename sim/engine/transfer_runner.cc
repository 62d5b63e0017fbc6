#include "sim/engine/transfer_runner.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "sim/engine/heap_event_queue.h"
#include "sim/engine/radix_event_queue.h"
#include "sim/sharing/completion.h"

namespace orrery {

template <EventQueue Queue>
uint32_t TransferRunner<Queue>::NewSlot(const Slot& slot) {
  if (free_slots_.empty()) {
    slots_.push_back(slot);
    queue_.Grow(EventPhase::kTransfer, slots_.size());
    return static_cast<uint32_t>(slots_.size()) - 1;
  }
  std::pop_heap(free_slots_.begin(), free_slots_.end(), std::greater<>());
  const uint32_t lowest = free_slots_.back();
  free_slots_.pop_back();
  slots_[lowest] = slot;
  return lowest;
}

template <EventQueue Queue>
void TransferRunner<Queue>::FreeSlot(uint32_t slot) {
  free_slots_.push_back(slot);
  std::push_heap(free_slots_.begin(), free_slots_.end(), std::greater<>());
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
  graph.missing.resize(static_cast<size_t>(graph.steps_left));
  for (int32_t place = 0; place < graph.steps_left; ++place) {
    graph.missing[static_cast<size_t>(place)] =
        plans_.step(plan, place).predecessors;
  }
  return id;
}

template <EventQueue Queue>
void TransferRunner<Queue>::Start(GroupId group, PlanId plan, Time now) {
  DCHECK(beginning_.empty());
  if (plans_.is_chain(plan)) {
    beginning_.push_back(NewSlot({.group = group, .plan = plan}));
  } else {
    const int32_t graph = NewGraph(plan);
    for (int32_t place = 0; place < plans_.step_count(plan); ++place) {
      if (plans_.step(plan, place).predecessors > 0) continue;
      beginning_.push_back(NewSlot(
          {.group = group, .plan = plan, .place = place, .graph = graph}));
    }
  }
  Begin(now);
}

template <EventQueue Queue>
void TransferRunner<Queue>::Begin(Time now) {
  for (size_t next = 0; next < beginning_.size(); ++next) {
    const uint32_t id = beginning_[next];
    Slot& slot = slots_[id];
    ++steps_;
    if (log_ != nullptr) {
      if (spans_.size() < slots_.size()) spans_.resize(slots_.size());
      spans_[id] = {slot.group, slot.place, now, now, now};
    }
    const TransferPlans::Step step = plans_.step(slot.plan, slot.place);
    if (step.latency > Duration(0)) {
      slot.stage = Stage::kLatency;
      queue_.Schedule({EventPhase::kTransfer, id}, After(now, step.latency));
    } else {
      Move(id, now);
    }
  }
  beginning_.clear();
}

template <EventQueue Queue>
void TransferRunner<Queue>::Move(uint32_t id, Time now) {
  Slot& slot = slots_[id];
  const TransferPlans::Step step = plans_.step(slot.plan, slot.place);
  if (log_ != nullptr) spans_[id].moved = now;
  if (step.work > 0) {
    slot.stage = Stage::kMoving;
    sharing_.Start(static_cast<ActivityId>(id), now,
                   {.amount = step.work,
                    .rate_cap = step.rate_cap,
                    .uses = step.uses,
                    .ports = step.ports});
  } else {
    EndStep(id, now);
  }
}

// Releases what comes next into `beginning_`.
template <EventQueue Queue>
void TransferRunner<Queue>::EndStep(uint32_t id, Time now) {
  const Slot slot = slots_[id];
  if (log_ != nullptr) {
    spans_[id].ended = now;
    log_->spans.push_back(spans_[id]);
  }
  if (plans_.is_chain(slot.plan)) {
    if (slot.place + 1 < plans_.step_count(slot.plan)) {
      ++slots_[id].place;
      beginning_.push_back(id);
    } else {
      FreeSlot(id);
      finished_.push_back(slot.group);
    }
    return;
  }
  FreeSlot(id);
  Graph& graph = graphs_[static_cast<size_t>(slot.graph)];
  for (const int32_t after : plans_.step(slot.plan, slot.place).successors) {
    if (--graph.missing[static_cast<size_t>(after)] > 0) continue;
    beginning_.push_back(NewSlot({.group = slot.group,
                                  .plan = slot.plan,
                                  .place = after,
                                  .graph = slot.graph}));
  }
  if (--graph.steps_left == 0) {
    free_graphs_.push_back(slot.graph);
    finished_.push_back(slot.group);
  }
}

template <EventQueue Queue>
void TransferRunner<Queue>::OnEvent(uint32_t id, Time now) {
  if (slots_[id].stage == Stage::kLatency) {
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
    const Slot& slot = slots_[Index(moved.activity)];
    log_->rates.push_back({slot.group, slot.place, now,
                           sharing_.rate(moved.activity), slot.plan});
  }
}

template class TransferRunner<RadixEventQueue>;
template class TransferRunner<HeapEventQueue>;

}  // namespace orrery
