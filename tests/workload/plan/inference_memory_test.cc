#include "workload/plan/inference_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/report.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"
#include "workload/lowering/inference/lower_inference.h"

namespace orrery {
namespace {

using Sets = std::vector<std::string>;

ResolvedScenario Served(const Sets& sets) {
  absl::StatusOr<ResolvedScenario> scenario =
      ScenarioWith("llama3_70b_fp8_serving", sets);
  EXPECT_THAT(scenario, IsOk());
  return *std::move(scenario);
}

Bytes CacheOfOne(const ResolvedScenario& s, int64_t tokens) {
  const InferencePlan& plan = *s.inference();
  const std::vector<Stage> stages = CutStages(s.model, plan.decode());
  return StageCache(s.model, plan, plan.decode(), stages[0], tokens);
}

// 8 key-value heads of 128, keys and values, 80 layers: 2 x 8 x 128 = 2048
// elements per layer. Over 8 ranks a head each: 256 x 80 = 20 480 B in FP8.
TEST(InferenceMemory, TensorRanksSplitKeyValueHeads) {
  const ResolvedScenario s =
      Served({"inference.engine.kv_block=1", "inference.kv_block=1"});
  EXPECT_EQ(CacheOfOne(s, 1), Bytes(20480));
  const ResolvedScenario wide =
      Served({"inference.kv_block=1", "inference.kv_precision=BF16"});
  EXPECT_EQ(CacheOfOne(wide, 1), Bytes(40960));
}

// Two nodes make 16 tensor ranks: there is no half of a head, so that every
// rank holds one and each head is held twice.
TEST(InferenceMemory, AHeadIsNotSplit) {
  const ResolvedScenario s = Served({"inference.kv_block=1", "system.nodes=2",
                                     "inference.parallel.tensor=16"});
  EXPECT_EQ(CacheOfOne(s, 1), Bytes(20480));
}

// 100 tokens are two blocks of 64.
TEST(InferenceMemory, SequencesTakeWholeBlocks) {
  const ResolvedScenario s = Served({"inference.kv_block=64"});
  EXPECT_EQ(CacheOfOne(s, 100), Bytes(20480 * 128));
  EXPECT_EQ(CacheOfOne(s, 128), Bytes(20480 * 128));
}

// DeepSeek-V3: (512 + 64) x 61 layers x 2 B = 70 272 B, on every tensor rank.
TEST(InferenceMemory, TheLatentIsOnEveryRank) {
  for (const char* tensor : {"1", "8"}) {
    ASSERT_OK_AND_ASSIGN(
        const ResolvedScenario s,
        ScenarioWith("llama3_70b_fp8_serving",
                     {"model.preset=deepseek_v3", "system.nodes=4",
                      "inference.kv_precision=BF16", "inference.kv_block=1",
                      std::string("inference.parallel.tensor=") + tensor}));
    EXPECT_EQ(CacheOfOne(s, 1), Bytes(70272));
  }
}

// Llama 3 70B: 80 layers x 855 638 016 in linear layers = 68 451 041 280
// weights, and 16 bits each for 80 x 2 x 8192 of norms, 8192 of the last one,
// and 2 x 128 256 x 8192 of embedding and head.
//   FP8 : 68 451 041 280 + 2 x 2 102 665 216           = 72 656 371 712
//   INT4: 68 451 041 280 x (4 + 20/128) / 8 + 2 x ...  = 39 767 826 432
TEST(InferenceMemory, WeightsAreInTheirStoredFormatWithScales) {
  const auto weights = [](const Sets& sets) {
    Sets all = {"system.chips_per_node=1", "inference.parallel.tensor=1",
                "inference.batch=1"};
    all.insert(all.end(), sets.begin(), sets.end());
    const ResolvedScenario s = Served(all);
    return MemoryOf(s.model, *s.inference(), Bytes(0)).weights;
  };
  const int64_t wide = 2 * (2 * int64_t{128256} * 8192 + 161 * 8192);
  const int64_t linear = int64_t{80} * 855638016;
  EXPECT_EQ(weights({}), Bytes(linear + wide));
  EXPECT_EQ(weights({"inference.precision=BF16"}), Bytes(2 * linear + wide));
  // Rounded up per layer: 855 638 016 x 4.15625 / 8 = 444 530 688 exactly.
  EXPECT_EQ(
      weights({"inference.precision=BF16", "inference.weight_precision=INT4"}),
      Bytes(int64_t{80} * 444530688 + wide));
}

// The same 0.9 means three different caches.
TEST(InferenceMemory, PoliciesShareOutMemoryDifferently) {
  EngineProfile engine;
  engine.memory_fraction = 0.9;
  const InferenceMemory held{.weights = Bytes(40),
                             .cache = Bytes(0),
                             .activations = Bytes(8),
                             .buffers = Bytes(2)};
  const auto room = [&](MemoryPolicy policy) {
    engine.memory_policy = policy;
    return CacheRoom(engine, held, Bytes(100)).value();
  };
  EXPECT_EQ(room(MemoryPolicy::kShareOfDevice), 90 - 40 - 10);
  EXPECT_EQ(room(MemoryPolicy::kShareForWeightsAndCache), 90 - 40);
  EXPECT_EQ(room(MemoryPolicy::kShareOfFree), 45);
  EXPECT_EQ(room(MemoryPolicy::kAsNeeded), 50);
}

// What is said to be the largest fits, and one more does not.
TEST(InferenceMemory, TheLargestBatchIsTheLargest) {
  const ResolvedScenario s = Served({"inference.engine.max_batch=100000"});
  const Bytes device = MemoryCapacity(s.system);
  const Bytes reserved = s.kernels.reserved_memory();
  const CacheCapacity capacity =
      CapacityOf(s.model, *s.inference(), device, reserved);
  EXPECT_TRUE(capacity.fits);
  ASSERT_GT(capacity.largest_batch, 64);
  for (const auto& [more, fits] : {std::pair{0, true}, std::pair{1, false}}) {
    const ResolvedScenario at = Served(
        {"inference.engine.max_batch=100000",
         "inference.batch=" + std::to_string(capacity.largest_batch + more)});
    EXPECT_EQ(CapacityOf(at.model, *at.inference(), device, reserved).fits,
              fits);
  }
}

// gpt-fast prints bandwidth and tokens/s of Llama 2 70B on 8 chips; bandwidth
// over tokens/s is what a rank holds: 1135.29/62.50 = 18.165 GB in BF16,
// 752.04/80.44 = 9.349 in INT8, 548.10/90.77 = 6.038 in INT4 by groups of 32.
//   blocks: 80 x 855 638 016 / 8 = 8 556 380 160 weights
//   ends  : 32 000 x 8192 = 262 144 000 each, whole; the head as the blocks
//   norms : 161 x 8192 in BF16
// INT8 has a scale of 16 bits per row besides, 4 MB of it, which we leave out.
TEST(InferenceMemory, OfARankIsWhatGptFastPrints) {
  const auto weights = [](const Sets& sets) {
    Sets all = {"inference.engine.preset=gpt_fast"};
    all.insert(all.end(), sets.begin(), sets.end());
    absl::StatusOr<ResolvedScenario> s =
        ScenarioWith("llama2_70b_inference", all);
    EXPECT_THAT(s, IsOk());
    return MemoryOf(s->model, *s->inference(), Bytes(0)).weights.value();
  };
  const int64_t blocks = int64_t{80} * 855638016 / 8;
  const int64_t end = int64_t{32000} * 8192;
  const int64_t norms = 2 * 161 * 8192;
  const int64_t wide = weights({});
  const int64_t eight = weights({"inference.weight_precision=INT8"});
  const int64_t four =
      weights({"inference.weight_precision=INT4", "inference.weight_group=32"});
  EXPECT_EQ(wide, 2 * blocks + 2 * 2 * end + norms);
  EXPECT_EQ(eight, blocks + end + 2 * end + norms);
  EXPECT_EQ(four, (blocks + end) / 8 * 5 + 2 * end + norms);
  // As printed, to the last digit but one, and INT8 but for its scales.
  EXPECT_NEAR(static_cast<double>(wide), 1135.29e9 / 62.50, 2e6);
  EXPECT_NEAR(static_cast<double>(eight), 752.04e9 / 80.44, 5e6);
  EXPECT_NEAR(static_cast<double>(four), 548.10e9 / 90.77, 2e6);
}

// A chunk of 512 of a prompt of 1024, beside 4 sequences that decode with half
// of 256 tokens: before it these hold 4 x (1024 + 128) tokens and the prompt
// none, of 20 480 B each.
TEST(InferenceMemory, ThoseWhoDecodeBesideAPromptHaveTheirOwnCache) {
  const ResolvedScenario s =
      Served({"inference.kv_block=1", "inference.batch=1",
              "inference.prompt=1024", "inference.output=256",
              "inference.prefill_chunk=512", "inference.decode_beside=4"});
  const auto free = [](const Op&) { return KernelWork(); };
  const auto placed = LowerInference(s.model, *s.inference(),
                                     PrefillPasses(*s.inference()), free, {});
  ASSERT_THAT(placed.status(), IsOk());
  const Role& role = placed->program.roles()[static_cast<RoleId>(0)];
  EXPECT_EQ(role.initial_memory()[static_cast<size_t>(MemoryKind::kKvCache)],
            Bytes(20480 * 4 * (1024 + 128)));
}

TEST(InferenceMemory, OnlyNarrowWeightsHaveAGroup) {
  EXPECT_THAT(
      ScenarioWith("llama3_70b_fp8_serving", {"inference.weight_group=32"})
          .status()
          .message(),
      testing::HasSubstr("inference.weight_group"));
}

}  // namespace
}  // namespace orrery
