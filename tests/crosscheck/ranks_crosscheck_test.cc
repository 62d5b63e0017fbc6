// Engine against closed form where passes do not tell all: hosts that run ahead
// of their chips, and ranks whose experts get more tokens than others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/format.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

constexpr double kOnEveryRank = 0.001;

ResolvedScenario ScenarioWith(const std::string& name,
                              std::vector<std::string> sets) {
  auto proto = ResolveScenario(Catalog(), name, sets);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

// What `check --serial --fidelity CLOSED_FORM` compares.
double CheckedRatio(const ResolvedScenario& scenario) {
  const auto run = RunScenario(scenario, {.fidelity = Fidelity::kClosedForm,
                                          .waited = DimensionSet::All(),
                                          .chip_sharing = false});
  CHECK(run.ok()) << run.status().ToString();
  const auto estimate =
      EstimateScenario(scenario, DimensionSet::All(), Others::kNone);
  CHECK(estimate.ok()) << estimate.status().ToString();
  return estimate->step_s() / ToSeconds(run->result.end);
}

// While weights are gathered and gradients reduced the host starts what comes
// after them; a pass that takes longer than its launches gives the host a lead
// for the next.
TEST(RanksCrosscheck, HostsRunAheadInBoth) {
  for (const char* framework : {"nanotron_2024", "megatron_deepspeed_2022"}) {
    for (const char* sharding : {"ZERO_0", "ZERO_1", "ZERO_2", "ZERO_3"}) {
      for (const char* schedule : {"GPIPE", "ONE_F_ONE_B", "ZB_H1", "ZB_V",
                                   "DUAL_PIPE", "INTERLEAVED_1F1B"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", framework, sharding, schedule));
        const bool pieces = std::string(schedule) == "ZB_V" ||
                            std::string(schedule) == "INTERLEAVED_1F1B";
        const ResolvedScenario scenario = ScenarioWith(
            "quickstart",
            {fmt::format("framework.preset={}", framework),
             "training.sequence=1024", "training.parallel.pipeline=4",
             "training.parallel.tensor=2", "training.parallel.data=4",
             fmt::format("training.sharding={}", sharding),
             fmt::format("training.schedule={}", schedule),
             fmt::format("training.virtual_stages={}", pieces ? 2 : 1)});
        EXPECT_NEAR(CheckedRatio(scenario), 1, kOnEveryRank);
      }
    }
  }
}

// Tensor groups of two on two nodes of three: {0, 1}, {2, 3}, {4, 5}. The
// second crosses nodes; whoever has the fullest expert, first or last, is in a
// fast one, and the slow one waits less for its own experts.
TEST(RanksCrosscheck, RanksHaveTheirOwnExpertsInBoth) {
  for (const char* load : {"training.expert_imbalance=3",
                           "training.expert_load=[1, 1, 1, 1, 1, 6]",
                           "training.expert_load=[3, 2, 1, 4, 1, 5]"}) {
    for (const char* sharding : {"ZERO_0", "ZERO_2", "ZERO_3"}) {
      for (const int expert_tensor : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} {} {}", load, sharding, expert_tensor));
        const ResolvedScenario scenario = ScenarioWith(
            "quickstart",
            {"model.preset=mixtral_8x7b", "model.layers=4",
             "model.moe.experts=6", "system.nodes=2", "system.chips_per_node=3",
             "system.scale_out.nics_per_node=3", "training.parallel.pipeline=1",
             "training.parallel.tensor=2", "training.parallel.data=3",
             fmt::format("training.parallel.expert={}", 6 / expert_tensor),
             fmt::format("training.parallel.expert_tensor={}", expert_tensor),
             fmt::format("training.sharding={}", sharding),
             "training.global_batch=12", "training.sequence=1024", load});
        EXPECT_NEAR(CheckedRatio(scenario), 1, kOnEveryRank);
      }
    }
  }
}

}  // namespace
}  // namespace orrery
