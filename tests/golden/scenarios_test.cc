// What every scenario of the catalogue gives, to the picosecond, the byte and
// the event; of requests also what a token costs. A commit that moves a number
// here says in CHANGELOG.md, under Results, which, by how much, and why it is
// now more right.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/report.h"
#include "run/requests/inference_report.h"
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
    {"deepseek_v3_2k", 16650704394602, 67475144768, 720434},
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

struct GoldenRequests {
  const char* scenario;
  // Prefill, first token, per output token, end to end.
  int64_t prefill_ps;
  int64_t first_token_ps;
  int64_t per_token_ps;
  int64_t end_to_end_ps;
  int64_t peak_bytes;
  int64_t largest_batch;
  // Of a million tokens, in micro-dollars and joules.
  int64_t input_price;
  int64_t output_price;
  int64_t output_joules;
};
constexpr GoldenRequests kGoldenRequests[] = {
    {"deepseek_v3_pools", 1809940991259, 1810366868883, 47499802172,
     50402664490713, 49970529280, 19296, 76001, 507890, 1541610},
    {"gpt_oss_120b_serving", 823623056592, 823623056592, 10680437524,
     6281326631428, 20060968732, 2048, 31113, 821512, 2188914},
    {"llama2_70b_inference", 46179442821, 46179442821, 21946845158,
     4413601629206, 18884457280, 2449, 751042, 71113252, 195053882},
    {"llama3_405b_mi300x", 1206054531565, 1206054531565, 38293954135,
     6069386706710, 56441884672, 256, 530297, 2132912, 8368749},
    {"llama3_70b_fp8_serving", 3969648689760, 3969648689760, 12549361497,
     7169735871440, 14161642752, 1411, 150614, 966718, 2637324},
    {"llama3_70b_pools", 75777938297, 75820940081, 12549361497, 3275908121761,
     13753225216, 1411, 198924, 1048482, 2867135},
    {"llama3_70b_tpu_v6e", 2285685013144, 2285685013144, 19444298081,
     7243981023799, 21378025984, 227, 84708, 737902, 0},
    {"qwen3_235b_serving", 3825377326032, 3825377326032, 30409367742,
     19364564242096, 67160863360, 1118, 157625, 2568294, 6527973},
};

TEST(GoldenScenarios, ServeAsTheyServed) {
  for (const GoldenRequests& golden : kGoldenRequests) {
    SCOPED_TRACE(golden.scenario);
    ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                         ResolveScenario(Catalog(), golden.scenario, {}));
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(proto));
    ASSERT_OK_AND_ASSIGN(const pb::Report report,
                         ReportInference(scenario, {}));
    const auto& r = report.inference();
    const auto scaled = [](double value, double scale) {
      return static_cast<int64_t>(std::llround(value * scale));
    };
    EXPECT_EQ(scaled(r.prefill_s(), 1e12), golden.prefill_ps);
    EXPECT_EQ(scaled(r.time_to_first_token_s(), 1e12), golden.first_token_ps);
    EXPECT_EQ(scaled(r.time_per_output_token_s(), 1e12), golden.per_token_ps);
    EXPECT_EQ(scaled(r.end_to_end_s(), 1e12), golden.end_to_end_ps);
    EXPECT_EQ(report.memory().peak_bytes(), golden.peak_bytes);
    EXPECT_EQ(r.largest_batch(), golden.largest_batch);
    EXPECT_EQ(scaled(report.cost().million_input_tokens().nominal(), 1e6),
              golden.input_price);
    EXPECT_EQ(scaled(report.cost().million_output_tokens().nominal(), 1e6),
              golden.output_price);
    EXPECT_EQ(scaled(report.energy().million_output_joules().nominal(), 1),
              golden.output_joules);
  }
}

TEST(GoldenScenarios, AreAllThereAre) {
  std::set<std::string> named;
  for (const Golden& golden : kGolden) named.insert(golden.scenario);
  for (const GoldenRequests& golden : kGoldenRequests) {
    named.insert(golden.scenario);
  }
  const std::vector<std::string> all = Catalog().Names("scenarios");
  EXPECT_EQ(named, std::set<std::string>(all.begin(), all.end()));
}

}  // namespace
}  // namespace orrery
