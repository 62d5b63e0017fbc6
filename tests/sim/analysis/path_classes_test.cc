// Ranks that come to the same places at the same times, if calls take as long.
#include "sim/analysis/path_classes.h"

#include <gtest/gtest.h>

#include "tests/workload/lowering/stepped.h"
#include "workload/lowering/training/lower_training.h"

namespace orrery {
namespace {

constexpr const char* kPlan =
    "parallel { tensor: 4 pipeline: 2 sequence_parallel: true }";

PlacedProgram Lower(bool fold) {
  const TrainingCase c = MakeCase(kPlan, 8);
  auto placed = LowerTraining(c.model, c.plan, SimpleTime, {.fold = fold});
  CHECK(placed.ok()) << placed.status().ToString();
  return *std::move(placed);
}

TEST(PathClasses, AreAsManyAsAFoldedStepHasRanks) {
  const PlacedProgram whole = Lower(/*fold=*/false);
  const PlacedProgram folded = Lower(/*fold=*/true);
  EXPECT_EQ(folded.program.ranks().size(), 2u);
  EXPECT_EQ(RanksIfAlike(whole.program).size(), 2u);
  EXPECT_EQ(RanksIfAlike(folded.program).size(), 2u);
}

// One tensor group is slower than the others: its four ranks, those of its
// replica in the other stage, and all others of either stage are classes; the
// data groups hold one rank of that replica each.
TEST(PathClasses, TellApartWhomASlowCallTellsApart) {
  const PlacedProgram whole = Lower(/*fold=*/false);
  const Program& program = whole.program;
  IdVector<CallId, Duration> times(program.calls().size(), Duration(1000));
  for (const CallId id : program.calls().ids()) {
    const GroupId group = program.calls()[id].group;
    if (program.name(program.groups()[group].family) != "tensor" ||
        program.groups()[group].index != 0) {
      continue;
    }
    times[id] = Duration(1001);
  }
  const PathClasses classes = ClassesOf(program, times);
  EXPECT_EQ(classes.ranks.size(), 4u);
  // Each of a class arrives at as many calls as its rank has slots.
  size_t members = 0;
  size_t slots = 0;
  for (const auto& group : classes.members) members += group.size();
  for (const RankId rank : classes.ranks) {
    slots += program.role_of(rank).slots().size();
  }
  EXPECT_EQ(members, slots);
}

}  // namespace
}  // namespace orrery
