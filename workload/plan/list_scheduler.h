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
//   for (int rule = 0; rule < kSchedulingRules; ++rule) {
//     RankOrders orders = ListSchedule(layout, profile, 16, rule);
//     Makespan(layout, profile, 16, orders);
//   }
#include <cstdint>
#include <optional>

#include "workload/plan/schedule.h"
#include "workload/plan/stage_layout.h"

namespace orrery {

// The preferences of the rules were found by a search over random ones; each of
// the first three is the best for some ratio of forward, input gradient, weight
// gradient and hop. With equal passes the first repeats itself once the
// pipeline is full.
inline constexpr int kSchedulingRules = 5;

RankOrders ListSchedule(const StageLayout& layout, const PassProfile& profile,
                        int micro_batches, int rule);

// From the first start to the last end, in the unit of the profile; nothing if
// the orders wait for each other.
std::optional<int64_t> Makespan(const StageLayout& layout,
                                const PassProfile& profile, int micro_batches,
                                const RankOrders& orders);

}  // namespace orrery
