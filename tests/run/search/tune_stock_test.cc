// Tune against simulating every plan, for models and machines of the catalogue.
#include <absl/status/statusor.h>
#include <absl/types/span.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/defaults.h"
#include "catalog/resolve.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/search/plan_space.h"
#include "run/search/tune.h"
#include "tests/effort.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

struct StockPair {
  const char* model;
  const char* system;
  const char* nodes;
  const char* batch;
  const char* sequence;
  // Where another one than the machine's vendor suggests.
  const char* framework = nullptr;
  // What is not searched, so that every plan can be simulated.
  std::vector<PlanAxis> kept = {};
};

using enum PlanAxis;

// Switched and switchless machines, fast and slow networks, one chip per node,
// tori, and every framework; dense models and mixtures of experts.
std::vector<StockPair> Pairs() {
  return {
      {"gpt_1_3b",
       "dgx_a100_hdr200",
       "1",
       "16",
       "2048",
       nullptr,
       {kRecompute, kMicroBatch}},
      {"llama3_8b",
       "a100_opa100x4",
       "2",
       "16",
       "2048",
       nullptr,
       {kRecompute, kMicroBatch, kContext}},
      {"gpt_22b",
       "a100_opa100x4",
       "3",
       "24",
       "2048",
       nullptr,
       {kRecompute, kMicroBatch, kContext, kSequenceParallel}},
      {"llama2_13b",
       "azure_nd_a100_v4",
       "3",
       "24",
       "2048",
       nullptr,
       {kMicroBatch, kContext, kSequenceParallel, kOrder}},
      {"llama3_8b",
       "l40s_pcie",
       "1",
       "8",
       "2048",
       nullptr,
       {kMicroBatch, kContextMethod, kOrder}},
      {"gemma2_9b",
       "l40s_pcie",
       "2",
       "16",
       "2048",
       nullptr,
       {kMicroBatch, kContext, kRecompute, kSequenceParallel}},
      {"llama2_7b",
       "gh200_ib400",
       "4",
       "16",
       "2048",
       nullptr,
       {kSequenceParallel, kOrder}},
      {"llama3_8b",
       "gh200_ib400",
       "6",
       "24",
       "4096",
       nullptr,
       {kSequenceParallel, kRecompute}},
      {"gpt3_5b",
       "mi300x_8x400",
       "1",
       "16",
       "2048",
       nullptr,
       {kRecompute, kSequenceParallel, kContextMethod}},
      {"gpt_7_5b", "mi355x_8x400", "2", "16", "2048", "deepspeed_2024"},
      {"mpt_7b", "dgx_a100_hdr200", "2", "32", "2048", "llm_foundry_2023"},
      {"llama3_8b", "tpu_v5p_pod", "4", "16", "4096"},
      {"gemma_2b", "tpu_v5e_pod", "1", "16", "2048"},
      {"maxtext_16b", "tpu_v6e_pod", "2", "16", "2048"},
      {"gpt_1_7b",
       "tpu_v4_pod",
       "2",
       "16",
       "2048",
       "megatron_core_2024",
       {kContext, kMicroBatch, kRecompute}},
      {"llama3_8b",
       "h800_ib400",
       "1",
       "16",
       "4096",
       "torchtitan_2025",
       {kMicroBatch, kContext, kSequenceParallel, kRecompute}},
      {"hf_3_57b", "dgx_h100_ib400", "2", "32", "2048", "nanotron_2024"},
      {"gpt_18b",
       "dgx_a100_hdr200",
       "2",
       "16",
       "2048",
       "megatron_lm_2021",
       {kOrder}},
      {"gpt_22b",
       "dgx_a100_hdr200",
       "2",
       "16",
       "2048",
       "megatron_lm_2022",
       {kMicroBatch}},
      {"gpt_18b",
       "dgx_h100_ib400",
       "3",
       "24",
       "2048",
       "megatron_deepspeed_2022",
       {kOrder}},
      {"qwen3_8b",
       "aws_p5_efa",
       "2",
       "16",
       "4096",
       nullptr,
       {kMicroBatch, kContext, kSequenceParallel, kRecompute}},
      {"mixtral_8x7b",
       "dgx_h100_ib400",
       "2",
       "16",
       "2048",
       nullptr,
       {kMicroBatch, kContext, kPipeline, kSharding}},
      {"gpt_oss_20b",
       "h200_ib400",
       "1",
       "8",
       "4096",
       nullptr,
       {kMicroBatch, kContext, kPipeline, kSharding}},
      {"qwen3_30b_a3b",
       "dgx_b200",
       "1",
       "8",
       "2048",
       "megatron_bridge_2025",
       {kMicroBatch, kContext, kRecompute, kSchedule, kTensor}},
      {"qwen3_1_7b",
       "h20_ib400",
       "1",
       "8",
       "4096",
       nullptr,
       {kRecompute, kMicroBatch, kSequenceParallel}},
  };
}

absl::StatusOr<pb::Scenario> Said(const StockPair& pair) {
  const auto set = [](const char* path, const char* value) {
    return std::string(path) + "=" + value;
  };
  std::vector<std::string> sets = {set("model.preset", pair.model),
                                   set("system.preset", pair.system),
                                   set("system.nodes", pair.nodes),
                                   set("training.global_batch", pair.batch),
                                   set("training.sequence", pair.sequence),
                                   "training.parallel.tensor=1",
                                   "training.parallel.pipeline=1",
                                   "training.parallel.data=",
                                   "training.parallel.sequence_parallel=false",
                                   "training.sharding=ZERO_1"};
  if (pair.framework != nullptr) {
    sets.push_back(set("framework.preset", pair.framework));
  }
  return MergeScenario(Catalog(), "quickstart", sets);
}

std::string NameOf(const StockPair& pair) {
  return std::string(pair.model) + " on " + pair.nodes + " " + pair.system;
}

constexpr double kNone = std::numeric_limits<double>::infinity();

// The step of a plan that fits, simulated on its own; infinite if it is refused
// or does not fit.
double StepOf(const pb::Scenario& said, const PlanChoice& choice,
              const Network& network) {
  pb::Scenario one = said;
  *one.mutable_training() = WithChoice(said.training(), choice);
  FillDefaults(&one);
  const auto scenario = MakeScenario(std::move(one));
  if (!scenario.ok()) return kNone;
  const auto run = RunScenario(*scenario, network, RunOptions{});
  if (!run.ok()) return kNone;
  const bool fits =
      MemoryNeeded(*scenario, run->memory) <= PlannedCapacity(scenario->system);
  return fits ? ToSeconds(run->result.end) : kNone;
}

struct Simulated {
  PlanChoice choice;
  double step_s;
};

// The fastest plan of the space that fits, after simulating all.
absl::StatusOr<Simulated> BestOfAll(const pb::Scenario& said,
                                    absl::Span<const PlanAxis> kept) {
  pb::Scenario filled = said;
  FillDefaults(&filled);
  ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                   MakeScenario(std::move(filled)));
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  const PlanSpace space(scenario.proto, scenario.model, scenario.system.chips(),
                        kept);
  std::vector<Simulated> plans;
  for (const KernelChoice& kernels : space.kernels()) {
    space.ForEach(kernels, [&](const PlanChoice& c) {
      plans.push_back({c, kNone});
    });
  }
  InParallel(plans.size(), [&](size_t i) {
    plans[i].step_s = StepOf(said, plans[i].choice, network);
  });
  return *std::min_element(plans.begin(), plans.end(),
                           [](const Simulated& a, const Simulated& b) {
                             return a.step_s < b.step_s;
                           });
}

// What is proved holds: no plan is faster than the bound, and where the best is
// called the best it is, to 1 %.
void ExpectHonest(const pb::Tuning& tuning, const Simulated& best) {
  ASSERT_GT(tuning.plans_size(), 0);
  const double step = tuning.plans(0).report().step_time_s();
  EXPECT_LE(tuning.bound_s(), best.step_s) << Describe(best.choice);
  EXPECT_LE(tuning.bound_s(), step);
  if (!tuning.proved()) return;
  EXPECT_LE(step * (1 - kProvedGap), best.step_s)
      << tuning.plans(0).description() << " is called the best, not "
      << Describe(best.choice);
}

TEST(TuneStock, SimulatingEveryPlanFindsNoneThatIsFaster) {
  const std::vector<StockPair> pairs = Pairs();
  const auto tried =
      static_cast<size_t>(Rounds(static_cast<int>(pairs.size())));
  int proved = 0;
  int open = 0;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  for (const StockPair& pair : absl::MakeSpan(pairs).subspan(0, tried)) {
    SCOPED_TRACE(NameOf(pair));
    ASSERT_OK_AND_ASSIGN(const pb::Scenario said, Said(pair));
    ASSERT_OK_AND_ASSIGN(const Simulated best, BestOfAll(said, pair.kept));
    ASSERT_LT(best.step_s, kNone);
    TuneOptions options;
    options.search.kept = pair.kept;
    ASSERT_OK_AND_ASSIGN(const pb::Tuning tuning, Tune(said, options));
    ExpectHonest(tuning, best);
    proved += tuning.proved();
    fewest = std::min(fewest, tuning.plans_considered());
    most = std::max(most, tuning.plans_considered());
    // With little to go by it may miss the best, but must say so.
    options.simulate = 1;
    ASSERT_OK_AND_ASSIGN(const pb::Tuning hasty, Tune(said, options));
    ExpectHonest(hasty, best);
    open += !hasty.proved();
  }
  // The plans of small spaces are all simulated that could be faster.
  EXPECT_EQ(proved, static_cast<int>(tried));
  if (tried < pairs.size()) return;
  EXPECT_GT(open, 5);
  // docs/search.md says so.
  EXPECT_EQ(tried, 25u);
  EXPECT_EQ(fewest, 16);
  EXPECT_EQ(most, 1520);
}

}  // namespace
}  // namespace orrery
