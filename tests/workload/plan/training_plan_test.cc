#include "workload/plan/training_plan.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "proto/inference.pb.h"
#include "proto/training.pb.h"
#include "tests/status_matchers.h"
#include "tests/topology/machine/protos.h"
#include "tests/workload/model/models.h"
#include "workload/plan/divisors.h"
#include "workload/plan/inference_plan.h"
#include "workload/plan/waited_exchanges.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// 24 layers, 32 heads (8 of keys and values), hidden 4096, MLP 12288; and one
// like it with 16 experts.
Model Dense() {
  return MakeModel(kSmallDense,
                   "name: 'dense' layers: 24 hidden: 4096 mlp { width: 12288 } "
                   "attention { heads: 32 kv_heads: 8 head_dimension: 128 }");
}
Model Experts() {
  return MakeModel(
      kSmallDense,
      "name: 'experts' layers: 24 hidden: 4096 mlp { width: 12288 } "
      "attention { heads: 32 kv_heads: 8 head_dimension: 128 } "
      "moe { experts: 16 experts_per_token: 2 expert_width: 2048 "
      "activation: SWIGLU }");
}
// 16 chips.
System Machine() {
  auto system = System::FromProto(With(TestSystem(), "nodes: 2"));
  CHECK(system.ok()) << system.status().ToString();
  return *std::move(system);
}

constexpr char kTraining[] = R"(
  global_batch: 64 micro_batch: 1 sequence: 4096 precision: BF16
  gradient_precision: FP32 schedule: ONE_F_ONE_B virtual_stages: 1
  sharding: ZERO_1 recompute: RECOMPUTE_NONE attention_kernel: FLASH
  bucket: "40 MB" context_method: CONTEXT_RING
  parallel { tensor: 2 context: 1 pipeline: 2 data: 4 expert: 1
             expert_tensor: 1 })";

// The plan above with some fields changed, given as textproto.
absl::StatusOr<TrainingPlan> MakePlan(const std::string& changes,
                                      bool moe = false) {
  pb::Training proto, over;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kTraining, &proto));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(changes, &over))
      << changes;
  proto.MergeFrom(over);
  return TrainingPlan::FromProto(proto, moe ? Experts() : Dense(), Machine());
}

std::string Refusal(const std::string& changes, bool moe = false) {
  const absl::StatusOr<TrainingPlan> plan = MakePlan(changes, moe);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument)
      << changes;
  return std::string(plan.status().message());
}

TEST(TrainingPlan, ALegalPlanIsReadWhole) {
  ASSERT_OK_AND_ASSIGN(const TrainingPlan plan, MakePlan(""));
  EXPECT_EQ(plan.degrees().ranks(), 16);
  EXPECT_EQ(plan.micro_batches(), 16);  // 64 / (1 x 4)
  EXPECT_THAT(plan.layout().layers_per_stage, ElementsAre(12, 12));
  EXPECT_EQ(plan.sharding(), Sharding::kOptimizer);
  EXPECT_EQ(plan.layout().sharding_group, 4);
  EXPECT_EQ(plan.precision(), DType::kBf16);
}

TEST(TrainingPlan, DegreesMustFillTheChips) {
  EXPECT_EQ(Refusal("parallel { data: 8 } global_batch: 64"),
            "training.parallel.data: tensor 2 x context 1 x pipeline 2 x data "
            "8 = 32 ranks, but the system has 16 chips; data would be 4");
  EXPECT_THAT(Refusal("parallel { pipeline: 3 }"),
              HasSubstr("tensor 2 x context 1 x pipeline 3 = 6 does not divide "
                        "the system's 16 chips; the product could be 4 or 8"));
  // One mistake, one line: the product is not held against the chips.
  EXPECT_EQ(Refusal("parallel { tensor: 0 }"),
            "training.parallel.tensor: 0 is not between 1 and 1048576");
}

TEST(TrainingPlan, TensorRanksShareHeadsAndWidths) {
  EXPECT_THAT(Refusal("parallel { tensor: 3 }"),
              AllOf(HasSubstr("3 must divide 32, the attention heads; nearest: "
                              "2 or 4"),
                    HasSubstr("key-value heads")));
  // 16 is more than the 8 key-value heads, which are then copied.
  EXPECT_OK(MakePlan("parallel { tensor: 16 pipeline: 1 data: 1 }"));
}

TEST(TrainingPlan, TheBatchIsAWholeNumberOfMicroBatches) {
  EXPECT_EQ(Refusal("global_batch: 66"),
            "training.global_batch: 66 must be a multiple of micro_batch x "
            "data = 1 x 4; nearest: 64 or 68");
}

TEST(TrainingPlan, LayersAreSpreadEvenlyOrAsSaid) {
  EXPECT_THAT(Refusal("schedule: INTERLEAVED_1F1B virtual_stages: 5"),
              HasSubstr("pipeline 2 x virtual_stages 5 must divide the 24 "
                        "layers"));
  ASSERT_OK_AND_ASSIGN(const TrainingPlan plan,
                       MakePlan("layers_per_stage: [11, 13]"));
  EXPECT_THAT(plan.layout().layers_per_stage, ElementsAre(11, 13));
  EXPECT_THAT(Refusal("layers_per_stage: [11, 12]"),
              HasSubstr("sums to 23; must sum to the model's 24 layers"));
  EXPECT_THAT(Refusal("layers_per_stage: [24]"),
              HasSubstr("has 1 entries; write pipeline x virtual_stages = 2"));
  EXPECT_THAT(Refusal("layers_per_stage: [-1, 25]"), HasSubstr("-1"));
}

TEST(TrainingPlan, OnlyTheEndsMayBeWithoutLayers) {
  const std::string four = "schedule: INTERLEAVED_1F1B virtual_stages: 2 ";
  ASSERT_OK_AND_ASSIGN(const TrainingPlan plan,
                       MakePlan(four + "layers_per_stage: [0, 12, 12, 0]"));
  EXPECT_THAT(plan.layout().layers_per_stage, ElementsAre(0, 12, 12, 0));
  EXPECT_THAT(Refusal(four + "layers_per_stage: [12, 0, 12, 0]"),
              HasSubstr("training.layers_per_stage[1]: 0: only the first"));
}

TEST(TrainingPlan, FormatsOfKeptTensorsAreNoWiderThanComputed) {
  ASSERT_OK_AND_ASSIGN(
      const TrainingPlan plan,
      MakePlan("moment_precision: BF16 "
               "keep_as { tensor: ACTIVATION_INPUT precision: FP8 }"));
  EXPECT_EQ(plan.moment_precision(), DType::kBf16);
  EXPECT_EQ(plan.kept_formats().activation_input, DType::kFp8);
  EXPECT_EQ(plan.kept_formats().linear_input, std::nullopt);
  EXPECT_THAT(Refusal("keep_as { tensor: LINEAR_INPUT precision: FP32 }"),
              HasSubstr("training.keep_as[0].precision: FP32 has more than the "
                        "16 bits"));
  EXPECT_THAT(Refusal("keep_as { tensor: LINEAR_INPUT precision: FP8 } "
                      "keep_as { tensor: LINEAR_INPUT precision: FP8 }"),
              HasSubstr("training.keep_as[1].tensor: is listed twice"));
  EXPECT_THAT(Refusal("routing_weight: WEIGHT_ON_ACTIVATION"),
              HasSubstr("has no experts"));
}

TEST(TrainingPlan, RoutingHistogramsHaveAnEntryPerExpert) {
  EXPECT_THAT(Refusal("expert_load: [1, 2]", true),
              HasSubstr("training.expert_load: has 2 entries"));
  EXPECT_THAT(Refusal("expert_load: [1, -2]", true),
              HasSubstr("training.expert_load[1]: -2 must be from 0"));
  EXPECT_THAT(Refusal("expert_load: [0, 0]", true),
              HasSubstr("some expert must get tokens"));
  EXPECT_THAT(Refusal("expert_load: 1 expert_imbalance: 2", true),
              HasSubstr("is set beside expert_imbalance"));
  for (const char* field :
       {"expert_load: 1", "expert_imbalance: 2", "dispatch_precision: FP8",
        "dispatch_method: DISPATCH_BY_NODE",
        "recompute: RECOMPUTE_PER_MODULE recompute_module: MOE"}) {
    EXPECT_THAT(Refusal(field), HasSubstr("has no experts"));
  }
  EXPECT_THAT(Refusal("recompute: RECOMPUTE_PER_MODULE recompute_module: "
                      "MLA_UP_PROJECTION"),
              HasSubstr("has no latent attention"));
}

// A call in line is waited for; kernels on a stream of their own are not, nor
// what a schedule runs beside another micro-batch.
TEST(TrainingPlan, WaitsForTokensThatGoAllToAll) {
  const auto waits = [](const std::string& changes) {
    const auto plan = MakePlan(changes, /*moe=*/true);
    CHECK(plan.ok()) << plan.status().ToString();
    return WaitedExchanges(*plan, DimensionSet().With(Dimension::kData));
  };
  const DimensionSet data = DimensionSet().With(Dimension::kData);
  EXPECT_EQ(waits("parallel { tensor: 1 data: 8 expert: 4 }"),
            data.With(Dimension::kExpert));
  EXPECT_EQ(waits("parallel { tensor: 1 data: 8 expert: 4 } "
                  "dispatch_method: DISPATCH_BY_NODE"),
            data);
  EXPECT_EQ(waits("parallel { tensor: 1 data: 8 expert: 4 } "
                  "schedule: DUAL_PIPE"),
            data);
  EXPECT_EQ(waits("parallel { tensor: 1 data: 8 }"), data);
}

TEST(TrainingPlan, MapsGiveEveryChipOneRank) {
  EXPECT_THAT(Refusal("parallel { rank_map: [0, 1] }"),
              HasSubstr("training.parallel.rank_map: has 2 entries; write one "
                        "for each of the 16 chips"));
  std::string map = "parallel { rank_map: [1, 1, 99";
  for (int rank = 3; rank < 16; ++rank) map += fmt::format(", {}", rank);
  EXPECT_THAT(Refusal(map + "] }"),
              AllOf(HasSubstr("training.parallel.rank_map[1]: chip 1 has rank "
                              "0 already"),
                    HasSubstr("training.parallel.rank_map[2]: there is no chip "
                              "99; they are 0 to 15")));
}

TEST(TrainingPlan, ShardingOptionsNeedTheirStage) {
  EXPECT_THAT(Refusal("sharding: ZERO_1 accumulate_locally: true"),
              HasSubstr("training.accumulate_locally: is about sharded"));
  EXPECT_THAT(Refusal("sharding: ZERO_2 reshard_after_forward: false"),
              HasSubstr("training.reshard_after_forward: is about sharded"));
  EXPECT_THAT(Refusal("sharding: ZERO_2 overlap_backward_gather: false"),
              HasSubstr("training.overlap_backward_gather: is about sharded"));
  EXPECT_THAT(Refusal("sharding: ZERO_3 reshard_after_forward: false "
                      "overlap_backward_gather: false"),
              HasSubstr("needs reshard_after_forward: true"));
}

TEST(TrainingPlan, SchedulesHaveTheirConditions) {
  EXPECT_THAT(Refusal("virtual_stages: 2"), HasSubstr("INTERLEAVED_1F1B"));
  EXPECT_THAT(Refusal("schedule: INTERLEAVED_1F1B"), HasSubstr("2 or more"));
  EXPECT_THAT(Refusal("schedule: INTERLEAVED_1F1B virtual_stages: 2 "
                      "global_batch: 12"),
              HasSubstr("multiples of the 2 stages, and a replica has 3; "
                        "nearest: 2 or 4"));
  EXPECT_THAT(Refusal("schedule: ZB_V"), HasSubstr("ZB_V has 2 per rank"));
  EXPECT_OK(MakePlan("schedule: ZB_V virtual_stages: 2"));
  EXPECT_OK(MakePlan("schedule: DUAL_PIPE"));
  EXPECT_THAT(Refusal("schedule: DUAL_PIPE global_batch: 8"),
              HasSubstr("at least twice the 2 stages; a replica has 2"));
}

TEST(TrainingPlan, SequencesAreCutIntoWholeChunks) {
  EXPECT_OK(MakePlan("parallel { context: 4 data: 1 }"));
  EXPECT_THAT(Refusal("parallel { context: 4 data: 1 } sequence: 4100"),
              HasSubstr("8 chunks, which must divide its 4100 tokens"));
  EXPECT_THAT(Refusal("parallel { sequence_parallel: true } sequence: 4097"),
              HasSubstr("sequence_parallel"));
  // 32 heads / tensor 16 leaves 2 for context 8.
  EXPECT_THAT(Refusal("parallel { tensor: 16 context: 8 } "
                      "context_method: CONTEXT_ULYSSES"),
              HasSubstr("CONTEXT_ULYSSES splits the 2 heads"));
}

TEST(TrainingPlan, ExpertsNeedAModelThatHasThem) {
  EXPECT_THAT(
      Refusal("parallel { expert: 4 }"),
      HasSubstr("training.parallel.expert: 4, but dense has no experts"));
  // Each tensor rank has tokens of its own, so experts need not be cut.
  ASSERT_OK_AND_ASSIGN(
      const TrainingPlan plan,
      MakePlan("parallel { expert: 4 sequence_parallel: true }", true));
  EXPECT_EQ(plan.degrees().expert_data(), 2);  // 2 x 1 x 4 / 4
  EXPECT_THAT(Refusal("parallel { expert: 5 }", true),
              AllOf(HasSubstr("5 must divide 16, the number of experts; "
                              "nearest: 4 or 8"),
                    HasSubstr("must divide the 8 ranks of a stage")));
  EXPECT_THAT(Refusal("parallel { expert: 4 }", true),
              HasSubstr("expert_tensor: 1, but tensor is 2"));
  EXPECT_THAT(Refusal("expert_imbalance: 17", true), HasSubstr("17"));
}

// They are layers of a stage.
TEST(TrainingPlan, NoStageRecomputesMoreLayersThanItHas) {
  const std::string full = "recompute: RECOMPUTE_FULL recompute_layers: ";
  EXPECT_THAT(
      Refusal("parallel { pipeline: 2 } " + full + "13"),
      HasSubstr("training.recompute_layers: 13 is not between 1 and 12"));
}

TEST(TrainingPlan, PrecisionMustExistOnTheChip) {
  EXPECT_THAT(Refusal("precision: FP4"),
              HasSubstr("round has no FP4 units; it has BF16, FP8"));
}

TEST(TrainingPlan, RecomputeModulesAndTheirModeGoTogether) {
  EXPECT_THAT(Refusal("recompute: RECOMPUTE_PER_MODULE"),
              HasSubstr("at least one module"));
  EXPECT_THAT(Refusal("recompute_module: MLP"),
              HasSubstr("RECOMPUTE_PER_MODULE"));
  ASSERT_OK_AND_ASSIGN(const TrainingPlan selective,
                       MakePlan("recompute: RECOMPUTE_SELECTIVE"));
  EXPECT_TRUE(selective.recomputed_modules().Has(Module::kAttentionCore));
  EXPECT_FALSE(selective.recomputed_modules().Has(Module::kMlp));
}

TEST(TrainingPlan, EveryMistakeIsReportedAtOnce) {
  const std::string refusal = Refusal(
      "global_batch: 66 parallel { tensor: 3 expert: 2 } precision: FP4 "
      "virtual_stages: 0 bucket: \"40\" sharding_group: 3");
  for (const char* path :
       {"training.global_batch: ", "training.parallel.tensor: ",
        "training.parallel.expert: ", "training.precision: ",
        "training.virtual_stages: ", "training.bucket: ",
        "training.sharding_group: ", "training.parallel.data: "}) {
    EXPECT_THAT(refusal, HasSubstr(path));
  }
}

TEST(TrainingPlan, MissingChoicesAreNamedWithTheirLegalValues) {
  pb::Training empty;
  const auto plan = TrainingPlan::FromProto(empty, Dense(), Machine());
  const std::string refusal(plan.status().message());
  EXPECT_THAT(refusal, HasSubstr("training.global_batch: "));
  EXPECT_THAT(refusal, HasSubstr("training.schedule: "));
  EXPECT_THAT(refusal, HasSubstr("GPIPE, ONE_F_ONE_B"));
  EXPECT_THAT(refusal, Not(HasSubstr("UNSPECIFIED")));
}

TEST(TrainingPlan, OrderNamesEveryDimensionOnce) {
  EXPECT_OK(MakePlan(
      "parallel { order: [PIPELINE, DATA, EXPERT, CONTEXT, TENSOR] }"));
  EXPECT_THAT(
      Refusal("parallel { order: [TENSOR, TENSOR, EXPERT, DATA, PIPELINE] }"),
      HasSubstr("once each"));
  EXPECT_THAT(Refusal("parallel { order: [TENSOR] }"), HasSubstr("once each"));
}

TEST(TrainingPlan, HugeNumbersAreRefusedWithoutOverflow) {
  for (const char* field :
       {"tensor", "context", "pipeline", "data", "expert"}) {
    Refusal(fmt::format("parallel {{ {}: 2147483647 }}", field), true);
    Refusal(fmt::format("parallel {{ {}: -1 }}", field), true);
    Refusal(fmt::format("parallel {{ {}: 0 }}", field), true);
    Refusal(fmt::format("parallel {{ {}: 1048576 }}", field), true);
  }
  Refusal("global_batch: 2147483647");
  Refusal("micro_batch: 2147483647");
  Refusal("sequence: 2147483647");
}

absl::StatusOr<InferencePlan> MakeInference(const std::string& changes) {
  pb::Inference proto, over;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(batch: 8 prompt: 512 output: 128 precision: FP8 kv_precision: BF16
         kv_block: 16
         engine { name: "e" decode_launch: LAUNCH_GRAPH host_launch: "5 us"
           collective_launch: "5 us" request_overhead: "0 us"
           graph_start: "10 us" step_overhead: "0 us" sequence_overhead: "0 us"
           all_reduce_overhead: "0 us"
           memory_policy: AS_NEEDED graph_memory: "0 GiB" kv_block: 1
           max_batch: 256 max_step_tokens: 8192 })",
      &proto));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(changes, &over));
  proto.MergeFrom(over);
  return InferencePlan::FromProto(proto, Dense(), Machine());
}

TEST(InferencePlan, BothPhasesShareTheChipsOrHavePoolsOfTheirOwn) {
  const std::string degrees =
      "{ tensor: 4 context: 1 pipeline: 1 data: 4 expert: 1 expert_tensor: 1 }";
  ASSERT_OK_AND_ASSIGN(const InferencePlan together,
                       MakeInference("parallel " + degrees));
  EXPECT_EQ(together.prefill().degrees, together.decode().degrees);
  EXPECT_EQ(together.prefill_chunk(), 512);

  const std::string half =
      "{ tensor: 4 context: 1 pipeline: 1 data: 2 expert: 1 expert_tensor: 1 }";
  ASSERT_OK_AND_ASSIGN(
      const InferencePlan apart,
      MakeInference("disaggregated { prefill_chips: 8 decode_chips: 8 "
                    "prefill_parallel " +
                    half + " decode_parallel " + half + " }"));
  EXPECT_TRUE(apart.disaggregated());
  EXPECT_THAT(MakeInference("disaggregated { prefill_chips: 4 decode_chips: 8 "
                            "prefill_parallel " +
                            half + " decode_parallel " + half + " }")
                  .status()
                  .message(),
              HasSubstr("are not the 16 chips of the system"));
}

// Context ranks share whole prompts: what cuts them is named, whether it was
// asked for or is the engine's limit.
TEST(InferencePlan, ContextRanksShareWholePrompts) {
  const std::string degrees =
      "parallel { tensor: 4 context: 2 pipeline: 1 data: 2 expert: 1 "
      "expert_tensor: 1 }";
  EXPECT_THAT(
      MakeInference(degrees + " prefill_chunk: 256").status().message(),
      HasSubstr("inference.prefill_chunk: context ranks share whole prompts"));
  EXPECT_THAT(
      MakeInference(degrees + " engine { max_step_tokens: 256 }")
          .status()
          .message(),
      HasSubstr("inference.engine.max_step_tokens: context ranks share whole "
                "prompts, and e takes 256 of 512 tokens into a step"));
}

TEST(InferencePlan, ReplicasDivideTheBatch) {
  EXPECT_THAT(
      MakeInference("batch: 6 parallel { tensor: 4 context: 1 pipeline: "
                    "1 data: 4 expert: 1 expert_tensor: 1 }")
          .status()
          .message(),
      HasSubstr("4 replicas must divide the batch of 6; nearest: 3 or 6"));
}

TEST(Divisors, AreTheNeighbours) {
  EXPECT_EQ(NearestDivisors(32, 3), "2 or 4");
  EXPECT_EQ(NearestDivisors(32, 4), "4");
  EXPECT_EQ(NearestDivisors(32, 100), "32");
  EXPECT_EQ(NearestDivisors(7, 3), "1 or 7");
  EXPECT_EQ(NearestMultiples(16, 40), "32 or 48");
  EXPECT_EQ(NearestMultiples(16, 3), "16");
  EXPECT_EQ(NearestMultiples(16, 32), "32");
}

}  // namespace
}  // namespace orrery
