// Matrix products against Nsight Compute profiles of 24 cuBLAS kernels on an
// A100 (validation/gemm_a100_nsight.csv), each with its own tile and clock.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "accuracy/kernels/gemm_profile.h"
#include "cost/kernel/gemm_time.h"
#include "cost/kernel/gemm_traffic.h"
#include "tests/cost/kernel/chips.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

std::vector<GemmProfile> Profiles() {
  auto table =
      MeasurementTable::Open("validation/gemm_a100_nsight.csv", "", {});
  CHECK(table.ok()) << table.status().ToString();
  auto profiles = ReadGemmProfiles(*table, 108);
  CHECK(profiles.ok()) << profiles.status().ToString();
  return *std::move(profiles);
}

ProfileError ErrorOf(const GemmProfile& profile) {
  static const Chip chip = PresetChip("a100_sxm_80");
  static const Kernels kernels = PresetKernels("a100_sxm_80");
  auto error = CompareProfile(profile, chip, kernels);
  CHECK(error.ok()) << error.status().ToString();
  return *error;
}

TEST(GemmTraffic, CacheBytesAreThoseOfTheProfiles) {
  constexpr double kTolerance = 0.001;
  int checked = 0;
  for (const GemmProfile& p : Profiles()) {
    // GEMM kernels used as GEMV, and a row whose profile is 5 % off the form.
    if (p.vector() || p.id == "G13") continue;
    EXPECT_LT(std::abs(ErrorOf(p).cache_read), kTolerance) << p.id;
    EXPECT_LT(std::abs(ErrorOf(p).cache_written), kTolerance) << p.id;
    ++checked;
  }
  EXPECT_EQ(checked, 20);
}

TEST(GemmTraffic, MemoryReadsOfTallProductsAreWithinAQuarter) {
  for (const GemmProfile& p : Profiles()) {
    if (p.gemm.m != 16384) continue;
    EXPECT_LT(std::abs(ErrorOf(p).memory_read), 0.25) << p.id;
  }
}

TEST(GemmTraffic, NothingIsReadLessThanOnce) {
  const KernelChip chip = TimerOf(PresetChip("a100_sxm_80")).chip();
  for (const GemmProfile& p : Profiles()) {
    const Op op{OpName::kProduct, Pass::kForward, p.gemm};
    EXPECT_GE(
        MemoryReadBytes(p.gemm, p.tile, chip) + MemoryWriteBytes(p.gemm) + 1,
        static_cast<double>(CompulsoryBytes(op).value()))
        << p.id;
  }
}

TEST(GemmTime, TilesAreThoseOfTheProfilesAndQuantiseOverTheUnits) {
  for (const GemmProfile& p : Profiles()) {
    MatrixTile turned = p.tile;
    std::swap(turned.rows, turned.columns);
    const TileGrid grid = GridOf(p.gemm, p.tile);
    const TileGrid other = GridOf(p.gemm, turned);
    EXPECT_TRUE(grid.rows * grid.columns == p.tiles ||
                other.rows * other.columns == p.tiles)
        << p.id;
  }
}

// 2304 x 6144 weights are 18 x 24 = 432 tiles of 128 x 256: 4 on each of 108
// units. An FP32 sum is read and written, 8 bytes instead of the 2 of a 16-bit
// result: 6 x 128 x 256 bytes more per tile, at so many bytes per cycle.
TEST(GemmTime, AnEpilogueTakesTimeByTheBytesOfItsResult) {
  auto chip = KernelChip::Create(PresetChip("a100_sxm_80"),
                                 PresetKernels("a100_sxm_80"));
  ASSERT_OK(chip.status());
  const double rate = *chip->constants.epilogue_bytes_per_cycle;
  // Memory must not bind.
  chip->memory_rate *= 1000;
  const MatrixTile tile{
      .rows = 128, .columns = 256, .step_bytes = 64, .resident = 1};
  const Gemm plain{.m = 2304, .n = 6144, .k = 8192};
  Gemm sum = plain;
  sum.output = DType::kFp32;
  sum.accumulate = true;
  const double more = TimeGemm(sum, *chip, tile, 1).seconds -
                      TimeGemm(plain, *chip, tile, 1).seconds;
  EXPECT_NEAR(more, 4 * 6 * 128 * 256 / rate * chip->cycle, 1e-9);
}

// Heads of 108 are 216 bytes, no multiple of 16: 2 m n k FLOP x 72 products go
// at two thirds of the vector rate (64 of 96 slots multiply, 32 widen the 16
// operands), in 4 steps of 32 where 3.4 would do. Beginnings and ends of tiles
// and the scores on their way to memory come on top, a tenth here. Heads of 112
// stay on the matrix units.
TEST(GemmTime, BatchesOfUnalignedRowsRunOnTheVectorUnits) {
  auto chip = KernelChip::Create(PresetChip("a100_sxm_80"),
                                 PresetKernels("a100_sxm_80"));
  ASSERT_OK(chip.status());
  const Gemm scores{.m = 2048, .n = 2048, .k = 108, .batch = 72};
  const double on_matrix = TimeGemm(scores, *chip).estimate.seconds;
  chip->constants.batch_alignment = 16;
  const double on_vector = TimeGemm(scores, *chip).estimate.seconds;
  const double flops = 2.0 * 2048 * 2048 * 128 * 72;
  const double products = flops / (chip->vector_rate * 2 / 3);
  EXPECT_GT(on_vector, products);
  EXPECT_LT(on_vector, 1.1 * products);
  EXPECT_GT(on_vector, 3 * on_matrix);
  Gemm aligned = scores;
  aligned.k = 112;
  EXPECT_LT(TimeGemm(aligned, *chip).estimate.seconds, 1.2 * on_matrix);
  // A product by itself starts where it likes.
  Gemm alone = scores;
  alone.batch = 1;
  chip->constants.batch_alignment = 1;
  const double anywhere = TimeGemm(alone, *chip).estimate.seconds;
  chip->constants.batch_alignment = 16;
  EXPECT_EQ(TimeGemm(alone, *chip).estimate.seconds, anywhere);
}

// An A100 on which neither memory nor the cache binds.
KernelChip BareChip() {
  auto chip = KernelChip::Create(PresetChip("a100_sxm_80"),
                                 PresetKernels("a100_sxm_80"));
  CHECK(chip.ok()) << chip.status().ToString();
  chip->memory_rate *= 1000;
  chip->cache_rate *= 1000;
  return *std::move(chip);
}

// 6 x 9 = 54 tiles of 256 x 256: one on each of 54 pairs, or on half of the 108
// units. A pair is through in half the time, but for the beginning and end.
TEST(GemmTime, UnitsThatShareATileShareItsMainLoop) {
  const KernelChip chip = BareChip();
  const Gemm g{.m = 6 * 256, .n = 9 * 256, .k = 8192};
  MatrixTile tile{.rows = 256, .columns = 256, .step_bytes = 64, .resident = 1};
  const double ends =
      chip.TileEnds(BytesPerElement(g.output) * tile.rows * tile.columns);
  const double alone = TimeGemm(g, chip, tile, 1).seconds - chip.launch - ends;
  tile.units = 2;
  const double shared = TimeGemm(g, chip, tile, 1).seconds - chip.launch - ends;
  EXPECT_NEAR(shared / alone, 0.5, 1e-3);
  // One tile more than there are pairs is a second round.
  Gemm more = g;
  more.m += 256;
  EXPECT_NEAR(TimeGemm(more, chip, tile, 1).seconds - chip.launch - 2 * ends,
              2 * shared, 1e-3 * alone);
}

TEST(GemmTime, AddingUpASplitReductionMayBeAKernelOfItsOwn) {
  KernelChip chip = BareChip();
  const Gemm g{.m = 64, .n = 256, .k = 16384};
  const MatrixTile tile{
      .rows = 64, .columns = 64, .step_bytes = 64, .resident = 1};
  const double before = TimeGemm(g, chip, tile, 4).seconds;
  const double whole = TimeGemm(g, chip, tile, 1).seconds;
  chip.constants.split_launch = std::chrono::microseconds(3);
  EXPECT_NEAR(TimeGemm(g, chip, tile, 4).seconds - before, 3e-6, 1e-12);
  EXPECT_EQ(TimeGemm(g, chip, tile, 1).seconds, whole);
  // What costs more than it gains is not done.
  chip.constants.split_launch = std::chrono::microseconds(1000);
  EXPECT_EQ(TimeGemm(g, chip).split, 1);
}

// A format with tiles of 128 rows pads 16 to them, however small those of the
// others are.
TEST(GemmTime, AFormatMayHaveTilesOfItsOwn) {
  KernelChip chip = BareChip();
  const MatrixTile only{
      .rows = 128, .columns = 64, .step_bytes = 64, .resident = 1};
  const Gemm g{.m = 16, .n = 4096, .k = 4096, .operand = DType::kFp8};
  EXPECT_LT(TimeGemm(g, chip).tile.rows, 128);
  chip.constants.precisions.push_back({.dtype = DType::kFp8,
                                       .efficiency = 1,
                                       .max_split = 1,
                                       .tiles = {only},
                                       .step_cycles = std::nullopt});
  EXPECT_EQ(TimeGemm(g, chip).tile.rows, 128);
  Gemm other = g;
  other.operand = DType::kBf16;
  EXPECT_LT(TimeGemm(other, chip).tile.rows, 128);
}

// A product on 27 of 108 units keeps at most a quarter of the peak busy: its
// clock is the nominal one, where that of the whole chip is lowered. One that
// fills the chip draws what a large product draws.
TEST(GemmTime, AProductThatLeavesUnitsIdleIsSlowedDownLess) {
  KernelChip chip = BareChip();
  ASSERT_FALSE(chip.power.fixed());
  const MatrixTile tile{
      .rows = 128, .columns = 128, .step_bytes = 64, .resident = 1};
  const Gemm few{.m = 3 * 128, .n = 9 * 128, .k = 65536};
  const Gemm all{.m = 12 * 128, .n = 9 * 128, .k = 65536};
  const double slow = TimeGemm(few, chip, tile, 1).seconds - chip.launch;
  const double large = TimeGemm(all, chip, tile, 1).seconds - chip.launch;
  chip.clock_by_share = true;
  const double fast = TimeGemm(few, chip, tile, 1).seconds - chip.launch;
  const double eff = chip.constants.matrix_efficiency;
  const double lowered = chip.power.Clock(DType::kBf16, eff, kProductMemory);
  ASSERT_LT(lowered, 0.97);
  EXPECT_EQ(chip.power.Clock(DType::kBf16, eff / 4, kProductMemory), 1);
  EXPECT_NEAR(fast / slow, lowered, 0.002);
  EXPECT_NEAR((TimeGemm(all, chip, tile, 1).seconds - chip.launch) / large, 1,
              0.01);
}

TEST(GemmTime, WithTheProfiledTileAndClockIsNearTheProfiledTime) {
  constexpr double kMean = 0.04;
  constexpr double kWorst = 0.10;
  double sum = 0;
  int count = 0;
  for (const GemmProfile& p : Profiles()) {
    if (p.gemm.k < 1024 || p.gemm.n < 1024) continue;
    const double error = std::abs(ErrorOf(p).time);
    EXPECT_LT(error, kWorst) << p.id;
    sum += error;
    ++count;
  }
  ASSERT_GT(count, 10);
  EXPECT_LT(sum / count, kMean);
}

}  // namespace
}  // namespace orrery
