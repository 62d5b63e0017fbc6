#include "sim/sharing/transfer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/analysis/path_bound.h"
#include "tests/sim/sharing/written_out.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ResourceId kUp{0};
constexpr ResourceId kDown{3};

TEST(TransferPlans, AClosedFormIsOneStepOfLatency) {
  TransferPlans plans;
  const std::vector<TransferStep> steps = {{.latency = Duration(7)}};
  const PlanId plan = plans.AddChain(steps);
  EXPECT_EQ(plans.step_count(plan), 1);
  EXPECT_TRUE(plans.is_chain(plan));
  EXPECT_EQ(plans.step(plan, 0).latency, Duration(7));
  EXPECT_THAT(plans.step(plan, 0).uses, IsEmpty());
  EXPECT_THAT(plans.step(plan, 0).successors, IsEmpty());
}

TEST(TransferPlans, AChainFollowsItsOrder) {
  TransferPlans plans;
  const std::vector<TransferStep> steps(3, {.latency = Duration(1)});
  const PlanId plan = plans.AddChain(steps);
  EXPECT_THAT(plans.step(plan, 0).successors, ElementsAre(1));
  EXPECT_THAT(plans.step(plan, 1).successors, ElementsAre(2));
  EXPECT_THAT(plans.step(plan, 2).successors, IsEmpty());
  EXPECT_EQ(plans.step(plan, 0).predecessors, 0);
  EXPECT_EQ(plans.step(plan, 2).predecessors, 1);
}

TEST(TransferPlans, UsesAreSortedAndAddedUp) {
  TransferPlans plans;
  const std::vector<TransferStep> steps = {
      {.work = 10, .uses = {{kDown, 1.0}, {kUp, 2.0}, {kDown, 0.5}}}};
  const PlanId plan = plans.AddChain(steps);
  EXPECT_THAT(plans.step(plan, 0).uses,
              ElementsAre(ResourceUse{kUp, 2.0}, ResourceUse{kDown, 1.5}));
  EXPECT_EQ(plans.resource_bound(), 4);
}

// Two steps of 10 and 6 bytes, each twice over the up link: 2 * (10 + 6).
TEST(TransferPlans, TotalLoadAddsWorkTimesWeight) {
  TransferPlans plans;
  const std::vector<TransferStep> steps = {
      {.work = 10, .uses = {{kUp, 2.0}}},
      {.work = 6, .uses = {{kUp, 2.0}, {kDown, 1.0}}}};
  const PlanId plan = plans.AddChain(steps);
  EXPECT_THAT(plans.TotalLoad(plan),
              ElementsAre(ResourceUse{kUp, 32.0}, ResourceUse{kDown, 6.0}));
}

TEST(TransferPlans, AGraphCountsPredecessors) {
  TransferPlans plans;
  const std::vector<TransferStep> steps(4, {.latency = Duration(1)});
  const std::vector<StepOrder> diamond = {{2, 3}, {0, 2}, {0, 1}, {1, 3}};
  const PlanId plan = plans.AddGraph(steps, diamond);
  EXPECT_FALSE(plans.is_chain(plan));
  EXPECT_THAT(plans.step(plan, 0).successors, ElementsAre(1, 2));
  EXPECT_EQ(plans.step(plan, 3).predecessors, 2);
}

// Step 0, then two steps that wait for each other, five times: once before the
// loop, three times in it, once after it. Places 0, 1-2, 3-8, 9-10.
StepList TwoThatTakeTurns() {
  StepList list;
  list.steps = {{.latency = Duration(1)}};
  for (int time = 0; time < 3; ++time) {
    list.steps.push_back({.latency = Duration(10)});
    list.steps.push_back(
        {.latency = Duration(3), .work = 5, .uses = {{kUp, 1.0}}});
  }
  list.orders = {{0, 1}, {0, 2}};
  for (const int32_t begin : {1, 3}) {
    for (const int32_t before : {begin, begin + 1}) {
      list.orders.push_back({before, begin + 2});
      list.orders.push_back({before, begin + 3});
    }
  }
  list.loops = {{3, 5, 3}};
  return list;
}

TEST(TransferPlans, ALoopIsListedOnce) {
  const StepList list = TwoThatTakeTurns();
  TransferPlans plans;
  const PlanId plan = plans.AddGraph(list.steps, list.orders, list.loops);
  EXPECT_EQ(plans.listed_count(plan), 7);
  EXPECT_EQ(plans.step_count(plan), 11);
  EXPECT_EQ(StepAt(list.loops, 2).listed, 2);
  EXPECT_EQ(StepAt(list.loops, 8).listed, 4);
  EXPECT_EQ(StepAt(list.loops, 8).time, 2);
  EXPECT_EQ(StepAt(list.loops, 9).listed, 5);
  for (int32_t place = 0; place < 11; ++place) {
    EXPECT_EQ(PlaceOf(list.loops, StepAt(list.loops, place)), place);
  }
  // Five times five bytes.
  EXPECT_THAT(plans.TotalLoad(plan), ElementsAre(ResourceUse{kUp, 25.0}));
}

// One first, then five times the longer of 10 and 3 + 5 s / (1 B/ps).
TEST(TransferPlans, ALoopTakesAllItsTimes) {
  const StepList list = TwoThatTakeTurns();
  const StepList all = WrittenOut(list);
  EXPECT_EQ(all.steps.size(), 11u);
  EXPECT_EQ(all.orders.size(), 2u + 4 * 4);
  Transfers transfers;
  transfers.capacities.Add(1e12);
  const PlanId looped =
      transfers.plans.AddGraph(list.steps, list.orders, list.loops);
  const PlanId written = transfers.plans.AddGraph(all.steps, all.orders);
  EXPECT_EQ(ShortestTime(transfers, looped), Duration(1 + 5 * 10));
  EXPECT_EQ(ShortestTime(transfers, written), Duration(1 + 5 * 10));
  EXPECT_EQ(SerialTime(transfers, looped), Duration(1 + 5 * (10 + 8)));
  EXPECT_EQ(SerialTime(transfers, written), Duration(1 + 5 * (10 + 8)));
}

TEST(TransferPlansDeathTest, RefusesLoopsThatAreNone) {
  TransferPlans plans;
  const StepList good = TwoThatTakeTurns();
  StepList list = good;
  list.orders.erase(list.orders.begin() + 2);  // into the loop only
  EXPECT_DEATH(plans.AddGraph(list.steps, list.orders, list.loops),
               "only out of the loop");
  list = good;
  list.orders.push_back({0, 3});
  EXPECT_DEATH(plans.AddGraph(list.steps, list.orders, list.loops),
               "from elsewhere");
  // Bytes that do not follow those of the time before.
  list = good;
  std::erase_if(list.orders, [](const StepOrder& order) {
    return order.after == order.before + 2 && order.before % 2 == 0 &&
           order.before > 0;
  });
  EXPECT_DEATH(plans.AddGraph(list.steps, list.orders, list.loops),
               "overtakes itself");
}

TEST(TransferPlansDeathTest, RefusesWhatCannotRun) {
  TransferPlans plans;
  const std::vector<TransferStep> free = {{.work = 1}};
  EXPECT_DEATH(plans.AddChain(free), "would take no time");
  const std::vector<TransferStep> steps(2, {.latency = Duration(1)});
  const std::vector<StepOrder> cycle = {{0, 1}, {1, 0}};
  EXPECT_DEATH(plans.AddGraph(steps, cycle), "cycle");
  const std::vector<StepOrder> nowhere = {{0, 5}};
  EXPECT_DEATH(plans.AddGraph(steps, nowhere), "after");
}

}  // namespace
}  // namespace orrery
