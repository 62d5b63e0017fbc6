// Micro-batches that are kept once run as those that are written out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"
#include "tests/storm/loop_laws.h"

namespace orrery {
namespace {

struct LoopCase {
  const char* name;
  const char* scenario;
  std::vector<std::string> sets;
  bool loops = true;
};

class Loops : public testing::TestWithParam<LoopCase> {};

TEST_P(Loops, ChangeNoResult) {
  ASSERT_OK_AND_ASSIGN(
      auto proto,
      ResolveScenario(Catalog(), GetParam().scenario, GetParam().sets));
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                       MakeScenario(std::move(proto)));
  for (const bool detail : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const SimulatedRun looped,
                         RunScenario(scenario, {.detail = detail}));
    EXPECT_EQ(HasLoop(looped), GetParam().loops);
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun written,
        RunScenario(scenario, {.detail = detail, .loops = false}));
    EXPECT_FALSE(HasLoop(written));
    EXPECT_EQ(WhyNotAlike(looped, written), std::nullopt);
  }
}

// Every schedule, data and expert ranks that gather and reduce in the loop, a
// host that runs ahead, and every rank by itself.
INSTANTIATE_TEST_SUITE_P(
    Steps, Loops,
    testing::Values(
        LoopCase{"OneForwardOneBackward",
                 "quickstart",
                 {"training.global_batch=256"}},
        LoopCase{"NoPipeline",
                 "quickstart",
                 {"training.global_batch=256", "training.parallel.pipeline=1",
                  "training.parallel.data=8"}},
        LoopCase{"ShardedParameters",
                 "quickstart",
                 {"training.global_batch=256", "training.parallel.pipeline=1",
                  "training.parallel.data=8", "training.sharding=ZERO_3"}},
        LoopCase{"ShardedGradients",
                 "quickstart",
                 {"training.global_batch=256", "training.sharding=ZERO_2"}},
        LoopCase{
            "Interleaved",
            "quickstart",
            {"training.global_batch=256", "training.schedule=INTERLEAVED_1F1B",
             "training.virtual_stages=4"}},
        LoopCase{"ZeroBubble",
                 "quickstart",
                 {"training.global_batch=256", "training.schedule=ZB_H1"}},
        LoopCase{"ZeroBubbleV",
                 "quickstart",
                 {"training.global_batch=256", "training.schedule=ZB_V",
                  "training.virtual_stages=2"}},
        LoopCase{"DualPipe",
                 "quickstart",
                 {"training.global_batch=256", "training.schedule=DUAL_PIPE"}},
        LoopCase{
            "Recomputation",
            "quickstart",
            {"training.global_batch=256", "training.recompute=RECOMPUTE_FULL"}},
        LoopCase{"Host",
                 "quickstart",
                 {"training.global_batch=256",
                  "framework.preset=megatron_core_2024"}},
        LoopCase{"Experts", "mixtral_8x7b_128", {"training.global_batch=2048"}},
        LoopCase{"GPipe",
                 "quickstart",
                 {"training.global_batch=256", "training.schedule=GPIPE"},
                 false},
        LoopCase{"TooFew", "quickstart", {}, false}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Loops, AreWrittenOutWhereSpansAreKept) {
  ASSERT_OK_AND_ASSIGN(
      auto proto,
      ResolveScenario(Catalog(), "quickstart", {"training.global_batch=256"}));
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                       MakeScenario(std::move(proto)));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                       RunScenario(scenario, {.record = true}));
  EXPECT_FALSE(HasLoop(run));
  EXPECT_EQ(static_cast<int64_t>(run.spans.size()), run.result.tasks);
}

TEST(Loops, TakeTheSameRoomWhateverTheirTurns) {
  std::vector<int32_t> places;
  for (const char* batch : {"256", "1024"}) {
    ASSERT_OK_AND_ASSIGN(
        auto proto,
        ResolveScenario(Catalog(), "quickstart",
                        {std::string("training.global_batch=") + batch}));
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                         MakeScenario(std::move(proto)));
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunScenario(scenario, {}));
    places.push_back(run.placed.program.role_of(RankId(0)).place_count());
  }
  EXPECT_EQ(places[0], places[1]);
}

}  // namespace
}  // namespace orrery
