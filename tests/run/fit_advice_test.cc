#include "run/fit_advice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
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

// Whoever types what is advised gets what was promised, to the picosecond and
// the byte.
TEST(FitAdvice, IsWhatTypingItGives) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                       ResolveScenarioText(Catalog(), kTooLarge, "test", {}));
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(proto));
  const auto advice = AdviseFit(scenario, {});
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

}  // namespace
}  // namespace orrery
