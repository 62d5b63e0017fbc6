#include "sim/sharing/transfer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
