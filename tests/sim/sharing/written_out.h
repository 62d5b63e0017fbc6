#pragma once
// A list of steps with every time of its loops written out, by what StepLoop
// says and without the code that runs them.
#include <utility>
#include <vector>

#include "sim/sharing/transfer_plan.h"

namespace orrery {

struct StepList {
  std::vector<TransferStep> steps = {};
  std::vector<StepOrder> orders = {};
  std::vector<StepLoop> loops = {};
};

inline StepList WrittenOut(const StepList& list) {
  StepList all;
  std::vector<std::vector<int32_t>> places(list.steps.size());
  const auto loop_of = [&](int32_t step) -> const StepLoop* {
    for (const StepLoop& loop : list.loops) {
      if (step >= loop.begin && step < loop.end) return &loop;
    }
    return nullptr;
  };
  for (int32_t i = 0; i < static_cast<int32_t>(list.steps.size());) {
    const StepLoop* loop = loop_of(i);
    const int32_t end = loop != nullptr ? loop->end : i + 1;
    for (int32_t time = 0; time < (loop != nullptr ? loop->times : 1); ++time) {
      for (int32_t step = i; step < end; ++step) {
        const auto at = static_cast<size_t>(step);
        places[at].push_back(static_cast<int32_t>(all.steps.size()));
        all.steps.push_back(list.steps[at]);
      }
    }
    i = end;
  }
  for (const StepOrder& order : list.orders) {
    const auto& before = places[static_cast<size_t>(order.before)];
    const auto& after = places[static_cast<size_t>(order.after)];
    if (loop_of(order.before) == nullptr) {
      all.orders.push_back({before.front(), after.front()});
      continue;
    }
    if (loop_of(order.before) == loop_of(order.after)) {
      for (size_t time = 0; time < before.size(); ++time) {
        all.orders.push_back({before[time], after[time]});
      }
      continue;
    }
    all.orders.push_back({before.back(), after.front()});
    // The same from each time to the next.
    const int32_t ahead = after.front() - before.back();
    for (size_t time = 0; time + 1 < before.size(); ++time) {
      all.orders.push_back({before[time], before[time] + ahead});
    }
  }
  return all;
}

}  // namespace orrery
