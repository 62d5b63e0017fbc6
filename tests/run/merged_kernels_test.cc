// Kernels merged between communication take as long as kernel by kernel, unless
// communication holds part of a chip: a kernel that is slowed down then goes by
// its own demand, a merged one by the mean of its parts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

TEST(MergedKernels, TakeAsLongWhereNothingIsHeld) {
  for (const std::string name :
       {"quickstart", "mixtral_8x7b_128", "deep_pipeline"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(
        auto proto, ResolveScenario(Catalog(), name,
                                    {"system.collectives.compute_share=0",
                                     "system.collectives.memory_share=0"}));
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario,
                         MakeScenario(std::move(proto)));
    ASSERT_OK_AND_ASSIGN(const SimulatedRun each, RunScenario(scenario, {}));
    ASSERT_OK_AND_ASSIGN(const SimulatedRun merged,
                         RunScenario(scenario, {.detail = false}));
    EXPECT_GT(each.result.tasks, merged.result.tasks);
    EXPECT_EQ(each.result.end, merged.result.end);
  }
}

}  // namespace
}  // namespace orrery
