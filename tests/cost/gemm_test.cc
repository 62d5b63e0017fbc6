// Matrix products against Nsight Compute profiles of 24 cuBLAS kernels on an
// A100 (validation/gemm_a100_nsight.csv), each with its own tile and clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/file.h"
#include "cost/gemm_time.h"
#include "cost/gemm_traffic.h"
#include "tests/cost/chips.h"

namespace orrery {
namespace {

struct Profile {
  std::string id;
  Gemm gemm;
  MatrixTile tile;
  double clock;
  double seconds;
  double tiles;
  double memory_read;
  double cache_read;
  double cache_written;
};

std::vector<Profile> Profiles() {
  auto text = ReadFile("validation/gemm_a100_nsight.csv");
  CHECK(text.ok()) << text.status().ToString();
  auto table = CsvTable::Parse(*text);
  CHECK(table.ok()) << table.status().ToString();
  std::vector<Profile> profiles;
  for (const CsvTable::Row& row : table->rows()) {
    const auto integer = [&](const char* column) {
      return static_cast<int64_t>(row.Number(column).value());
    };
    const double waves = *row.Number("waves_per_sm");
    const double tiles = *row.Number("grid_ctas");
    profiles.push_back(
        {.id = row.Get("id").value(),
         .gemm = {.m = integer("m"),
                  .n = integer("n"),
                  .k = integer("k"),
                  .operand = DType::kFp16,
                  .output = DType::kFp16},
         .tile = {static_cast<int>(integer("tile_m")),
                  static_cast<int>(integer("tile_n")),
                  static_cast<int>(2 * integer("tile_k")),
                  static_cast<int>(std::lround(tiles / (108 * waves)))},
         .clock = *row.Number("clock_GHz") * 1e9,
         .seconds = *row.Number("time_us") * 1e-6,
         .tiles = tiles,
         .memory_read = *row.Number("dram_read_bytes"),
         .cache_read = *row.Number("l2_read_bytes"),
         .cache_written = *row.Number("l2_write_bytes")});
  }
  return profiles;
}

MatrixTile Transposed(MatrixTile tile) {
  std::swap(tile.rows, tile.columns);
  return tile;
}

KernelChip A100(double clock) {
  auto chip =
      KernelChip::FromChip(PresetChip("a100_sxm_80"), {.clock = Hertz(clock)});
  CHECK(chip.ok()) << chip.status().ToString();
  return *std::move(chip);
}

TEST(GemmTraffic, CacheBytesAreThoseOfTheProfiles) {
  constexpr double kTolerance = 0.001;
  for (const Profile& p : Profiles()) {
    // GEMM kernels used as GEMV, and a row whose profile is 5 % off the form.
    if (p.gemm.n == 1 || p.id == "G13") continue;
    const KernelChip chip = A100(p.clock);
    const double as_given = CacheReadBytes(p.gemm, p.tile, chip);
    const double transposed = CacheReadBytes(p.gemm, Transposed(p.tile), chip);
    EXPECT_LT(std::min(std::abs(as_given / p.cache_read - 1),
                       std::abs(transposed / p.cache_read - 1)),
              kTolerance)
        << p.id;
    EXPECT_LT(std::abs(CacheWriteBytes(p.gemm) / p.cache_written - 1),
              kTolerance)
        << p.id;
  }
}

TEST(GemmTraffic, MemoryReadsOfTallProductsAreWithinAQuarter) {
  for (const Profile& p : Profiles()) {
    if (p.gemm.m != 16384) continue;
    EXPECT_NEAR(MemoryReadBytes(p.gemm, p.tile, A100(p.clock)) / p.memory_read,
                1, 0.25)
        << p.id;
  }
}

TEST(GemmTraffic, NothingIsReadLessThanOnce) {
  const KernelChip chip = A100(1.4e9);
  for (const Profile& p : Profiles()) {
    EXPECT_GE(
        MemoryReadBytes(p.gemm, p.tile, chip) + MemoryWriteBytes(p.gemm) + 1,
        static_cast<double>(
            CompulsoryBytes(Op{OpName::kHead, Pass::kForward, p.gemm}).value()))
        << p.id;
  }
}

TEST(GemmTime, TilesAreThoseOfTheProfilesAndQuantiseOverTheUnits) {
  for (const Profile& p : Profiles()) {
    const TileGrid grid = GridOf(p.gemm, p.tile);
    const TileGrid turned = GridOf(p.gemm, Transposed(p.tile));
    EXPECT_TRUE(grid.rows * grid.columns == p.tiles ||
                turned.rows * turned.columns == p.tiles)
        << p.id;
  }
  // 256 tiles on 108 units: 2.37 of 3 rounds.
  EXPECT_DOUBLE_EQ(TileQuantisation(256, 108), 256.0 / 108 / 3);
}

TEST(GemmTime, WithTheProfiledTileAndClockIsNearTheProfiledTime) {
  constexpr double kMean = 0.04;
  constexpr double kWorst = 0.10;
  double sum = 0;
  int count = 0;
  for (const Profile& p : Profiles()) {
    if (p.gemm.k < 1024 || p.gemm.n < 1024) continue;
    const double seconds =
        TimeGemm(p.gemm, A100(p.clock), p.tile, /*split=*/1).seconds;
    const double error = std::abs(seconds / p.seconds - 1);
    EXPECT_LT(error, kWorst) << p.id << ": " << seconds * 1e6 << " us";
    sum += error;
    ++count;
  }
  ASSERT_GT(count, 10);
  EXPECT_LT(sum / count, kMean);
}

}  // namespace
}  // namespace orrery
