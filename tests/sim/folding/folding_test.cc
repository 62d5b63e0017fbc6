// Folded and unfolded runs must agree to the picosecond wherever ranks of a
// stage do the same: every dimension alone, pairs, and all five at once.
#include <gtest/gtest.h>

#include "tests/workload/lowering/stepped.h"
#include "tests/workload/plan/plan_cases.h"
#include "workload/plan/rank_classes.h"

namespace orrery {
namespace {

// Beside the common ones.
constexpr PlanCase kOwnCases[] = {
    {"zero 1", "sharding: ZERO_1 overlap_parameter_gather: true", kCaseModel},
    {"context pipeline",
     "parallel { context: 4 pipeline: 4 } schedule: INTERLEAVED_1F1B "
     "virtual_stages: 2",
     kCaseModel},
    {"expert pipeline", "parallel { expert: 8 pipeline: 2 } schedule: ZB_H1",
     kCaseExperts},
    {"context expert", "parallel { context: 2 expert: 8 }", kCaseExperts},
    {"pipeline data dual",
     "parallel { pipeline: 4 } schedule: DUAL_PIPE "
     "global_batch: 256",
     kCaseModel},
    {"pipeline data v",
     "parallel { pipeline: 4 } schedule: ZB_V virtual_stages: 2", kCaseModel},
};

TEST(Folding, EqualsTheUnfoldedRunToThePicosecond) {
  // Latency and bytes, so that calls differ from one another.
  const auto time = [](const Communication& what, size_t members) {
    return Duration(5000 + 13 * static_cast<int64_t>(members) +
                    what.bytes.value() / 4000);
  };
  for (const PlanCase& f : WithCommonPlans(kOwnCases)) {
    SCOPED_TRACE(f.name);
    const TrainingCase c = MakeCase(f.plan, 8, f.model);
    const StepRun folded = RunStep(c, {.fold = true}, time);
    const StepRun whole = RunStep(c, {.fold = false}, time);
    EXPECT_EQ(whole.placed.program.ranks().size(), 64u);
    const Placement placement(c.plan.layout());
    const RankClasses classes(c.plan.layout(), placement);
    EXPECT_EQ(folded.placed.program.ranks().size(),
              static_cast<size_t>(c.plan.degrees().pipeline * classes.count()));
    EXPECT_EQ(folded.result.end, whole.result.end);
    for (const RankId rank : folded.placed.program.ranks().ids()) {
      const ProgramRank& one = folded.placed.program.ranks()[rank];
      for (const RankId other : whole.placed.program.ranks().ids()) {
        if (whole.placed.program.ranks()[other].number != one.number) continue;
        EXPECT_EQ(whole.result.ranks[other].finished,
                  folded.result.ranks[rank].finished);
        EXPECT_EQ(whole.result.ranks[other].memory.total,
                  folded.result.ranks[rank].memory.total);
      }
    }
  }
}

// One rank has the hot expert, 7 do not: two classes, whatever the other
// dimensions. Where tensor ranks hold different experts, those beside the hot
// one wait for it and are a class of their own.
TEST(RankClasses, AreAsFewAsTheRoutingAllows) {
  const auto count = [](const char* plan) {
    const TrainingCase c = MakeCase(plan, 8, kCaseExperts);
    const Placement placement(c.plan.layout());
    return RankClasses(c.plan.layout(), placement).count();
  };
  EXPECT_EQ(count("parallel { expert: 8 pipeline: 2 }"), 1);
  EXPECT_EQ(count("parallel { expert: 8 pipeline: 2 } expert_imbalance: 3"), 2);
  EXPECT_EQ(count("parallel { tensor: 2 expert: 8 sequence_parallel: true } "
                  "expert_imbalance: 3"),
            4);
}

// What a folded group stands for: every group of its family, once.
TEST(Folding, GroupsStandForAllOfTheirKind) {
  const TrainingCase c = MakeCase("parallel { tensor: 4 pipeline: 2 }", 4);
  const auto step = LowerTraining(c.model, c.plan, SimpleTime, {.fold = true});
  ASSERT_TRUE(step.ok());
  for (const GroupId id : step->program.groups().ids()) {
    const auto& group = step->groups[id];
    const std::string family =
        step->program.name(step->program.groups()[id].family);
    size_t ranks = 0;
    for (const auto& members : group.replicas) ranks += members.size();
    // 16 ranks in each of the two stages.
    const bool both = family == "model" || family.starts_with("pipeline");
    const size_t expected = both ? 32 : 16;
    EXPECT_EQ(ranks, expected) << family;
    EXPECT_EQ(group.replicas.front(), group.members);
  }
}

}  // namespace
}  // namespace orrery
