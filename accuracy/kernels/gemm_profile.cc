#include "accuracy/kernels/gemm_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "cost/kernel/gemm_time.h"
#include "cost/kernel/gemm_traffic.h"

namespace orrery {
namespace {

absl::StatusOr<GemmProfile> ReadProfile(const MeasurementRow& row, int units) {
  GemmProfile p;
  p.id = row.id();
  ASSIGN_OR_RETURN(p.gemm.m, row.Whole("m"));
  ASSIGN_OR_RETURN(p.gemm.n, row.Whole("n"));
  ASSIGN_OR_RETURN(p.gemm.k, row.Whole("k"));
  p.gemm.operand = p.gemm.output = DType::kFp16;
  ASSIGN_OR_RETURN(const int64_t rows, row.Whole("tile_m"));
  ASSIGN_OR_RETURN(const int64_t columns, row.Whole("tile_n"));
  ASSIGN_OR_RETURN(const int64_t step, row.Whole("tile_k"));
  ASSIGN_OR_RETURN(const double waves, row.Positive("waves_per_sm"));
  ASSIGN_OR_RETURN(p.tiles, row.Positive("grid_ctas"));
  p.tile = {.rows = static_cast<int>(rows),
            .columns = static_cast<int>(columns),
            .step_bytes = static_cast<int>(2 * step),
            .resident = std::max(
                1, static_cast<int>(std::lround(p.tiles / (units * waves))))};
  ASSIGN_OR_RETURN(const double clock, row.Positive("clock_GHz"));
  p.clock = Hertz(clock * 1e9);
  ASSIGN_OR_RETURN(const double microseconds, row.Positive("time_us"));
  p.seconds = microseconds * 1e-6;
  ASSIGN_OR_RETURN(p.cache_read, row.Positive("l2_read_bytes"));
  ASSIGN_OR_RETURN(p.cache_written, row.Positive("l2_write_bytes"));
  ASSIGN_OR_RETURN(p.memory_read, row.Positive("dram_read_bytes"));
  return p;
}

}  // namespace

absl::StatusOr<std::vector<GemmProfile>> ReadGemmProfiles(
    const MeasurementTable& table, int units) {
  std::vector<GemmProfile> profiles;
  for (const MeasurementRow& row : table.rows()) {
    absl::StatusOr<GemmProfile> profile = ReadProfile(row, units);
    if (!profile.ok()) {
      return Annotate(profile.status(),
                      fmt::format("{}: line {}", table.origin(), row.line()));
    }
    profiles.push_back(*std::move(profile));
  }
  return profiles;
}

absl::StatusOr<ProfileError> CompareProfile(const GemmProfile& p,
                                            const Chip& chip,
                                            const Kernels& kernels) {
  ASSIGN_OR_RETURN(const KernelChip timed,
                   KernelChip::Create(chip, kernels, {.clock = p.clock}));
  MatrixTile tile = p.tile;
  const auto cache_error = [&] {
    return CacheReadBytes(p.gemm, tile, timed) / p.cache_read - 1;
  };
  double error = cache_error();
  std::swap(tile.rows, tile.columns);
  if (std::abs(cache_error()) < std::abs(error)) {
    error = cache_error();
  } else {
    std::swap(tile.rows, tile.columns);
  }
  const double seconds = TimeGemm(p.gemm, timed, tile, /*split=*/1).seconds;
  return ProfileError{
      .time = seconds / p.seconds - 1,
      .cache_read = error,
      .cache_written = CacheWriteBytes(p.gemm) / p.cache_written - 1,
      .memory_read = MemoryReadBytes(p.gemm, tile, timed) / p.memory_read - 1};
}

}  // namespace orrery
