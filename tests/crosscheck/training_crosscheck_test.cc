// Engine against closed form, and folded against unfolded, on real links.
#include <gtest/gtest.h>

#include <cmath>

#include "analytic/step_estimate.h"
#include "catalog/resolve.h"
#include "sim/training_step.h"
#include "tests/status_matchers.h"
#include "tests/workload/plans.h"

namespace orrery {
namespace {

struct Case {
  const char* name;
  const char* plan;
  const char* model;
};
constexpr Case kCases[] = {
    {"tensor", "parallel { tensor: 8 }", kCaseModel},
    {"sequence", "parallel { tensor: 8 sequence_parallel: true }", kCaseModel},
    {"ulysses", "parallel { context: 8 } context_method: CONTEXT_ULYSSES",
     kCaseModel},
    {"context gather",
     "parallel { context: 8 } context_method: CONTEXT_ALL_GATHER", kCaseModel},
    {"context ring", "parallel { context: 8 }", kCaseModel},
    {"zero 0", "sharding: ZERO_0", kCaseModel},
    {"zero 1", "sharding: ZERO_1", kCaseModel},
    {"expert", "parallel { expert: 8 }", kCaseExperts},
    {"pipeline", "parallel { pipeline: 8 }", kCaseModel},
    {"zero 2", "sharding: ZERO_2", kCaseModel},
    {"zero 3", "sharding: ZERO_3", kCaseModel},
    {"zero 2 accumulated", "sharding: ZERO_2 accumulate_locally: true",
     kCaseModel},
    {"zero 3 not resharded", "sharding: ZERO_3 reshard_after_forward: false",
     kCaseModel},
    {"tensor pipeline",
     "parallel { tensor: 4 pipeline: 4 sequence_parallel: true }", kCaseModel},
    {"interleaved",
     "parallel { tensor: 2 pipeline: 4 } schedule: INTERLEAVED_1F1B "
     "virtual_stages: 2",
     kCaseModel},
    {"five",
     "parallel { tensor: 2 context: 2 pipeline: 4 expert: 4 "
     "sequence_parallel: true } recompute: RECOMPUTE_SELECTIVE",
     kCaseExperts},
};

// 64 H100: the machine of the catalogue under the plans of the tests.
TrainingCase Make(const Case& c) {
  TrainingCase made = MakeCase(c.plan, 8, c.model);
  auto proto = ResolveSystem(Catalog(), "dgx_h100_ib400", {"system.nodes=8"});
  CHECK(proto.ok()) << proto.status().ToString();
  auto system = System::FromProto(*proto);
  CHECK(system.ok()) << system.status().ToString();
  made.system = *std::move(system);
  return made;
}

TrainingRun RunCase(const TrainingCase& c, const TrainingOptions& options) {
  auto run = RunTrainingStep(c.model, c.system, c.plan, options);
  CHECK(run.ok()) << run.status().ToString();
  return *std::move(run);
}

TEST(TrainingCrosscheck, FoldedRunsOverLinksEqualUnfoldedOnes) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const TrainingCase made = Make(c);
    const TrainingRun folded = RunCase(made, {.fold = true});
    const TrainingRun whole = RunCase(made, {.fold = false});
    EXPECT_EQ(folded.result.end, whole.result.end);
    EXPECT_EQ(folded.memory.peak.total, whole.memory.peak.total);
  }
}

// Nothing overlaps and nothing shares: what is left are sums.
TEST(TrainingCrosscheck, WithoutOverlapTheClosedFormAgrees) {
  constexpr double kExact = 0.001;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const TrainingCase made = Make(c);
    const TrainingRun run =
        RunCase(made, {.fidelity = Fidelity::kClosedForm, .serial = true});
    auto estimator = StepEstimator::Create(made.model, made.system);
    ASSERT_OK(estimator.status());
    const double estimate =
        estimator->Estimate(made.plan, {.overlap = false}).step_s();
    const double simulated = ToSeconds(run.result.end);
    EXPECT_NEAR(estimate / simulated, 1, kExact);
  }
}

TEST(TrainingCrosscheck, EveryRunLiesWithinItsBoundsAndAddsUp) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const TrainingRun run = RunCase(Make(c), {});
    EXPECT_TRUE(run.bounds.Hold(run.result.end));
    EXPECT_EQ(run.breakdown.total(), run.result.end.time_since_epoch());
  }
}

// Peak memory of the closed form: the schedule's count of activations.
TEST(TrainingCrosscheck, PeakMemoryAgrees) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const TrainingCase made = Make(c);
    const TrainingRun run = RunCase(made, {});
    auto estimator = StepEstimator::Create(made.model, made.system);
    ASSERT_OK(estimator.status());
    const Bytes reserved = made.system.chip().calibration().reserved_memory;
    const double estimate = static_cast<double>(
        (estimator->Estimate(made.plan).peak - reserved).value());
    const double simulated = static_cast<double>(run.memory.peak.total.value());
    // Uneven pieces (embedding, head) are averaged by the closed form.
    constexpr double kUneven = 0.05;
    EXPECT_NEAR(estimate / simulated, 1, kUneven);
  }
}

}  // namespace
}  // namespace orrery
