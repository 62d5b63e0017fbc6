#include "workload/plan/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "tests/workload/plan/plans.h"
#include "workload/model/parameters.h"
#include "workload/plan/schedule.h"

namespace orrery {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// A GPT of the paper: dropout, plain MLP of 4 h, unfused attention.
struct PaperRow {
  const char* name;
  int layers, hidden, heads, micro_batch, pipeline, virtual_stages;
  double none, sequence, selective, both, full, static_memory;
};
constexpr PaperRow kPaper[] = {
    {"22B", 48, 6144, 64, 4, 1, 1, 59.25, 39.5625, 29.25, 9.5625, 4.5, 45.5625},
    {"175B", 96, 12288, 96, 1, 8, 3, 66.84375, 41.41, 37.78, 12.3515625, 5.81,
     45.5625},
    {"530B", 105, 20480, 128, 1, 35, 3, 114.0234375, 66.51, 70.59, 23.076171875,
     10.86, 31.640625},
    {"1T", 128, 25600, 160, 1, 64, 1, 131.25, 76.5625, 81.25, 26.5625, 12.5,
     32.958984375}};

TrainingCase PaperCase(const PaperRow& row, bool sequence,
                       const char* recompute) {
  const int chips = 8 * row.pipeline;
  const std::string model = fmt::format(
      "layers: {} hidden: {} vocabulary: 51200 attention {{ kind: MHA heads: "
      "{} kv_heads: {} head_dimension: {} }} mlp {{ width: {} activation: GELU "
      "}} norm: NON_PARAMETRIC position: NO_POSITION dropout: true",
      row.layers, row.hidden, row.heads, row.heads, row.hidden / row.heads,
      4 * row.hidden);
  const std::string plan = fmt::format(
      "global_batch: {} micro_batch: {} sequence: 2048 attention_kernel: "
      "UNFUSED recompute: {} schedule: {} virtual_stages: {} parallel {{ "
      "tensor: 8 pipeline: {} sequence_parallel: {} }}",
      4 * row.micro_batch * row.pipeline, row.micro_batch, recompute,
      row.virtual_stages > 1 ? "INTERLEAVED_1F1B" : "ONE_F_ONE_B",
      row.virtual_stages, row.pipeline, sequence);
  return MakeCase(plan, chips / 8, model.c_str());
}

// Bytes that the first rank's layers keep when it holds most.
double FirstRankActivations(const TrainingCase& c) {
  const TrainingPlan& plan = c.plan;
  const LayerOps layer = BuildLayer(c.model, 0, ShapeOf(plan));
  const PipelineOrders orders =
      MakeOrders(plan.schedule(), plan.degrees().pipeline,
                 plan.virtual_stages(), plan.micro_batches());
  const double pieces = PeakInFlight(orders.of_rank[0]);
  return pieces * plan.layout().layers_per_stage[0] *
         static_cast<double>(KeptBytes(layer, plan).value()) / kGiB;
}

// Korthikanti et al., arXiv 2205.05198, figure 1 and section 4: all printed
// digits.
TEST(Memory, ActivationsEqualThePublishedGibibytes) {
  constexpr double kTwoDigits = 0.005;
  for (const PaperRow& row : kPaper) {
    SCOPED_TRACE(row.name);
    const auto held = [&](bool sequence, const char* recompute) {
      return FirstRankActivations(PaperCase(row, sequence, recompute));
    };
    EXPECT_DOUBLE_EQ(held(false, "RECOMPUTE_NONE"), row.none);
    EXPECT_NEAR(held(true, "RECOMPUTE_NONE"), row.sequence, kTwoDigits);
    EXPECT_NEAR(held(false, "RECOMPUTE_SELECTIVE"), row.selective, kTwoDigits);
    EXPECT_DOUBLE_EQ(held(true, "RECOMPUTE_SELECTIVE"), row.both);
    EXPECT_NEAR(held(false, "RECOMPUTE_FULL"), row.full, kTwoDigits);
  }
}

// 18 bytes (2 + 4 + 12) x 12 L h^2 / (t p).
TEST(Memory, StaticBytesEqualThePublishedGibibytes) {
  for (const PaperRow& row : kPaper) {
    SCOPED_TRACE(row.name);
    const TrainingCase c = PaperCase(row, false, "RECOMPUTE_NONE");
    const Placement placement(c.plan.layout());
    RankParameters held;
    for (int i = 0; i < row.layers / row.pipeline; ++i) {
      held += LayerParametersOf(c.model, c.plan.degrees(), i);
    }
    const StaticMemory memory = StaticBytes(c.plan, placement, held, {});
    EXPECT_DOUBLE_EQ(static_cast<double>(memory.total().value()) / kGiB,
                     row.static_memory);
  }
}

// 8 copies of P parameters: 2 P, 4 P and 12 P, each divided from its stage on.
TEST(Memory, ZeroDividesWhatItSays) {
  const RankParameters held{.dense = 8'000'000};
  const auto bytes = [&](const char* sharding) {
    const TrainingCase c =
        MakeCase(std::string("parallel { pipeline: 2 } sharding: ") + sharding);
    return StaticBytes(c.plan, Placement(c.plan.layout()), held, {});
  };
  const auto zero0 = bytes("ZERO_0");
  EXPECT_EQ(zero0.weights, Bytes(16'000'000));
  EXPECT_EQ(zero0.gradients, Bytes(32'000'000));
  EXPECT_EQ(zero0.optimizer, Bytes(96'000'000));
  EXPECT_EQ(zero0.buffers, Bytes(0));
  const auto zero1 = bytes("ZERO_1");
  EXPECT_EQ(zero1.optimizer, Bytes(12'000'000));
  EXPECT_EQ(zero1.gradients, zero0.gradients);
  const auto zero2 = bytes("ZERO_2");
  EXPECT_EQ(zero2.gradients, Bytes(4'000'000));
  EXPECT_EQ(zero2.weights, zero0.weights);
  const auto zero3 = bytes("ZERO_3");
  EXPECT_EQ(zero3.weights, Bytes(2'000'000));
  EXPECT_EQ(zero3.optimizer, Bytes(12'000'000));
}

// Master 4 bytes, moments 2 x 2 instead of 2 x 4: 8 P over 8 copies.
// Buckets of 16-bit gradients beside the FP32 sums, 2 bytes a parameter: where
// the state is whole and somebody shares it.
TEST(Memory, BucketsStayWhereNothingIsSharded) {
  const RankParameters held{.dense = 8'000'000};
  const auto buffers = [&](const char* changes) {
    const TrainingCase c =
        MakeCase(changes, 2, kCaseModel, {.keeps_buckets = true});
    return StaticBytes(c.plan, Placement(c.plan.layout()), held, {}).buffers;
  };
  EXPECT_EQ(buffers("sharding: ZERO_0"), Bytes(16'000'000));
  EXPECT_EQ(buffers("sharding: ZERO_1"), Bytes(0));
  EXPECT_EQ(buffers("sharding: ZERO_0 parallel { tensor: 8 pipeline: 2 }"),
            Bytes(0));
}

// Of 8 million parameters over 8 ranks: 4 bytes of each for a flat copy of FP32
// sums and 2 for gradients that stay; with sums in 16 bits 6 of each of the
// shard's.
TEST(Memory, CopiesOfGradientsAreHeld) {
  const RankParameters held{.dense = 8'000'000};
  const auto buffers = [&](const char* changes) {
    const TrainingCase c = MakeCase(changes, 2, kCaseModel,
                                    {.reduction_bytes = 4,
                                     .widening_bytes = 6,
                                     .keeps_gradients = true,
                                     .bucket_memory = Bytes(1000)});
    return StaticBytes(c.plan, Placement(c.plan.layout()), held, {}).buffers;
  };
  EXPECT_EQ(buffers("parallel { pipeline: 2 } sharding: ZERO_1"),
            Bytes(32'000'000 + 16'000'000 + 1000));
  EXPECT_EQ(buffers("parallel { pipeline: 2 } sharding: ZERO_0"),
            Bytes(16'000'000));
  EXPECT_EQ(buffers("parallel { tensor: 8 pipeline: 2 } sharding: ZERO_1"),
            Bytes(16'000'000 + 1000));
  EXPECT_EQ(buffers("parallel { pipeline: 2 } sharding: ZERO_1 "
                    "gradient_precision: BF16"),
            Bytes(6'000'000 + 1000));
}

TEST(Memory, MomentsHaveTheirOwnFormat) {
  const TrainingCase c =
      MakeCase("parallel { pipeline: 2 } moment_precision: BF16");
  const RankParameters held{.dense = 8'000'000};
  EXPECT_EQ(StaticBytes(c.plan, Placement(c.plan.layout()), held, {}).optimizer,
            Bytes(8'000'000));
}

TEST(Memory, ZeroThreeGathersTwoLayersAtATime) {
  const TrainingCase c = MakeCase("sharding: ZERO_3");
  const RankParameters layer{.dense = 50'000'000};
  const RankParameters held{.dense = 1'200'000'000};
  // Weights of two layers, and one layer's gradients before they are reduced.
  EXPECT_EQ(
      StaticBytes(c.plan, Placement(c.plan.layout()), held, layer).buffers,
      Bytes(2 * 50'000'000 * 2 + 50'000'000 * 4));
}

// Sharded weights that stay gathered after the forward pass are whole on every
// rank: 2 bytes for each parameter, dense or of experts, that other ranks hold
// a part of.
TEST(Memory, GatheredWeightsStayWholeUnlessTheyAreFreed) {
  const RankParameters held{.dense = 3'000'000, .experts = 5'000'000};
  const auto gathered = [&](const char* plan) {
    const TrainingCase c = MakeCase(plan, 2, kCaseExperts);
    return GatheredBytes(c.plan, Placement(c.plan.layout()), held);
  };
  const char* stay =
      "sharding: ZERO_3 reshard_after_forward: false parallel { expert: 4 }";
  EXPECT_EQ(gathered(stay), Bytes(2 * (3'000'000 + 5'000'000)));
  // With 16 expert ranks of 16 nobody shares an expert.
  EXPECT_EQ(gathered("sharding: ZERO_3 reshard_after_forward: false "
                     "parallel { expert: 16 }"),
            Bytes(2 * 3'000'000));
  EXPECT_EQ(gathered("sharding: ZERO_3 reshard_after_forward: true"), Bytes(0));
  EXPECT_EQ(gathered("sharding: ZERO_2"), Bytes(0));
}

// Experts: 16 over 4 ranks; dense weights do not feel the expert degree.
TEST(Stage, ExpertParallelismLeavesAttentionAlone) {
  const TrainingCase one = MakeCase("", 2, kCaseExperts);
  const TrainingCase four = MakeCase("parallel { expert: 4 }", 2, kCaseExperts);
  const auto a = LayerParametersOf(one.model, one.plan.degrees(), 0);
  const auto b = LayerParametersOf(four.model, four.plan.degrees(), 0);
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.experts, 4 * b.experts);
  // 16 experts of gate, up and down, 4096 x 2048 each.
  EXPECT_EQ(a.experts, int64_t{16} * 3 * 4096 * 2048);
}

// One rank with everything holds every parameter of the model.
TEST(Stage, StagesAddUpToTheModel) {
  for (const char* text : {kSmallDense, kSmallMixture}) {
    const Model model = MakeModel(text);
    const TrainingCase c = MakeCase("parallel { pipeline: 2 }");
    RankParameters sum;
    Stage all{.layers = model.layers(), .embedding = true, .head = true};
    sum += ParametersOf(model, Degrees{}, all);
    EXPECT_EQ(sum.total(), TotalParameters(model).total());
  }
}

TEST(Stage, TiedEmbeddingsAreHeldByBothEnds) {
  const TrainingCase c =
      MakeCase("parallel { pipeline: 2 }", 2,
               "layers: 24 tied_embedding: true vocabulary: 1000 hidden: 64");
  const auto stages = CutStages(c.model, c.plan.layout());
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0],
            (Stage{.first_layer = 0, .layers = 12, .embedding = true}));
  EXPECT_TRUE(stages[1].embedding_copy);
  const auto first = ParametersOf(c.model, c.plan.degrees(), stages[0]);
  const auto last = ParametersOf(c.model, c.plan.degrees(), stages[1]);
  // The last stage has the final norm besides.
  EXPECT_EQ(last.dense, first.dense + 64);
}

}  // namespace
}  // namespace orrery
