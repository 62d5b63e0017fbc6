// Folded and unfolded runs must agree to the picosecond wherever ranks of a
// stage do the same: every dimension alone, pairs, and all five at once.
#include <gtest/gtest.h>

#include "tests/workload/lowering/stepped.h"
#include "workload/plan/rank_classes.h"

namespace orrery {
namespace {

struct FoldingCase {
  const char* name;
  const char* plan;
  const char* model;
};
constexpr FoldingCase kCases[] = {
    {"tensor", "parallel { tensor: 8 }", kCaseModel},
    {"sequence", "parallel { tensor: 8 sequence_parallel: true }", kCaseModel},
    {"context ring", "parallel { context: 8 }", kCaseModel},
    {"context gather",
     "parallel { context: 8 } context_method: CONTEXT_ALL_GATHER", kCaseModel},
    {"ulysses", "parallel { context: 8 } context_method: CONTEXT_ULYSSES",
     kCaseModel},
    {"pipeline", "parallel { pipeline: 8 }", kCaseModel},
    {"zero 0", "sharding: ZERO_0", kCaseModel},
    {"zero 1", "sharding: ZERO_1 overlap_parameter_gather: true", kCaseModel},
    {"zero 2", "sharding: ZERO_2", kCaseModel},
    {"zero 3", "sharding: ZERO_3", kCaseModel},
    {"zero 2 accumulated", "sharding: ZERO_2 accumulate_locally: true",
     kCaseModel},
    {"zero 3 not resharded", "sharding: ZERO_3 reshard_after_forward: false",
     kCaseModel},
    {"hybrid", "sharding: ZERO_3 sharding_group: 8", kCaseModel},
    {"expert", "parallel { expert: 8 }", kCaseExperts},
    {"tensor pipeline",
     "parallel { tensor: 4 pipeline: 4 sequence_parallel: true }", kCaseModel},
    {"tensor context", "parallel { tensor: 4 context: 4 }", kCaseModel},
    {"context pipeline",
     "parallel { context: 4 pipeline: 4 } schedule: INTERLEAVED_1F1B "
     "virtual_stages: 2",
     kCaseModel},
    {"tensor expert",
     "parallel { tensor: 4 expert: 4 expert_tensor: 2 sequence_parallel: true "
     "}",
     kCaseExperts},
    {"expert pipeline", "parallel { expert: 8 pipeline: 2 } schedule: ZB_H1",
     kCaseExperts},
    {"context expert", "parallel { context: 2 expert: 8 }", kCaseExperts},
    {"pipeline data dual",
     "parallel { pipeline: 4 } schedule: DUAL_PIPE "
     "global_batch: 256",
     kCaseModel},
    {"pipeline data v",
     "parallel { pipeline: 4 } schedule: ZB_V virtual_stages: 2", kCaseModel},
    {"one hot expert", "parallel { expert: 8 pipeline: 2 } expert_imbalance: 3",
     kCaseExperts},
    {"histogram",
     "parallel { expert: 4 } expert_load: [9, 1, 4, 4, 2, 3, 4, 5, 4, 4, 4, 4, "
     "1, 8, 0, 7]",
     kCaseExperts},
    {"histogram over tensor ranks",
     "parallel { tensor: 4 expert: 4 expert_tensor: 2 sequence_parallel: true "
     "} "
     "expert_load: [9, 1, 4, 4, 2, 3, 4, 5, 4, 4, 4, 4, 1, 8, 0, 7]",
     kCaseExperts},
    {"dispatch by node",
     "parallel { expert: 16 pipeline: 2 } dispatch_method: DISPATCH_BY_NODE",
     kCaseExperts},
    {"histogram by node",
     "parallel { expert: 16 } dispatch_method: DISPATCH_BY_NODE "
     "expert_load: [9, 1, 4, 4, 2, 3, 4, 5, 4, 4, 4, 4, 1, 8, 0, 7]",
     kCaseExperts},
    {"five",
     "parallel { tensor: 2 context: 2 pipeline: 4 expert: 4 "
     "sequence_parallel: true } recompute: RECOMPUTE_SELECTIVE",
     kCaseExperts},
};

TEST(Folding, EqualsTheUnfoldedRunToThePicosecond) {
  // Latency and bytes, so that calls differ from one another.
  const auto time = [](const Communication& what, size_t members) {
    return Duration(5000 + 13 * static_cast<int64_t>(members) +
                    what.bytes.value() / 4000);
  };
  for (const FoldingCase& f : kCases) {
    SCOPED_TRACE(f.name);
    const TrainingCase c = MakeCase(f.plan, 8, f.model);
    const StepRun folded = RunStep(c, {.fold = true}, time);
    const StepRun whole = RunStep(c, {.fold = false}, time);
    EXPECT_EQ(whole.step.program.ranks().size(), 64u);
    const Placement placement(c.plan);
    const RankClasses classes(c.plan, placement);
    EXPECT_EQ(folded.step.program.ranks().size(),
              static_cast<size_t>(c.plan.degrees().pipeline * classes.count()));
    EXPECT_EQ(folded.result.end, whole.result.end);
    for (const RankId rank : folded.step.program.ranks().ids()) {
      const ProgramRank& one = folded.step.program.ranks()[rank];
      for (const RankId other : whole.step.program.ranks().ids()) {
        if (whole.step.program.ranks()[other].number != one.number) continue;
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
    const Placement placement(c.plan);
    return RankClasses(c.plan, placement).count();
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
  const auto step = LowerStep(c.model, c.plan, SimpleTime, {.fold = true});
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
