// Steps of an inference engine through the stages of a pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analytic/inference/inference_estimate.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/run_scenario.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Sets = std::vector<std::string>;

ResolvedScenario Piped(const Sets& sets) {
  absl::StatusOr<ResolvedScenario> scenario =
      ScenarioWith("llama3_70b_fp8_serving", sets);
  EXPECT_THAT(scenario, IsOk());
  return *std::move(scenario);
}

Duration PipedStep(const ResolvedScenario& s, const InferencePass& pass,
                   const RunOptions& options = {}) {
  const absl::StatusOr<PhaseGrounds> grounds = PhaseGrounds::Make(s);
  EXPECT_THAT(grounds, IsOk());
  absl::StatusOr<InferenceSimulator> simulator =
      InferenceSimulator::Create(grounds->of(pass.purpose), *s.inference());
  EXPECT_THAT(simulator, IsOk());
  const absl::StatusOr<Duration> time = simulator->StepTime(pass, options);
  EXPECT_THAT(time, IsOk());
  return *time;
}

Duration PipedDecode(const ResolvedScenario& s, int64_t cached) {
  return PipedStep(s, DecodePass(*s.inference(), cached));
}

// Four stages of the same layers: a token passes all of them, so that its way
// takes as long as on one, and three sends more.
TEST(Pipeline, DoesNotShortenTheWayOfAToken) {
  const Sets one = {"model.preset=llama3_8b", "inference.parallel.tensor=1",
                    "inference.batch=8"};
  Sets whole = one;
  whole.push_back("system.chips_per_node=1");
  Sets piped = one;
  piped.push_back("system.chips_per_node=4");
  piped.push_back("inference.parallel.pipeline=4");
  const double alone = ToSeconds(PipedDecode(Piped(whole), 1000));
  const double way = ToSeconds(PipedDecode(Piped(piped), 1000));
  EXPECT_GT(way, alone);
  EXPECT_LT(way, 1.1 * alone);
}

// 16 prompts in four steps through four stages: each step but the first adds
// what a stage takes, a quarter of its way, and a little where stages differ
// (embedding, head). So many steps on one chip take four times as long each.
TEST(Pipeline, StepsOfPromptsFollowOneAnother) {
  const auto prefill = [](int prompts) {
    const ResolvedScenario s = Piped(
        {"model.preset=llama3_8b", "inference.parallel.tensor=1",
         "inference.batch=" + std::to_string(prompts), "inference.prompt=2048",
         "inference.engine.request_overhead=0 us", "system.chips_per_node=4",
         "inference.parallel.pipeline=4", "inference.output=2"});
    EXPECT_EQ(PrefillPasses(*s.inference()).size(),
              static_cast<size_t>(prompts / 4));
    const absl::StatusOr<PhaseGrounds> grounds = PhaseGrounds::Make(s);
    EXPECT_THAT(grounds, IsOk());
    const TrainingGround on = grounds->of(PassPurpose::kPrefill);
    const absl::StatusOr<InferenceRun> run =
        RunInference(on, on, *s.inference(), {});
    EXPECT_THAT(run, IsOk());
    auto estimator =
        InferenceEstimator::Create(on.model, on.system, on.kernels);
    EXPECT_THAT(estimator, IsOk());
    const double seconds = ToSeconds(run->prefill);
    EXPECT_NEAR(estimator->PrefillSeconds(*s.inference()) / seconds, 1, 0.01);
    return seconds;
  };
  const double one = prefill(4);
  const double four = prefill(16);
  EXPECT_GT(four, (1 + 3 * 0.25) * one);
  EXPECT_LT(four, (1 + 3 * 0.32) * one);
}

// Parts that follow one another through stages, whatever the host does
// meanwhile: sums of the closed form are those of a serial run.
TEST(Pipeline, IsTheClosedFormWithoutOverlap) {
  constexpr double kAgreement = 1e-3;
  const RunOptions serial{.fidelity = Fidelity::kClosedForm,
                          .waited = DimensionSet::All(),
                          .chip_sharing = false};
  for (const std::string& engine : Catalog().Names("engines")) {
    for (const int parts : {1, 3, 4}) {
      const ResolvedScenario s =
          Piped({"model.preset=llama3_8b", "inference.engine.preset=" + engine,
                 "inference.parallel.tensor=2", "inference.parallel.pipeline=4",
                 "inference.batch=24", "inference.prompt=300",
                 "inference.micro_batches=" + std::to_string(parts)});
      const InferencePlan& plan = *s.inference();
      const absl::StatusOr<PhaseGrounds> grounds = PhaseGrounds::Make(s);
      ASSERT_THAT(grounds, IsOk());
      const TrainingGround on = grounds->of(PassPurpose::kDecode);
      ASSERT_OK_AND_ASSIGN(InferenceSimulator simulator,
                           InferenceSimulator::Create(on, plan));
      ASSERT_OK_AND_ASSIGN(
          InferenceEstimator estimator,
          InferenceEstimator::Create(on.model, on.system, on.kernels,
                                     OthersAt(serial.fidelity)));
      for (const InferencePass& pass :
           {PrefillPasses(plan)[0], DecodePass(plan, 1000)}) {
        ASSERT_OK_AND_ASSIGN(const Duration step,
                             simulator.StepTime(pass, serial));
        const double formula =
            estimator.Step(plan, pass, {.waited = serial.waited}).step_s();
        EXPECT_NEAR(formula / ToSeconds(step), 1, kAgreement)
            << engine << " " << parts;
      }
    }
  }
}

// With as many parts as stages all stages are busy: a round takes as long as
// the slowest stage takes for all parts, and not the sum over stages for each.
TEST(Pipeline, PartsFillTheStages) {
  const auto step = [](int parts) {
    return ToSeconds(PipedDecode(
        Piped({"model.preset=llama3_8b", "inference.parallel.tensor=1",
               "inference.batch=64", "system.chips_per_node=4",
               "inference.parallel.pipeline=4",
               "inference.micro_batches=" + std::to_string(parts)}),
        1000));
  };
  const double one = step(1);
  const double four = step(4);
  // Four parts of 16 read the weights of each stage four times, one after the
  // other: a round is no longer than one batch of 64 on its way, and brings the
  // same tokens.
  EXPECT_LT(four, 1.1 * one);
  EXPECT_GT(four, 0.7 * one);
}

// A host that takes 1 ms and 5 us for each of 200 sequences between steps,
// while the chips go on (2 ms), and one that takes next to nothing. Chips are
// no faster for the first: a step in a row of them takes what its stages take
// for all parts, or what the host takes, and a larger batch is never faster.
TEST(Pipeline, IsNoShorterThanItsStagesWhateverTheHostDoes) {
  const auto step = [](int batch, const std::string& each) {
    const ResolvedScenario s =
        Piped({"model.preset=llama3_8b", "inference.engine.preset=sglang",
               "inference.engine.sequence_overhead=" + each,
               "inference.parallel.tensor=4", "inference.parallel.pipeline=2",
               "inference.batch=" + std::to_string(batch),
               "inference.prompt=16", "inference.micro_batches=4"});
    return PipedStep(s, DecodePass(*s.inference(), 16));
  };
  Duration before{0};
  for (const int batch : {40, 80, 120, 160, 200, 240, 400}) {
    const Duration busy = step(batch, "5 us");
    EXPECT_GE(busy, step(batch, "0 us")) << batch;
    EXPECT_GE(busy, std::chrono::microseconds(1000 + 5 * batch)) << batch;
    EXPECT_GE(busy, before) << batch;
    before = busy;
  }
}

}  // namespace
}  // namespace orrery
