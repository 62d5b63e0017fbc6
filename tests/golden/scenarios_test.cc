// What every training scenario of the catalogue gives, to the picosecond, the
// byte and the event. A commit that moves a number here says in CHANGELOG.md,
// under Results, which, by how much, and why it is now more right.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

struct Golden {
  const char* scenario;
  int64_t step_ps;
  int64_t peak_bytes;
  int64_t events;
};
constexpr Golden kGolden[] = {
    {"crossing_groups", 1360167893466, 17521999872, 518688},
    {"deep_pipeline", 1364156119500, 37189091328, 7258},
    {"deepseek_v3_2k", 16650704394607, 67475144768, 720434},
    {"llama3_405b_16k", 5724240336992, 78228652032, 101954},
    {"megatron_175b_full", 18523678635060, 59587399680, 474614},
    {"megatron_175b_selective", 13986295967082, 65979518976, 388982},
    {"megatron_1t_full", 97802562348186, 58670977536, 5189510},
    {"megatron_1t_selective", 74880409262076, 70257742336, 4209542},
    {"megatron_22b_full", 1425875053101, 57601589248, 3637},
    {"megatron_22b_selective", 1097543923478, 62439718912, 3015},
    {"megatron_530b_full", 49511153471223, 54097509376, 2446856},
    {"megatron_530b_selective", 37908228931767, 64184810496, 1948736},
    {"mixtral_8x7b_128", 1536427638792, 54287654912, 12352},
    {"mixtral_8x7b_5d", 1762884158178, 67743088640, 17778},
    {"quickstart", 2101711914144, 19780730880, 24266},
};

TEST(GoldenScenarios, GiveWhatTheyGave) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.scenario);
    ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                         ResolveScenario(Catalog(), golden.scenario, {}));
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(proto));
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunScenario(scenario, {}));
    ASSERT_OK_AND_ASSIGN(const StepEstimate estimate,
                         EstimateScenario(scenario));
    const pb::Report report = MakeReport(scenario, run, estimate, {}, {});
    EXPECT_EQ(run.result.end.time_since_epoch().count(), golden.step_ps);
    EXPECT_EQ(report.memory().peak_bytes(), golden.peak_bytes);
    EXPECT_EQ(run.result.events, golden.events);
    EXPECT_TRUE(run.bounds.Hold(run.result.end));
  }
}

TEST(GoldenScenarios, AreAllThereAre) {
  std::set<std::string> named, training;
  for (const Golden& golden : kGolden) named.insert(golden.scenario);
  for (const std::string& name : Catalog().Names("scenarios")) {
    ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                         ResolveScenario(Catalog(), name, {}));
    if (proto.has_training()) training.insert(name);
  }
  EXPECT_EQ(named, training);
}

}  // namespace
}  // namespace orrery
