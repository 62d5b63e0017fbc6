#pragma once
// A list scheduler for the passes of a pipeline whose backward pass is split.
//
// Time runs forward over all ranks at once. A rank that is free takes the first
// pass of its preferences that can start, or that can start within a moment.
// Weight gradients fill what would be bubbles. A rank never holds more than
// pieces x ranks activations; in a V it holds at most 2 ranks - 1 - rank of its
// first piece, because a micro-batch stays there longer the earlier the rank
// is, and a rank that fills up with it has no room for the way back.
//
//     RankOrders orders = ListSchedule(layout, profile, 16,
//     kSchedulingRules[0]); Makespan(layout, profile, 16, orders);
#include <cstdint>
#include <optional>
#include <vector>

#include "workload/plan/schedule.h"
#include "workload/plan/stage_layout.h"

namespace orrery {

// Which preferences a rank has until its first gradient, in the middle of a
// step, and once all its forward passes are done: indices of five sets.
struct SchedulingRule {
  int8_t before_gradients;
  int8_t steady;
  int8_t drain;
};

// Greedily chosen from all combinations, each for what it shortens of steps of
// one to five rounds that the ones before it do not, over random pass times.
// With equal passes the first repeats itself once the pipeline is full.
inline constexpr SchedulingRule kSchedulingRules[] = {
    {0, 0, 0}, {0, 1, 3}, {1, 1, 2}, {0, 2, 0}, {0, 2, 3}, {1, 1, 0},
    {0, 4, 0}, {0, 3, 3}, {0, 2, 2}, {0, 1, 4}, {3, 3, 3}};

RankOrders ListSchedule(const StageLayout& layout, const PassProfile& profile,
                        int micro_batches, SchedulingRule rule);

// When the passes of each rank start, in the unit of the profile.
using PassStarts = std::vector<std::vector<int64_t>>;

// The time from the first start to the last end, in the unit of the profile;
// nothing if the orders wait for each other. Fills `starts` if it is given.
std::optional<int64_t> Makespan(const StageLayout& layout,
                                const PassProfile& profile, int micro_batches,
                                const RankOrders& orders,
                                PassStarts* starts = nullptr);

}  // namespace orrery
