#include "accuracy/gemm_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accuracy/kernel_row_fields.h"
#include "base/format.h"
#include "base/status.h"
#include "cost/kernel/gemm_time.h"
#include "cost/kernel/gemm_traffic.h"

namespace orrery {
namespace {

absl::StatusOr<GemmProfile> ReadProfile(const CsvTable::Row& row, int units) {
  GemmProfile p;
  p.id = row.Get("id").value_or(fmt::format("line {}", row.line()));
  ASSIGN_OR_RETURN(p.gemm.m, SizeField(row, "m"));
  ASSIGN_OR_RETURN(p.gemm.n, SizeField(row, "n"));
  ASSIGN_OR_RETURN(p.gemm.k, SizeField(row, "k"));
  p.gemm.operand = p.gemm.output = DType::kFp16;
  ASSIGN_OR_RETURN(const int64_t rows, SizeField(row, "tile_m"));
  ASSIGN_OR_RETURN(const int64_t columns, SizeField(row, "tile_n"));
  ASSIGN_OR_RETURN(const int64_t step, SizeField(row, "tile_k"));
  ASSIGN_OR_RETURN(const double waves, PositiveField(row, "waves_per_sm"));
  ASSIGN_OR_RETURN(p.tiles, PositiveField(row, "grid_ctas"));
  p.tile = {.rows = static_cast<int>(rows),
            .columns = static_cast<int>(columns),
            .step_bytes = static_cast<int>(2 * step),
            .resident = std::max(
                1, static_cast<int>(std::lround(p.tiles / (units * waves))))};
  ASSIGN_OR_RETURN(const double clock, PositiveField(row, "clock_GHz"));
  p.clock = Hertz(clock * 1e9);
  ASSIGN_OR_RETURN(const double microseconds, PositiveField(row, "time_us"));
  p.seconds = microseconds * 1e-6;
  ASSIGN_OR_RETURN(p.cache_read, PositiveField(row, "l2_read_bytes"));
  ASSIGN_OR_RETURN(p.cache_written, PositiveField(row, "l2_write_bytes"));
  ASSIGN_OR_RETURN(p.memory_read, PositiveField(row, "dram_read_bytes"));
  return p;
}

}  // namespace

absl::StatusOr<std::vector<GemmProfile>> ReadGemmProfiles(const CsvTable& table,
                                                          int units) {
  std::vector<GemmProfile> profiles;
  for (const CsvTable::Row& row : table.rows()) {
    absl::StatusOr<GemmProfile> profile = ReadProfile(row, units);
    if (!profile.ok()) {
      return Annotate(profile.status(), fmt::format("line {}", row.line()));
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
