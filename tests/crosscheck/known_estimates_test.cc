// An estimator remembers units, spans, pipelines and prices of the plans it was
// asked for: none of it reaches a result.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "analytic/step/step_estimate.h"
#include "base/check.h"
#include "catalog/resolve.h"
#include "tests/catalog/presets.h"
#include "tests/workload/plan/plan_cases.h"
#include "tests/workload/plan/plans.h"

namespace orrery {
namespace {

using namespace std::chrono_literals;

// To the last bit.
void ExpectTheSame(const StepEstimate& got, const StepEstimate& want) {
  EXPECT_EQ(got.compute_s, want.compute_s);
  EXPECT_EQ(got.host_s, want.host_s);
  EXPECT_EQ(got.tensor_s, want.tensor_s);
  EXPECT_EQ(got.context_s, want.context_s);
  EXPECT_EQ(got.expert_s, want.expert_s);
  EXPECT_EQ(got.pipeline_s, want.pipeline_s);
  EXPECT_EQ(got.data_s, want.data_s);
  EXPECT_EQ(got.bubble_s, want.bubble_s);
  EXPECT_EQ(got.optimizer_s, want.optimizer_s);
  EXPECT_EQ(got.peak, want.peak);
  EXPECT_EQ(got.reserved, want.reserved);
  EXPECT_EQ(got.first_held, want.first_held);
  EXPECT_EQ(got.recomputed.value(), want.recomputed.value());
}

// Plans of the tests are made for 64 chips in nodes of 8, as these are.
System Machine() {
  const auto proto =
      ResolveSystem(Catalog(), "dgx_h100_ib400", {"system.nodes=8"});
  CHECK(proto.ok()) << proto.status().ToString();
  auto system = System::FromProto(*proto);
  CHECK(system.ok()) << system.status().ToString();
  return *std::move(system);
}

StepEstimator EstimatorOf(const Model& model, const System& system) {
  auto estimator =
      StepEstimator::Create(model, system, PresetKernels(system.chip().name()));
  CHECK(estimator.ok()) << estimator.status().ToString();
  return *std::move(estimator);
}

// Plans that share some of what is remembered and differ in the rest: each
// alone, and one after the other, there and back.
void ExpectNothingRemembered(const char* model) {
  const Framework kFrameworks[] = {
      {},
      {.dispatch = 20us},
      {.dispatch = 20us, .collective_check = 300us},
      {.dispatch = 20us, .blocking_launches = true},
      {.fusion = Fusion::kNone, .prunes_recomputation = true}};
  struct Change {
    const char* field;
    const char* value;
  };
  const Change kChanges[] = {{"micro_batch", "1"},
                             {"recompute", "RECOMPUTE_FULL"},
                             {"recompute", "RECOMPUTE_SELECTIVE"},
                             {"overlap_weight_gradient", "false"},
                             {"sequence", "2048"}};
  std::vector<TrainingCase> cases;
  for (const PlanCase& plan : kCommonPlans) {
    if (std::string(plan.model) != model) continue;
    for (const Change& change : kChanges) {
      const std::string said = std::string(" ") + plan.plan;
      const std::string field = std::string(" ") + change.field + ": ";
      if (said.find(field) != std::string::npos) continue;
      for (const Framework& framework : kFrameworks) {
        cases.push_back(MakeCase(said + field + change.value, /*nodes=*/8,
                                 model, framework));
      }
    }
  }
  ASSERT_GE(cases.size(), 100u);
  const std::vector<EstimateOptions> kOptions = {
      {}, {.waited = DimensionSet::All()}};
  const System system = Machine();
  StepEstimator knowing = EstimatorOf(cases[0].model, system);
  const auto ask = [&](const TrainingCase& c) {
    for (const EstimateOptions& options : kOptions) {
      ExpectTheSame(knowing.Estimate(c.plan, options),
                    EstimatorOf(c.model, system).Estimate(c.plan, options));
    }
  };
  for (size_t i = 0; i < cases.size(); ++i) ask(cases[i]);
  for (size_t i = cases.size(); i-- > 0;) ask(cases[i]);
}

TEST(KnownEstimates, OfDensePlansAreAsIfNothingWereKnown) {
  ExpectNothingRemembered(kCaseModel);
}

TEST(KnownEstimates, OfExpertPlansAreAsIfNothingWereKnown) {
  ExpectNothingRemembered(kCaseExperts);
}

}  // namespace
}  // namespace orrery
