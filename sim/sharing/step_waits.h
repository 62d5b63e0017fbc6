#pragma once
// StepWaits: which steps of one transfer plan may begin; and how long a plan
// takes if every step takes a time that is known beforehand.
//
//   StepWaits waits;
//   waits.Start(plans, plan);
//   waits.ForEachFirst(begin);           // those that wait for nothing
//   waits.ForEachReleased(step, begin);  // when `step` is done
//
// Every time of every step begins once, after all that it waits for. Memory is
// that of the listed steps, however often they happen.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

class StepWaits {
 public:
  // `plans` must outlive its use.
  void Start(const TransferPlans& plans, PlanId plan);

  template <class Begin>
  void ForEachFirst(Begin begin) const {
    for (int32_t i = 0; i < plans_->listed_count(plan_); ++i) {
      if (plans_->listed(plan_, i).predecessors == 0) begin(StepTime{i, 0});
    }
  }

  // In the order of places. Requires: of steps with several times they end in
  // their order.
  template <class Begin>
  void ForEachReleased(StepTime done, Begin begin) {
    const absl::Span<const int32_t> successors =
        plans_->listed(plan_, done.listed).successors;
    if (loops_.empty()) {
      for (const int32_t next : successors) {
        if (--missing_[static_cast<size_t>(next)] == 0) {
          begin(StepTime{next, 0});
        }
      }
      return;
    }
    Counts& own = counts_[static_cast<size_t>(done.listed)];
    ++own.ended;
    // Out of the loop goes only the last time, the others to the next.
    const bool last = own.loop < 0 || own.ended == LoopOf(own).times;
    for (const int32_t next : successors) {
      const int32_t to =
          last || next < LoopOf(own).end ? next : next - LoopOf(own).width();
      Counts& counts = counts_[static_cast<size_t>(to)];
      if (!MayBegin(counts)) continue;
      begin(StepTime{to, counts.begun++});
    }
  }

 private:
  // Of a listed step in a plan with loops.
  struct Counts {
    int32_t begun = 0;  // times
    int32_t ended = 0;
    int32_t loop = -1;
    int32_t waits_begin = 0;  // in `waits_`
    int32_t waits_end = 0;
  };
  const StepLoop& LoopOf(const Counts& counts) const {
    return loops_[static_cast<size_t>(counts.loop)];
  }
  // Whether all that its next time waits for is done.
  bool MayBegin(const Counts& counts) const {
    const int32_t time = counts.begun;
    if (counts.loop < 0) {
      if (time > 0) return false;
      for (int32_t i = counts.waits_begin; i < counts.waits_end; ++i) {
        const Counts& before = CountsOf(waits_[static_cast<size_t>(i)]);
        if (before.ended < (before.loop < 0 ? 1 : LoopOf(before).times)) {
          return false;
        }
      }
      return true;
    }
    const StepLoop& loop = LoopOf(counts);
    if (time == loop.times) return false;
    for (int32_t i = counts.waits_begin; i < counts.waits_end; ++i) {
      const int32_t wait = waits_[static_cast<size_t>(i)];
      const bool same_time = wait >= loop.begin;
      if (!same_time && time > 0) {
        if (CountsOf(wait + loop.width()).ended < time) return false;
      } else if (CountsOf(wait).ended < (same_time ? time + 1 : 1)) {
        return false;
      }
    }
    return true;
  }
  const Counts& CountsOf(int32_t listed) const {
    return counts_[static_cast<size_t>(listed)];
  }

  const TransferPlans* plans_ = nullptr;
  PlanId plan_{};
  // Without loops: of each step, what it still waits for.
  std::vector<int32_t> missing_;
  // With loops.
  absl::Span<const StepLoop> loops_;
  std::vector<Counts> counts_;
  std::vector<int32_t> waits_;
};

// The longest path through the steps of a plan, each as long as `time` says of
// the step as listed.
template <class TimeOf>
Duration LongestChain(const TransferPlans& plans, PlanId plan, TimeOf time) {
  const int32_t count = plans.listed_count(plan);
  std::vector<Duration> start(static_cast<size_t>(count));
  Duration longest{};
  if (plans.loops(plan).empty()) {
    StepWaits waits;
    waits.Start(plans, plan);
    std::vector<int32_t> ready;
    waits.ForEachFirst([&](StepTime first) { ready.push_back(first.listed); });
    while (!ready.empty()) {
      const int32_t i = ready.back();
      ready.pop_back();
      const TransferPlans::Step step = plans.listed(plan, i);
      const Duration end = start[static_cast<size_t>(i)] + time(step);
      longest = std::max(longest, end);
      for (const int32_t next : step.successors) {
        Duration& latest = start[static_cast<size_t>(next)];
        latest = std::max(latest, end);
      }
      waits.ForEachReleased(
          {i, 0}, [&](StepTime next) { ready.push_back(next.listed); });
    }
    return longest;
  }
  // Places are in an order that keeps all waits.
  std::vector<Duration> next_time;
  for (int32_t i = 0; i < count;) {
    const int32_t number = plans.listed(plan, i).loop;
    const StepLoop loop = number < 0
                              ? StepLoop{i, i + 1, 1}
                              : plans.loops(plan)[static_cast<size_t>(number)];
    for (int32_t times = loop.times; times > 0; --times) {
      next_time.assign(static_cast<size_t>(loop.width()), Duration(0));
      for (int32_t at = loop.begin; at < loop.end; ++at) {
        const TransferPlans::Step step = plans.listed(plan, at);
        const Duration end = start[static_cast<size_t>(at)] + time(step);
        longest = std::max(longest, end);
        for (const int32_t next : step.successors) {
          Duration& latest =
              times == 1 || next < loop.end
                  ? start[static_cast<size_t>(next)]
                  : next_time[static_cast<size_t>(next - loop.end)];
          latest = std::max(latest, end);
        }
      }
      if (times == 1) break;
      std::copy(next_time.begin(), next_time.end(), start.begin() + loop.begin);
    }
    i = loop.end;
  }
  return longest;
}

}  // namespace orrery
