#include "workload/lowering/training/lower_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/workload/lowering/stepped.h"
#include "workload/lowering/training/role_writer.h"
#include "workload/lowering/training/step_templates.h"
#include "workload/model/parameters.h"

namespace orrery {
namespace {

// A model without embedding cost worth mentioning would still have uneven
// stages; here every op takes the same time per layer, and ends take nothing.
KernelWork LayersOnly(const Op& op) {
  KernelWork timed;
  switch (op.name) {
    case OpName::kMlpUp:
      timed.duration = Duration(1000);
      break;
    default:
      break;
  }
  return timed;
}

// 24 layers: the MLP's first product takes 1000 ps forward, 1000 ps for its
// input's gradient and 1000 ps for its weights'. The rest is free, so F = B = W
// = 1000 x layers of the piece.
Time Makespan(const std::string& plan, int nodes = 1) {
  const TrainingCase c = MakeCase(plan, nodes);
  return RunStep(c, {}, Free, LayersOnly).result.end;
}
constexpr auto Ps = [](int64_t ps) { return Time(Duration(ps)); };

TEST(Lower, BubblesOfSchedulesComeOutOfTheProgram) {
  // 8 chips in 4 stages of 6 layers, 2 copies of 8 micro-batches. A stage's
  // pass is 6000: 1F1B takes (m + p - 1) (F + B + W) = 11 x 18000.
  const std::string common = "parallel { pipeline: 4 } global_batch: 16 ";
  EXPECT_EQ(Makespan(common), Ps(11 * 18000));
  EXPECT_EQ(Makespan(common + "schedule: GPIPE"), Ps(11 * 18000));
  // Two pieces of 3 layers: 2 m (F + B + W)/2 + (p - 1)(F + B + W)/2.
  EXPECT_EQ(Makespan(common + "schedule: INTERLEAVED_1F1B virtual_stages: 2"),
            Ps(8 * 18000 + 3 * 9000));
  // (p - 1)(F + B - W).
  EXPECT_EQ(Makespan(common + "schedule: ZB_H1"), Ps(8 * 18000 + 3 * 6000));
  // Pieces of half a stage: 6 m + p - 1 units of 3000.
  EXPECT_EQ(Makespan(common + "schedule: ZB_V virtual_stages: 2"),
            Ps((6 * 8 + 3) * 3000));
  // Nothing to hide: FB = F + B + W, bubble (p/2 - 1)(FB + B_full - 3 W).
  EXPECT_EQ(Makespan(common + "schedule: DUAL_PIPE"),
            Ps(8 * 18000 + 1 * (18000 + 12000 - 18000)));
}

// The first stage has the embedding only. Its weight gradient, of 30000 ps, is
// computed from what the 24 layers of the other stage send back, after 24000 ps
// forward and as many backward.
TEST(Lower, AnEmbeddingWaitsForTheGradientOfItsOutput) {
  const auto time = [](const Op& op) {
    KernelWork timed = LayersOnly(op);
    if (op.name == OpName::kEmbedding && op.pass == Pass::kWeightGradient) {
      timed.duration = Duration(30000);
    }
    return timed;
  };
  for (const char* schedule : {"ZB_H1", "ONE_F_ONE_B"}) {
    const TrainingCase c =
        MakeCase(std::string("parallel { pipeline: 2 } global_batch: 4 "
                             "layers_per_stage: [0, 24] schedule: ") +
                     schedule,
                 1);
    const bool split = std::string(schedule) == "ZB_H1";
    EXPECT_EQ(RunStep(c, {}, Free, time).result.end,
              Ps(48000 + (split ? 0 : 24000) + 30000))
        << schedule;
  }
}

TEST(Lower, OneStageHasNoBubble) {
  // 8 copies of 8 micro-batches of 24 layers.
  EXPECT_EQ(Makespan("global_batch: 64"), Ps(8 * 24 * 3000));
}

// Full recomputation runs the forward pass again: 4 units instead of 3.
TEST(Lower, FullRecomputationRepeatsTheForwardPass) {
  EXPECT_EQ(Makespan("global_batch: 64 recompute: RECOMPUTE_FULL"),
            Ps(8 * 24 * 4000));
}
// Of the 6 layers of a stage the first 2 run again: each stage's 18000 become
// 20000, and (m + p - 1) of them are the step. Pieces of 3 layers have 2 each:
// a rank's 18000 become 22000.
TEST(Lower, SomeLayersOfAStageRunAgain) {
  const std::string common =
      "parallel { pipeline: 4 } global_batch: 16 recompute: RECOMPUTE_FULL "
      "recompute_layers: 2 ";
  EXPECT_EQ(Makespan(common), Ps(11 * 20000));
  EXPECT_EQ(Makespan(common + "schedule: INTERLEAVED_1F1B virtual_stages: 2"),
            Ps(8 * 22000 + 3 * 11000));
}
TEST(Lower, SelectiveRecomputationLeavesTheMlpAlone) {
  EXPECT_EQ(Makespan("global_batch: 64 recompute: RECOMPUTE_SELECTIVE"),
            Ps(8 * 24 * 3000));
  EXPECT_EQ(Makespan("global_batch: 64 recompute: RECOMPUTE_PER_MODULE "
                     "recompute_module: MLP"),
            Ps(8 * 24 * 4000));
}

// Bytes that a rank's calls of one family move in a step, by kind.
std::map<CommunicationKind, int64_t> BytesOf(const std::string& plan,
                                             const std::string& slot_name,
                                             const char* model = kCaseModel) {
  const TrainingCase c = MakeCase(plan, 1, model);
  const auto step = LowerTraining(c.model, c.plan, SimpleTime, {});
  CHECK(step.ok()) << step.status().ToString();
  const Role& role = step->program.role_of(RankId(0));
  std::map<CommunicationKind, int64_t> bytes;
  for (const RoleSlot& slot : role.slots()) {
    if (slot.name != slot_name) continue;
    for (const TaskId task : slot.sequence) {
      const Communication& what = role.communication(role.task(task));
      bytes[what.kind] += what.bytes.value();
    }
  }
  return bytes;
}

using enum CommunicationKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Dense 24 layers of hidden 4096, sequence 4096: a hidden state has 32 MiB.
constexpr int64_t kState = int64_t{4096} * 4096 * 2;
constexpr int kDenseLayers = 24;

// Forward 2 all-reduces a layer and backward 2; the embedding one, the head one
// backward; the loss three of 4 bytes per token; the gradient norm 4 bytes.
TEST(Lower, TensorParallelismMovesWhatTheTableSays) {
  const std::string plan =
      "parallel { tensor: 8 sequence_parallel: false } global_batch: 1 ";
  EXPECT_THAT(BytesOf(plan, "tensor"),
              ElementsAre(Pair(kAllReduce, (4 * kDenseLayers + 2) * kState +
                                               3 * 4 * 4096 + 4)));
  // With sequence parallelism each becomes a gather and a reduction, and what
  // was gathered forward is gathered again for the weights.
  const std::string sequence =
      "parallel { tensor: 8 sequence_parallel: true } global_batch: 1 ";
  EXPECT_THAT(BytesOf(sequence, "tensor"),
              ElementsAre(Pair(kAllReduce, 3 * 4 * 4096 + 4),
                          Pair(kReduceScatter, (4 * kDenseLayers + 2) * kState),
                          Pair(kAllGather, (6 * kDenseLayers + 3) * kState)));
}

TEST(Lower, DegreesOfOneMoveNothing) {
  for (const char* family : {"tensor", "context", "expert", "shard"}) {
    EXPECT_THAT(BytesOf("parallel { pipeline: 8 } global_batch: 8", family),
                IsEmpty());
  }
}

// 8 copies: gradients in FP32 reduce-scattered once, weights in BF16 gathered
// once, whatever the bucket.
TEST(Lower, ZeroStagesMoveWhatTheTableSays) {
  const TrainingCase c = MakeCase("global_batch: 16");
  const int64_t p = TotalParameters(c.model).total();
  const auto with = [](const char* sharding) {
    return std::string("global_batch: 16 sharding: ") + sharding;
  };
  EXPECT_THAT(BytesOf(with("ZERO_0"), "data"),
              ElementsAre(Pair(kAllReduce, 4 * p)));
  EXPECT_THAT(BytesOf(with("ZERO_1"), "shard"),
              ElementsAre(Pair(kReduceScatter, 4 * p)));
  EXPECT_THAT(BytesOf(with("ZERO_1"), "shard gather"),
              ElementsAre(Pair(kAllGather, 2 * p)));
  // Two micro-batches, each reduced.
  EXPECT_THAT(BytesOf(with("ZERO_2"), "shard"),
              ElementsAre(Pair(kReduceScatter, 2 * 4 * p)));
  // Forward and backward of both gather.
  EXPECT_THAT(BytesOf(with("ZERO_3"), "shard gather"),
              ElementsAre(Pair(kAllGather, 2 * 2 * 2 * p)));
  EXPECT_THAT(BytesOf(with("ZERO_3"), "shard"),
              ElementsAre(Pair(kReduceScatter, 2 * 4 * p)));
}

// Summed on the rank, two micro-batches are reduced once; not resharded, their
// weights are gathered once.
TEST(Lower, ShardedStateMayTravelOncePerStep) {
  const int64_t p = TotalParameters(MakeCase("").model).total();
  const std::string once =
      "global_batch: 16 sharding: ZERO_3 accumulate_locally: true "
      "reshard_after_forward: false";
  EXPECT_THAT(BytesOf(once, "shard"), ElementsAre(Pair(kReduceScatter, 4 * p)));
  EXPECT_THAT(BytesOf(once, "shard gather"),
              ElementsAre(Pair(kAllGather, 2 * p)));
}

Bytes PeakOf(const std::string& plan, MemoryKind kind, int nodes = 1) {
  const TrainingCase c = MakeCase(plan, nodes);
  const auto run = RunStep(c, {}, Free, LayersOnly);
  return run.result.ranks[RankId(0)].memory.by_kind[static_cast<size_t>(kind)];
}

// 8 copies. Two micro-batches: every gradient is whole (4 P) beside its share
// (4 P / 8) while activations are still there. Weights that are not resharded
// are whole (2 P) beside theirs.
TEST(Lower, WhatIsNotShardedYetIsInMemory) {
  const int64_t p = TotalParameters(MakeCase("").model).total();
  const std::string plan = "global_batch: 16 sharding: ZERO_3 ";
  EXPECT_EQ(PeakOf(plan + "accumulate_locally: true", MemoryKind::kGradients),
            Bytes(4 * p + 4 * p / 8));
  EXPECT_EQ(PeakOf(plan + "reshard_after_forward: false", MemoryKind::kWeights),
            Bytes(2 * p + 2 * p / 8));
}

// Interleaved with as many micro-batches as stages: backward passes go piece by
// piece, and the first is reduced before the last has begun. On the first of 4
// ranks, 6 pieces of a layer: when most activations live, one layer's gradient
// is whole.
TEST(Lower, PiecesAreReducedOneAfterTheOther) {
  const std::string plan =
      "parallel { pipeline: 4 } global_batch: 8 sharding: ZERO_2 "
      "accumulate_locally: true schedule: INTERLEAVED_1F1B virtual_stages: 6";
  const TrainingCase c = MakeCase(plan, 1);
  const int64_t layer = LayerParametersOf(c.model, c.plan.degrees(), 0).total();
  const int64_t held =
      6 * layer + EmbeddingParametersOf(c.model, c.plan.degrees());
  EXPECT_EQ(PeakOf(plan, MemoryKind::kGradients),
            Bytes(4 * layer + 4 * ((held + 1) / 2)));
}

// Dispatch and combine, forward and backward: T k h e each.
TEST(Lower, ExpertsExchangeTokensFourTimes) {
  EXPECT_THAT(
      BytesOf("parallel { expert: 8 } global_batch: 8", "expert", kCaseExperts),
      ElementsAre(Pair(kAllToAll, 4 * kDenseLayers * 2 * kState)));
  EXPECT_THAT(BytesOf("parallel { expert: 8 } global_batch: 8 recompute: "
                      "RECOMPUTE_FULL",
                      "expert", kCaseExperts),
              ElementsAre(Pair(kAllToAll, 6 * kDenseLayers * 2 * kState)));
}

// Gradient accumulation repeats: m micro-batches are m times the work and hold
// no more.
TEST(Lower, AccumulationCostsTimeAndNoMemory) {
  const auto run = [](int batch) {
    const TrainingCase c =
        MakeCase("sharding: ZERO_1 global_batch: " + std::to_string(batch), 1);
    return RunStep(c, {}, Free, LayersOnly).result;
  };
  const RunResult one = run(8);
  const RunResult sixteen = run(128);
  EXPECT_EQ(sixteen.end.time_since_epoch(), 16 * one.end.time_since_epoch());
  EXPECT_EQ(sixteen.ranks[RankId(0)].memory.total,
            one.ranks[RankId(0)].memory.total);
}

// Every exchange takes its time alone: no overlap is possible along the main
// chain of a forward pass, so m = 1, p = 1 without gradients to hide is a sum.
TEST(Lower, ChunkedTensorExchangesHideBehindTheirProducts) {
  const auto time = [](const Communication& what, size_t) {
    return Duration(what.bytes.value() / 1000);
  };
  const TrainingCase plain = MakeCase(
      "parallel { tensor: 8 sequence_parallel: true } global_batch: 1", 1);
  LowerOptions options;
  const auto whole = RunStep(plain, options, time).result.end;
  options.pass.tensor_chunks = 8;
  const auto chunked = RunStep(plain, options, time).result.end;
  EXPECT_LT(chunked, whole);
}

// Two stages of 12 layers, F = 12000 and B = 24000 ps, m = 8, a transfer of t.
// The last stage starts after F + t; from then on it sets the pace, and the
// first stage ends with one more transfer and B.
TEST(Lower, ARankThatWaitsForItsTransfersHasThemInEveryPass) {
  constexpr int64_t kTransfer = 100;
  const auto run = [&](const char* more) {
    const TrainingCase c = MakeCase(
        std::string("parallel { pipeline: 2 } global_batch: 32 ") + more, 1);
    const auto time = [&](const Communication& what, size_t) {
      return what.kind == kPointToPoint ? Duration(kTransfer) : Duration(0);
    };
    return RunStep(c, {}, time, LayersOnly).result.end;
  };
  // Two micro-batches are on their way at once and share each round trip of two
  // transfers.
  EXPECT_EQ(run("overlap_pipeline: true"), Ps(9 * 36000 + 8 * kTransfer));
  // Each of the last stage's m passes backward is followed by a transfer it
  // waits for, and so is the first forward pass of the first stage.
  EXPECT_EQ(run("overlap_pipeline: false"), Ps(9 * 36000 + 9 * kTransfer));
}

// Tensor ranks hold the same hidden state: each sends a quarter over the
// boundary, and the first stage gathers the gradient of each of 2
// micro-batches.
TEST(Lower, TensorRanksSendTheirSharesAndGatherThem) {
  const std::string plan =
      "parallel { tensor: 4 pipeline: 2 sequence_parallel: false } "
      "global_batch: 2 ";
  const auto gathered = [&](const char* more) {
    const auto bytes = BytesOf(plan + more, "tensor");
    return bytes.contains(kAllGather) ? bytes.at(kAllGather) : 0;
  };
  EXPECT_EQ(gathered("scatter_pipeline: true"), 2 * kState);
  EXPECT_EQ(gathered("scatter_pipeline: false"), 0);
  const auto boundary = [&](const char* more) {
    const TrainingCase c = MakeCase(plan + more, 1);
    return BoundaryBytes(c.model, c.plan);
  };
  EXPECT_EQ(boundary("scatter_pipeline: true"), Bytes(kState / 4));
  EXPECT_EQ(boundary("scatter_pipeline: false"), Bytes(kState));
}

// An all-reduce of 500 ps hides behind the 1000 ps of the MLP's weight
// gradient, once per layer; nothing else has a weight gradient to hide behind.
TEST(Lower, WeightGradientsHideTheAllReduceUnlessTheyComeFirst) {
  const TrainingCase c = MakeCase(
      "parallel { tensor: 8 sequence_parallel: false } global_batch: 1", 1);
  const auto time = [](const Communication& what, size_t) {
    return what.kind == kAllReduce && what.bytes.value() == kState
               ? Duration(500)
               : Duration(0);
  };
  LowerOptions options;
  const Time hidden = RunStep(c, options, time, LayersOnly).result.end;
  options.pass.overlap_weight_gradient = false;
  const Time exposed = RunStep(c, options, time, LayersOnly).result.end;
  EXPECT_EQ(exposed - hidden, Duration(kDenseLayers * 500));
}

// Merging kernels into one task changes the number of tasks, not the time.
TEST(Lower, DetailDoesNotChangeTheTime) {
  const auto time = [](const Communication& what, size_t) {
    return Duration(what.bytes.value() / 1000);
  };
  for (const char* plan :
       {"parallel { tensor: 2 pipeline: 2 sequence_parallel: true }",
        "parallel { context: 2 pipeline: 2 } recompute: RECOMPUTE_FULL",
        "parallel { pipeline: 4 } schedule: ZB_H1"}) {
    const TrainingCase c = MakeCase(std::string(plan) + " global_batch: 16", 1);
    LowerOptions detailed;
    detailed.pass.merge = false;
    const auto ops = RunStep(c, detailed, time);
    const auto merged = RunStep(c, {}, time);
    EXPECT_EQ(ops.result.end, merged.result.end) << plan;
    EXPECT_GT(ops.result.tasks, merged.result.tasks);
  }
}

}  // namespace
}  // namespace orrery
