// Where groups meet different traffic only because of calls that send next to
// nothing, one rank stands for many as long as these calls stay apart from the
// others on their links.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "sim/folding/folding.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// Racks of 72: 9 data replicas of TP 8 on each, whose sums over the tensor
// group go by trees that load its chips unlike.
TEST(ApartFolding, RacksFoldToThePicosecond) {
  ASSERT_OK_AND_ASSIGN(
      auto proto,
      ResolveScenario(
          Catalog(), "megatron_22b_selective",
          {"system.preset=gb200_nvl72", "system.nodes=2",
           "training.parallel.tensor=8", "training.parallel.pipeline=2",
           "training.parallel.data=9", "training.global_batch=36",
           "training.micro_batch=1", "training.sharding=ZERO_1"}));
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                       MakeScenario(std::move(proto)));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun folded,
                       RunScenario(scenario, {.detail = false}));
  EXPECT_TRUE(folded.placed.folded) << folded.asymmetry;
  ASSERT_OK_AND_ASSIGN(const SimulatedRun whole,
                       RunScenario(scenario, {.fold = false, .detail = false}));
  EXPECT_EQ(whole.placed.program.ranks().size(), 144u);
  EXPECT_EQ(folded.result.end, whole.result.end);
}

// Calls 0, 1 and 2 have plans of their own; call 0 stays apart from call 1.
TEST(ApartFolding, WhoMovesBytesAtTheSameTimeIsNotApart) {
  Transfers transfers;
  for (int i = 0; i < 3; ++i) {
    transfers.plan_of_call.Add(static_cast<PlanId>(i));
  }
  const std::vector<ApartCall> calls = {{CallId{0}, {CallId{1}}}};
  const auto span = [](int plan, int began, int moved, int ended) {
    return TransferLog::Span{
        static_cast<GroupId>(plan), 0,
        Time(Duration(began)),      Time(Duration(moved)),
        Time(Duration(ended)),      static_cast<PlanId>(plan)};
  };
  // One after the other, latencies side by side, and beside a third.
  EXPECT_TRUE(RanApart(calls, transfers,
                       {{span(1, 0, 10, 20), span(2, 0, 5, 30),
                         span(0, 10, 20, 30), span(1, 25, 30, 40)},
                        {}}));
  EXPECT_FALSE(RanApart(calls, transfers,
                        {{span(1, 0, 10, 21), span(0, 10, 20, 30)}, {}}));
  EXPECT_FALSE(RanApart(calls, transfers,
                        {{span(0, 10, 12, 13), span(1, 0, 10, 21)}, {}}));
}

}  // namespace
}  // namespace orrery
