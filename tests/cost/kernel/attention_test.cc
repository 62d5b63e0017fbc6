#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "cost/kernel/attention_time.h"
#include "tests/cost/kernel/chips.h"

namespace orrery {
namespace {

FusedAttention Square(int64_t length, Mask mask) {
  return {.batch = 1,
          .query_heads = 1,
          .kv_heads = 1,
          .queries = length,
          .keys = length,
          .head_dimension = 128,
          .value_dimension = 128,
          .mask = mask};
}

// T (T + 1) / 2 of T^2 tiles, the diagonal in full.
TEST(ScoreBlocks, OfACausalSquareAreATriangleOfWholeTiles) {
  const FusedAttention a = Square(1024, Mask::kCausal);
  const ScoreBlocks blocks = CountScoreBlocks(a, 128, 128);
  EXPECT_EQ(blocks.total, 8 * 9 / 2 * 128 * 128);
  EXPECT_EQ(blocks.longest, 128 * 1024);
  EXPECT_EQ(CountScoreBlocks(Square(1024, Mask::kFull), 128, 128).total,
            1024 * 1024);
}

// A unit of 256 x 256 takes as long for heads of 128 as for heads of 256, which
// are twice the work: the rest of the kernel is small beside it.
TEST(TimeAttention, HeadsThatFillHalfAUnitTakeAsLongAsWholeOnes) {
  FusedAttention half = Square(8192, Mask::kFull);
  half.query_heads = half.kv_heads = 16;
  FusedAttention whole = half;
  whole.head_dimension = whole.value_dimension = 256;
  const KernelChip chip = TimerOf(PresetChip("tpu_v6e")).chip();
  constexpr double kMemory = 0.02;
  EXPECT_NEAR(
      TimeAttention(whole, chip).seconds / TimeAttention(half, chip).seconds, 1,
      kMemory);
}

// 256 heads of 16 queries on 148 units: two rounds of one tile each. A start
// adds itself once, the ends of a tile once in every round.
TEST(TimeAttention, ACallHasAStartAndATileItsEnds) {
  FusedAttention a = Square(16, Mask::kCausal);
  a.batch = 4;
  a.query_heads = a.kv_heads = 64;
  const Chip b200 = PresetChip("b200_sxm");
  KernelChip chip = TimerOf(b200, {.clock = b200.clock()}).chip();
  chip.memory_rate *= 1e6;
  FlashConstants& flash = chip.constants.attention;
  flash.tile_cycles = 0;
  flash.start = Duration();
  const double bare = TimeAttention(a, chip).seconds;
  flash.start = std::chrono::microseconds(4);
  EXPECT_NEAR(TimeAttention(a, chip).seconds - bare, 4e-6, 1e-12);
  flash.start = Duration();
  flash.tile_cycles = 5000;
  EXPECT_NEAR(TimeAttention(a, chip).seconds - bare,
              2 * 5000 * chip.nominal_cycle, 1e-9);
}

// Tile by tile, with the last row of each.
double SlowTotal(const FusedAttention& a, int64_t rows, int64_t columns) {
  double total = 0;
  for (int64_t first = 0; first < a.queries; first += rows) {
    const int64_t last = std::min(a.keys, a.keys - a.queries + first + rows);
    total +=
        static_cast<double>(rows * ((last + columns - 1) / columns) * columns);
  }
  return total;
}

TEST(ScoreBlocks, AgreeWithCountingTileByTile) {
  Rng rng(1, "blocks");
  for (int i = 0; i < 2000; ++i) {
    FusedAttention a = Square(rng.Between(1, 3000), Mask::kCausal);
    a.keys += rng.Between(0, 3000);
    for (const int64_t columns : {64, 128, 96}) {
      const ScoreBlocks blocks = CountScoreBlocks(a, 128, columns);
      ASSERT_DOUBLE_EQ(blocks.total, SlowTotal(a, 128, columns))
          << a.queries << " of " << a.keys << ", " << columns;
    }
  }
}

TEST(TimeAttention, OfABackwardPassIsTwoAndAHalfToThreeTimesForward) {
  const KernelChip chip = TimerOf(PresetChip("a100_sxm_80")).chip();
  FusedAttention a = Square(16384, Mask::kFull);
  a.query_heads = a.kv_heads = 16;
  const double forward = TimeAttention(a, chip).seconds;
  a.backward = true;
  const double backward = TimeAttention(a, chip).seconds;
  // Five products instead of two at a smaller share of the peak: the paper on
  // FlashAttention-2 has 73 % forward and 63 % backward, 2.5 x 73 / 63 = 2.9.
  EXPECT_GT(backward / forward, 2.5);
  EXPECT_LT(backward / forward, 3.0);
}

// TFLOP/s of a long sequence by the usual count: 4 N S d forward, 10 backward.
double Rate(const std::string& implementation, bool backward) {
  const KernelChip chip =
      TimerOf(PresetChip("h100_sxm"), {.implementation = implementation})
          .chip();
  FusedAttention a = Square(16384, Mask::kFull);
  a.query_heads = a.kv_heads = 16;
  a.backward = backward;
  const double flops =
      (backward ? 10.0 : 4.0) * 16384 * 16384 * a.head_dimension * 16;
  return flops / TimeAttention(a, chip).seconds / 1e12;
}

// FlashAttention-3, figures 5 and 6, at 16 K; a few constants stand for all
// lengths and head dimensions, and the bar of this class of kernels is 10 %.
TEST(TimeAttention, IsThatOfTheImplementationThatRuns) {
  constexpr double kFit = 0.10;
  EXPECT_NEAR(Rate("fa3", false) / 648, 1, kFit);
  EXPECT_NEAR(Rate("fa3", true) / 561, 1, kFit);
  EXPECT_NEAR(Rate("fa2", false) / 370, 1, kFit);
  EXPECT_NEAR(Rate("fa2", true) / 322, 1, kFit);
  EXPECT_NEAR(Rate("cudnn", false) / 595, 1, kFit);
  EXPECT_NEAR(Rate("cudnn", true) / 516, 1, kFit);
  EXPECT_NEAR(Rate("triton", false) / 395, 1, kFit);
}

TEST(TimeAttention, OfADecodeStepIsBoundByTheCache) {
  const KernelChip chip = TimerOf(PresetChip("h100_sxm")).chip();
  const FusedAttention decode{.batch = 64,
                              .query_heads = 32,
                              .kv_heads = 8,
                              .queries = 1,
                              .keys = 8192,
                              .head_dimension = 128,
                              .value_dimension = 128};
  const KernelEstimate estimate = TimeAttention(decode, chip);
  EXPECT_EQ(estimate.limit, Limit::kMemory);
  // 64 x 8192 x 8 heads x 128 x (key + value) x 2 bytes, and little besides.
  const double cache = 64.0 * 8192 * 8 * 256 * 2;
  EXPECT_GT(estimate.memory_bytes, cache);
  EXPECT_LT(estimate.memory_bytes, 1.01 * cache);
  // An FP8 cache halves it.
  FusedAttention narrow = decode;
  narrow.cache = DType::kFp8;
  EXPECT_NEAR(TimeAttention(narrow, chip).memory_bytes / estimate.memory_bytes,
              0.5, 0.01);
}

// The 128 heads of a latent read the same keys, and with a draft have two
// queries each: twice the scores, and no more than that for one query of every
// head in a tile of its own.
TEST(TimeAttention, OfDraftsPacksHeadsThatShareKeys) {
  const KernelChip chip = TimerOf(PresetChip("h800_sxm")).chip();
  FusedAttention one{.batch = 8,
                     .query_heads = 128,
                     .kv_heads = 1,
                     .queries = 1,
                     .keys = 4096,
                     .head_dimension = 576,
                     .value_dimension = 512};
  one.shared_key_value = true;
  FusedAttention two = one;
  two.queries = 2;
  const double first = TimeAttention(one, chip).seconds;
  EXPECT_GE(TimeAttention(two, chip).seconds, first);
  EXPECT_LE(TimeAttention(two, chip).seconds, 2 * first);
}

TEST(TimeAttention, AWindowBoundsTheWorkOfLongSequences) {
  const KernelChip chip = TimerOf(PresetChip("h100_sxm")).chip();
  FusedAttention a = Square(32768, Mask::kCausal);
  a.query_heads = a.kv_heads = 16;
  const double whole = TimeAttention(a, chip).seconds;
  a.window = 1024;
  EXPECT_LT(TimeAttention(a, chip).seconds, 0.15 * whole);
}

// 64 query heads on 8 of keys and values, one by one: memory is read as if they
// went together, the cache eight times; and it takes no less than together and
// no more than with 64 heads of keys and values of their own.
TEST(TimeAttention, HeadsOfAGroupThatReadOneByOneShareTheCache) {
  for (const char* name : {"a100_sxm_80", "h100_sxm"}) {
    const KernelChip chip = TimerOf(PresetChip(name)).chip();
    for (const int64_t keys : {200, 2000, 20'000}) {
      FusedAttention together{.batch = 16,
                              .query_heads = 64,
                              .kv_heads = 8,
                              .queries = 1,
                              .keys = keys,
                              .head_dimension = 128,
                              .value_dimension = 128};
      FusedAttention apart = together;
      apart.ungrouped = true;
      FusedAttention own = together;
      own.kv_heads = 64;
      const KernelEstimate one = TimeAttention(together, chip);
      const KernelEstimate each = TimeAttention(apart, chip);
      EXPECT_EQ(each.memory_bytes, one.memory_bytes) << name;
      EXPECT_GE(each.cache_bytes, one.cache_bytes) << name;
      EXPECT_GE(each.seconds, one.seconds) << name << " " << keys;
      EXPECT_LE(each.seconds, TimeAttention(own, chip).seconds)
          << name << " " << keys;
      // 2 x 128 x 2 B of each of 8 heads, sequence and key, read 8 times.
      EXPECT_GE(each.seconds, 16.0 * 8 * 8 * static_cast<double>(keys) * 512 /
                                  chip.cache_rate)
          << name;
    }
  }
}

}  // namespace
}  // namespace orrery
