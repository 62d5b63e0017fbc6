// What to type where a plan does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "run/search/plan_advice.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// 22B on 16 chips with all its state on each: some 350 GB. One stage, so that
// advice to have more brings defaults of its own with it.
constexpr char kTooLarge[] =
    R"(name: "too_large"
       model { preset: "gpt_22b" }
       system { preset: "dgx_h100_ib400" nodes: 2 }
       training { global_batch: 16 micro_batch: 2 sequence: 2048
         parallel { tensor: 4 } precision: BF16 })";

struct Advised {
  ResolvedScenario scenario;
  std::vector<pb::Report::Memory::Change> advice;
};

absl::StatusOr<Advised> Advise(const char* text) {
  const std::string file = testing::TempDir() + "/fit_advice.textproto";
  RETURN_IF_ERROR(WriteFile(file, text));
  ASSIGN_OR_RETURN(const pb::Scenario said, MergeScenario(Catalog(), file, {}));
  ASSIGN_OR_RETURN(pb::Scenario proto,
                   ResolveScenarioText(Catalog(), text, "test", {}));
  ASSIGN_OR_RETURN(ResolvedScenario scenario, MakeScenario(std::move(proto)));
  ASSIGN_OR_RETURN(auto advice, AdviseFit(said, scenario, {}));
  return Advised{std::move(scenario), std::move(advice)};
}

// Whoever types what is advised gets what was promised, to the picosecond and
// the byte.
TEST(FitAdvice, IsWhatTypingItGives) {
  ASSERT_OK_AND_ASSIGN(const Advised advised, Advise(kTooLarge));
  const auto& advice = advised.advice;
  ASSERT_GE(advice.size(), 3u);
  bool deeper = false;
  for (const auto& change : advice) {
    const std::vector<std::string> settings(change.settings().begin(),
                                            change.settings().end());
    SCOPED_TRACE(settings.front());
    deeper |= settings.front().find("pipeline") != std::string::npos;
    ASSERT_OK_AND_ASSIGN(
        const pb::Scenario typed,
        ResolveScenarioText(Catalog(), kTooLarge, "test", settings));
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario other, MakeScenario(typed));
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunScenario(other, {}));
    EXPECT_EQ(change.step_time_s(), ToSeconds(run.result.end));
    EXPECT_EQ(
        change.peak_bytes(),
        (run.memory.peak.total + other.kernels.reserved_memory()).value());
  }
  EXPECT_TRUE(deeper);
}

// Eight H100 cannot hold a Mixtral each. With a rank for every expert they hold
// 1.6 of 12.9 billion parameters of experts' layers each and fit.
TEST(FitAdvice, SpreadsExperts) {
  ASSERT_OK_AND_ASSIGN(const Advised advised, Advise(R"(name: "experts"
       model { preset: "mixtral_8x7b" layers: 8 }
       system { preset: "dgx_h100_ib400" nodes: 1 }
       training { global_batch: 16 micro_batch: 1 sequence: 4096
         sharding: ZERO_1 precision: BF16 })"));
  ASSERT_FALSE(advised.advice.empty());
  EXPECT_THAT(advised.advice[0].settings(),
              testing::Contains(testing::HasSubstr("expert=")));
  // The others do not spread them; those are first for being faster.
  EXPECT_LT(advised.advice[0].step_time_s(),
            advised.advice.back().step_time_s());
}

// What the framework does not offer is not advised.
TEST(FitAdvice, StaysWithinTheFramework) {
  ASSERT_OK_AND_ASSIGN(const Advised advised, Advise(kTooLarge));
  for (const auto& change : advised.advice) {
    for (const std::string& setting : change.settings()) {
      EXPECT_NE(setting, "training.sharding=ZERO_2");
      EXPECT_NE(setting, "training.sharding=ZERO_3");
    }
  }
}

}  // namespace
}  // namespace orrery
