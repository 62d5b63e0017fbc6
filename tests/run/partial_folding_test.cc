// One link that is cut or slow must not unfold a machine: those whom it tells
// apart are simulated, and one rank still stands for all of the rest. Folded
// and whole runs must agree to the picosecond, or the fold be refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

struct Fault {
  int chip;
  double remaining;
};

struct PartialCase {
  const char* name;
  const char* scenario;
  size_t ranks;  // simulated; 0: any
  std::vector<Fault> faults;
  std::vector<std::string> fields = {};
};

ResolvedScenario Make(const PartialCase& c) {
  auto proto = ResolveScenario(Catalog(), c.scenario, c.fields);
  CHECK(proto.ok()) << proto.status().ToString();
  for (const Fault& fault : c.faults) {
    pb::LinkFault& added = *proto->mutable_system()->add_fault();
    added.set_from(fault.chip);
    added.set_remaining(fault.remaining);
  }
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

// quickstart: TP 4, PP 2, DP 4 on 4 nodes of 8. In each of the 2 stages there
// are four kinds of ranks: at the place of the slow chip in a tensor group or
// at another, in its replica or in another.
TEST(PartialFolding, IsWholeToThePicosecond) {
  const PartialCase cases[] = {
      {"a chip", "quickstart", 2 * 2 * 2, {{5, 0.5}}},
      {"sharded",
       "quickstart",
       2 * 2 * 2,
       {{5, 0.5}},
       {"training.sharding=ZERO_3"}},
      // No tensor groups: the chip, and all others.
      {"data only",
       "quickstart",
       2,
       {{5, 0.5}},
       {"training.parallel.tensor=1", "training.parallel.pipeline=1"}},
      {"more replicas",
       "quickstart",
       2 * 2 * 2,
       {{5, 0.5}},
       {"system.nodes=16", "training.global_batch=256"}},
      // Two chips of one replica, at places of their own: 3 x 2 kinds.
      {"two of a group",
       "quickstart",
       2 * 3 * 2,
       {{5, 0.5}, {6, 0.25}},
       {"system.nodes=8", "training.global_batch=128"}},
      // One mark: one kind more than without, in tensor groups of all.
      {"two chips alike",
       "quickstart",
       2 * 2 * 2,
       {{1, 0.5}, {17, 0.5}},
       {"system.nodes=16", "training.global_batch=256"}},
      {"experts", "mixtral_8x7b_5d", 0, {{5, 0.5}}, {}},
  };
  for (const PartialCase& c : cases) {
    SCOPED_TRACE(c.name);
    const ResolvedScenario scenario = Make(c);
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunScenario(scenario, {.detail = false}));
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun whole,
        RunScenario(scenario, {.fold = false, .detail = false}));
    EXPECT_TRUE(run.placed.folded) << run.asymmetry;
    EXPECT_LT(run.placed.program.ranks().size(),
              whole.placed.program.ranks().size());
    if (c.ranks > 0) {
      EXPECT_EQ(run.placed.program.ranks().size(), c.ranks);
    }
    EXPECT_EQ(run.result.end, whole.result.end);
    EXPECT_EQ(run.memory.peak.total, whole.memory.peak.total);
    EXPECT_EQ(run.executed.value(), whole.executed.value());
    int64_t stood_for = 0;
    for (const ProgramRank& rank : run.placed.program.ranks()) {
      stood_for += rank.multiplicity;
    }
    EXPECT_EQ(stood_for,
              static_cast<int64_t>(whole.placed.program.ranks().size()));
  }
}

// Message by message there is nobody to stand for others.
TEST(PartialFolding, IsRefusedMessageByMessage) {
  const ResolvedScenario scenario =
      Make({"",
            "quickstart",
            0,
            {{5, 0.5}},
            {"system.nodes=1", "training.global_batch=8"}});
  ASSERT_OK_AND_ASSIGN(
      const SimulatedRun run,
      RunScenario(scenario, {.fidelity = Fidelity::kStepped, .detail = false}));
  EXPECT_FALSE(run.placed.folded);
  EXPECT_THAT(run.asymmetry, HasSubstr("cut or slow"));
}

}  // namespace
}  // namespace orrery
