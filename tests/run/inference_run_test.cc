#include "run/inference_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "run/phase_ground.h"
#include "run/requests/inference_report.h"
#include "run/run_scenario.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"
#include "workload/model/kv_cache.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

using Sets = std::vector<std::string>;

// Random plans of small models on one node.
Sets RandomSets(Rng& rng) {
  const char* models[] = {"llama3_8b", "llama2_7b", "mixtral_8x7b",
                          "gpt_oss_20b", "gemma3_4b"};
  const char* engines[] = {"vllm",   "tensorrt_llm", "fastertransformer",
                           "sglang", "gpt_fast",     "nemo_trtllm_2023"};
  const int tensor = 1 << rng.Below(3);
  return {fmt::format("model.preset={}", models[rng.Below(5)]),
          fmt::format("inference.engine.preset={}", engines[rng.Below(6)]),
          fmt::format("inference.parallel.tensor={}", tensor),
          fmt::format("inference.batch={}", 8 * (1 + rng.Below(4))),
          fmt::format("inference.prompt={}", 64 * (1 + rng.Below(16))),
          "inference.output=33",
          fmt::format("inference.precision={}",
                      rng.Below(2) == 0 ? "BF16" : "FP8")};
}

absl::StatusOr<ResolvedScenario> Random(Rng& rng, const Sets& more = {}) {
  Sets sets = RandomSets(rng);
  sets.insert(sets.end(), more.begin(), more.end());
  return ScenarioWith("llama3_70b_fp8_serving", sets);
}

Duration StepAt(const ResolvedScenario& s, int64_t cached,
                const RunOptions& options = {}) {
  const absl::StatusOr<PhaseGrounds> grounds = PhaseGrounds::Make(s);
  EXPECT_THAT(grounds, IsOk());
  absl::StatusOr<InferenceSimulator> simulator = InferenceSimulator::Create(
      grounds->of(PassPurpose::kDecode), *s.inference());
  EXPECT_THAT(simulator, IsOk());
  const absl::StatusOr<Duration> time =
      simulator->StepTime(DecodePass(*s.inference(), cached), options);
  EXPECT_THAT(time, IsOk());
  return *time;
}

absl::StatusOr<InferenceRun> Request(const ResolvedScenario& s,
                                     bool every_token = false) {
  ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(s));
  return RunInference(grounds.of(PassPurpose::kPrefill),
                      grounds.of(PassPurpose::kDecode), *s.inference(),
                      {.every_token = every_token});
}

// The promise is 0.1 % of the time of decoding, and no more than is printed.
TEST(InferenceRun, FewStepsStandForEveryToken) {
  constexpr double kPromised = 1e-3;
  for (const char* model : {"llama3_8b", "gemma3_4b"}) {
    ASSERT_OK_AND_ASSIGN(
        const ResolvedScenario s,
        ScenarioWith("llama3_70b_fp8_serving",
                     {fmt::format("model.preset={}", model),
                      "inference.parallel.tensor=4", "inference.output=400",
                      "inference.prompt=700"}));
    ASSERT_OK_AND_ASSIGN(const InferenceRun few, Request(s));
    ASSERT_OK_AND_ASSIGN(const InferenceRun all, Request(s, true));
    EXPECT_LT(few.simulated_steps, all.simulated_steps / 4);
    const double off = ToSeconds(few.decode) / ToSeconds(all.decode) - 1;
    EXPECT_LE(std::abs(off), kPromised);
    EXPECT_LE(std::abs(off), few.integration_error + 1e-9);
    EXPECT_EQ(few.last_step, all.last_step);
  }
}

// Named after its file, valid, with a source for every constant it has.
TEST(InferenceRun, EveryEngineOfTheCatalogueServes) {
  const Catalog catalog;
  for (const std::string& name : catalog.Names("engines")) {
    ASSERT_OK_AND_ASSIGN(const pb::Engine engine, catalog.Engine(name));
    EXPECT_EQ(engine.name(), name);
    EXPECT_FALSE(engine.description().empty());
    std::string cited;
    for (const pb::Source& source : engine.source()) cited += source.covers();
    std::vector<const google::protobuf::FieldDescriptor*> set;
    engine.GetReflection()->ListFields(engine, &set);
    for (const auto* field : set) {
      const std::string& constant = field->name();
      if (constant == "name" || constant == "description" ||
          constant == "source") {
        continue;
      }
      EXPECT_THAT(cited, testing::HasSubstr(constant)) << name;
    }
    EXPECT_THAT(ScenarioWith("llama2_70b_inference",
                             {"inference.engine.preset=" + name}),
                IsOk());
  }
}

TEST(InferenceRun, OneChunkIsAPlainPrefill) {
  Rng rng(1, "inference chunks");
  for (int i = 0; i < 4; ++i) {
    Rng again = rng;
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario plain, Random(rng));
    ASSERT_OK_AND_ASSIGN(
        const ResolvedScenario chunked,
        Random(again, {fmt::format("inference.prefill_chunk={}",
                                   plain.inference()->prompt())}));
    ASSERT_OK_AND_ASSIGN(const InferenceRun a, Request(plain));
    ASSERT_OK_AND_ASSIGN(const InferenceRun b, Request(chunked));
    EXPECT_EQ(a.prefill, b.prefill);
  }
}

// Arithmetic of linear layers and attention is the same however a prompt is
// cut; only the head, which every chunk ends with, is repeated.
TEST(InferenceRun, ChunksDoNotChangeTheArithmetic) {
  const auto flops = [](int chunk) {
    absl::StatusOr<ResolvedScenario> s = ScenarioWith(
        "llama3_70b_fp8_serving",
        {"model.preset=llama3_8b", "inference.batch=8", "inference.prompt=1024",
         fmt::format("inference.prefill_chunk={}", chunk)});
    EXPECT_THAT(s, IsOk());
    const InferencePlan& plan = *s->inference();
    double sum = 0;
    for (const InferencePass& pass : PrefillPasses(plan)) {
      const LayerShape shape = ShapeOf(plan, pass);
      for (int layer = 0; layer < s->model.layers(); ++layer) {
        sum +=
            SumModelFlops(BuildLayer(s->model, layer, shape).forward).value();
      }
    }
    return sum;
  };
  EXPECT_NEAR(flops(128) / flops(1024), 1, 1e-9);
  EXPECT_NEAR(flops(512) / flops(1024), 1, 1e-9);
}

// Weights of the layers and cache, over the bandwidth: no step beats it.
TEST(InferenceRun, NoStepBeatsStreamingAndNoneShrinks) {
  Rng rng(2, "inference steps");
  for (int i = 0; i < 12; ++i) {
    Rng again = rng;
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario s, Random(rng));
    const InferencePlan& plan = *s.inference();
    Duration before{};
    for (const int64_t cached : {64, 500, 501, 2000, 8000}) {
      const Duration step = StepAt(s, cached);
      EXPECT_GE(step, before) << s.proto.inference().DebugString();
      before = step;
    }
    if (!s.model.moe()) {
      const std::vector<Stage> stages = CutStages(s.model, plan.decode());
      const Stage layers{.first_layer = 0, .layers = s.model.layers()};
      const double bytes =
          static_cast<double>(
              StageWeights(s.model, plan, plan.decode(), layers).value()) +
          static_cast<double>(plan.batch() / plan.decode().degrees.data) *
              static_cast<double>(
                  KvCacheBytes(s.model, 8000, Bits(plan.kv_precision()))
                      .value()) /
              plan.decode().degrees.tensor;
      EXPECT_GE(ToSeconds(before),
                bytes / s.system.chip().memory_bandwidth().value());
    }
    ASSERT_OK_AND_ASSIGN(
        const ResolvedScenario twice,
        Random(again, {fmt::format("inference.batch={}", 2 * plan.batch())}));
    EXPECT_GE(StepAt(twice, 8000), before);
  }
}

// Halves that take turns are put one after the other too.
TEST(InferenceRun, HalvesWithoutOverlapAreTheClosedForm) {
  ASSERT_OK_AND_ASSIGN(
      const ResolvedScenario s,
      ScenarioWith("deepseek_v3_pools", {"inference.output=2"}));
  for (const InferencePart part :
       {InferencePart::kDecodeStep, InferencePart::kPrefill}) {
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunScenario(s, {.part = part,
                                         .fidelity = Fidelity::kClosedForm,
                                         .waited = DimensionSet::All(),
                                         .chip_sharing = false}));
    ASSERT_OK_AND_ASSIGN(
        const StepEstimate estimate,
        EstimateScenario(s, DimensionSet::All(), Others::kNone, part));
    EXPECT_NEAR(estimate.step_s() / ToSeconds(run.result.end), 1, 1e-3);
  }
}

TEST(InferenceRun, MoreBandwidthIsNeverSlower) {
  Rng rng(3, "inference bandwidth");
  for (int i = 0; i < 6; ++i) {
    Rng again = rng;
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario s, Random(rng));
    ASSERT_OK_AND_ASSIGN(
        const ResolvedScenario better,
        Random(again, {"system.chip.memory_bandwidth=4.8 TB/s"}));
    EXPECT_LE(StepAt(better, 1000), StepAt(s, 1000));
  }
}

// One part in four stages keeps each busy for a quarter of the time; four parts
// keep all of them busy, also in a step that fills and drains them when it runs
// by itself.
TEST(InferenceRun, BusyStagesDrawMoreThanIdleOnes) {
  const auto watts = [](int parts) {
    const absl::StatusOr<ResolvedScenario> s = ScenarioWith(
        "llama3_70b_fp8_serving",
        {"model.preset=llama3_8b", "inference.parallel.tensor=1",
         "inference.batch=64", "inference.output=8", "system.chips_per_node=4",
         "inference.parallel.pipeline=4",
         fmt::format("inference.micro_batches={}", parts)});
    EXPECT_THAT(s, IsOk());
    const absl::StatusOr<pb::Report> report = ReportInference(*s, {});
    EXPECT_THAT(report, IsOk());
    EXPECT_LE(report->energy().chip_watts(), s->system.chip().power()->value());
    return report->energy().chip_watts();
  };
  EXPECT_GT(watts(4), 1.3 * watts(1));
}

TEST(InferenceRun, FoldedIsUnfolded) {
  Rng rng(4, "inference folding");
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario s, Random(rng));
    EXPECT_EQ(StepAt(s, 777), StepAt(s, 777, {.fold = false}))
        << s.proto.inference().DebugString();
  }
}

// Nothing overlaps, and the network is on paper: what is left are sums.
TEST(InferenceRun, WithoutOverlapItIsTheClosedForm) {
  constexpr double kAgreement = 1e-3;
  Rng rng(5, "inference closed form");
  for (int i = 0; i < 16; ++i) {
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario s, Random(rng));
    for (const InferencePart part :
         {InferencePart::kDecodeStep, InferencePart::kPrefill}) {
      ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                           RunScenario(s, {.part = part,
                                           .fidelity = Fidelity::kClosedForm,
                                           .waited = DimensionSet::All(),
                                           .chip_sharing = false}));
      ASSERT_OK_AND_ASSIGN(
          const StepEstimate estimate,
          EstimateScenario(s, DimensionSet::All(), Others::kNone, part));
      EXPECT_NEAR(estimate.step_s() / ToSeconds(run.result.end), 1, kAgreement)
          << s.proto.inference().DebugString() << s.model.name();
      EXPECT_EQ(run.breakdown.total(), run.result.end - Time{});
    }
  }
}

}  // namespace
}  // namespace orrery
