// Transfers are the same to the bit whether of links that carry the same at any
// time one is told or all.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "sim/network/network_transfers.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

void ExpectSame(const Transfers& one, const Transfers& other) {
  EXPECT_EQ(one.capacities.items(), other.capacities.items());
  EXPECT_EQ(one.plan_of_call.items(), other.plan_of_call.items());
  EXPECT_EQ(one.algorithms.items(), other.algorithms.items());
  EXPECT_EQ(one.sent_by_chips.items(), other.sent_by_chips.items());
  EXPECT_EQ(one.resource_names.items(), other.resource_names.items());
  ASSERT_EQ(one.resource_classes.size(), other.resource_classes.size());
  for (const ResourceId id : one.resource_classes.ids()) {
    const std::vector<ResourceClass>& a = one.resource_classes[id];
    const std::vector<ResourceClass>& b = other.resource_classes[id];
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].name, b[i].name);
      EXPECT_EQ(a[i].count, b[i].count);
    }
  }
  ASSERT_EQ(one.plans.size(), other.plans.size());
  for (size_t i = 0; i < one.plans.size(); ++i) {
    const auto plan = static_cast<PlanId>(i);
    ASSERT_EQ(one.plans.listed_count(plan), other.plans.listed_count(plan));
    for (int32_t j = 0; j < one.plans.listed_count(plan); ++j) {
      const TransferPlans::Step a = one.plans.listed(plan, j);
      const TransferPlans::Step b = other.plans.listed(plan, j);
      ASSERT_EQ(a.latency, b.latency);
      ASSERT_EQ(a.work, b.work);
      ASSERT_EQ(a.penalty, b.penalty);
      ASSERT_EQ(a.uses, b.uses);
    }
  }
}

TEST(AlikeLinks, NeedBeToldOnceOnly) {
  using Sets = std::vector<std::string>;
  const struct {
    std::string name;
    Sets sets;
    bool fold = false;
  } kCases[] = {
      // Two tiers, three, and three with pods that are not full.
      {"megatron_175b_full",
       {"system.nodes=32", "training.global_batch=64",
        "training.parallel.data=4"}},
      {"megatron_175b_full",
       {"system.nodes=128", "training.global_batch=128",
        "training.parallel.data=16"}},
      {"megatron_175b_full",
       {"system.nodes=128", "training.global_batch=128",
        "training.parallel.data=16"},
       true},
      {"megatron_175b_full",
       {"system.nodes=72", "training.global_batch=72",
        "training.parallel.data=9"}},
      // All-to-all.
      {"mixtral_8x7b_128", {}},
      {"mixtral_8x7b_128", {}, true},
      {"mixtral_8x7b_128", {"system.scale_out.fabric.rail_optimized.radix=8"}},
      // Chosen ways.
      {"quickstart", {"system.scale_out.fabric.routing=ECMP"}},
      {"quickstart", {"system.scale_out.fabric.routing=ADAPTIVE"}},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    ASSERT_OK_AND_ASSIGN(auto proto,
                         ResolveScenario(Catalog(), each.name, each.sets));
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                         MakeScenario(std::move(proto)));
    ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(scenario.system));
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun run,
        RunScenario(scenario, network, {.fold = each.fold, .detail = false}));
    CallPlanner planner(network);
    ASSERT_FALSE(planner.options().one_of_alike);
    ASSERT_OK_AND_ASSIGN(const Transfers all,
                         PlanTransfers(run.placed, planner));
    ExpectSame(run.transfers, all);
  }
}

}  // namespace
}  // namespace orrery
