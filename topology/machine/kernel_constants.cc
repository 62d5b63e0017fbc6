#include "topology/machine/kernel_constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "proto/source.pb.h"

namespace orrery {
namespace {

constexpr int kMaxTile = 4096;
constexpr int kMaxResident = 64;
constexpr int kMaxRow = 1 << 30;
constexpr double kMaxCycles = 1e6;

MatrixTile ReadTile(const FieldReader& fields) {
  return {.rows = fields.Count("rows", 1, kMaxTile),
          .columns = fields.Count("columns", 1, kMaxTile),
          .step_bytes = fields.Count("step_bytes", 1, kMaxTile),
          .resident = fields.Count("resident", 1, kMaxResident),
          .units = fields.OptionalCount("units", 1, kMaxResident).value_or(1)};
}

KernelPrecision ReadPrecision(const FieldReader& fields) {
  const auto dtype = fields.Enum<pb::DType>("dtype");
  KernelPrecision precision{
      .dtype = dtype == pb::DTYPE_UNSPECIFIED ? DType::kBf16 : FromProto(dtype),
      .efficiency = fields.Efficiency("efficiency"),
      .max_split = fields.OptionalCount("max_split", 1, kMaxTile),
      .tiles = {},
      .step_cycles = fields.OptionalReal("step_cycles", 0, kMaxCycles),
      .memory_efficiency =
          fields.OptionalReal("memory_efficiency", 0.01, 1).value_or(1)};
  for (const FieldReader& tile : fields.Each("tile")) {
    precision.tiles.push_back(ReadTile(tile));
  }
  return precision;
}

FlashConstants ReadFlash(const FieldReader& fields) {
  // Where there is a library to compare with, both have acted already.
  for (const char* field : {"like", "slowdown"}) {
    if (fields.Has(field)) {
      fields.Refuse(
          field,
          "leave it out, or name another implementation by like: here "
          "there is none");
    }
  }
  return {
      .name = fields.Text("name"),
      .rows = fields.Count("rows", 1, kMaxTile),
      .columns = fields.Count("columns", 1, kMaxTile),
      .min_rows = fields.Count("min_rows", 1, kMaxTile),
      .efficiency = fields.Efficiency("efficiency"),
      .backward_efficiency = fields.Efficiency("backward_efficiency"),
      .softmax_operations = fields.Real("softmax_operations", 0, 100),
      .softmax_exposed = fields.Share("softmax_exposed"),
      .backward_exposed = fields.Real("backward_exposed", 0, 10),
      .combine = fields.NonNegative<Duration>("combine"),
      .hardware_exponentials =
          fields.OptionalReal("hardware_exponentials", 0, 1).value_or(1),
      .head_unit = fields.OptionalCount("head_unit", 1, kMaxTile).value_or(1),
      .tile_cycles = fields.OptionalReal("tile_cycles", 0, kMaxCycles),
      .start = fields.Has("start") ? fields.NonNegative<Duration>("start")
                                   : Duration()};
}

// The known implementations of attention, and the one that is named.
void ReadAttention(const FieldReader& fields, KernelConstants& kernels) {
  std::vector<std::string> names;
  for (const FieldReader& flash : fields.Each("flash_attention")) {
    kernels.flash_attention.push_back(ReadFlash(flash));
    const std::string& name = kernels.flash_attention.back().name;
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      flash.Refuse("name",
                   fmt::format("'{}' is given twice; leave one out", name));
    }
    names.push_back(name);
  }
  if (names.empty()) {
    fields.Refuse("flash_attention",
                  "not set; give at least one implementation of attention");
    return;
  }
  const std::string chosen = fields.Text("attention");
  if (fields.IsRefused("attention")) return;
  for (const FlashConstants& flash : kernels.flash_attention) {
    if (flash.name == chosen) {
      kernels.attention = flash;
      return;
    }
  }
  fields.Refuse("attention",
                fmt::format("'{}' is not known here; these kernels have {}",
                            chosen, fmt::join(names, ", ")));
}

ProductTable ReadProductTable(const FieldReader& fields) {
  const auto dtype = fields.Enum<pb::DType>("dtype");
  ProductTable table{
      .dtype = dtype == pb::DTYPE_UNSPECIFIED ? DType::kBf16 : FromProto(dtype),
      .columns = fields.Count("columns", 1, kMaxRow),
      .reduction = fields.Count("reduction", 1, kMaxRow),
      .points = {}};
  for (const FieldReader& point : fields.Each("point")) {
    const int64_t rows = point.Count("rows", 1, kMaxRow);
    if (!table.points.empty() && rows <= table.points.back().rows) {
      point.Refuse("rows", "points must stand in ascending order of rows");
    }
    table.points.push_back(
        {.rows = rows, .time = point.Positive<Duration>("time")});
  }
  return table;
}

}  // namespace

KernelConstants ReadKernelConstants(const FieldReader& fields) {
  KernelConstants kernels{
      .matrix_efficiency = fields.Efficiency("matrix_efficiency"),
      .memory_efficiency = fields.Efficiency("memory_efficiency"),
      .launch = fields.NonNegative<Duration>("launch"),
      .graph_launch = fields.NonNegative<Duration>("graph_launch"),
      .tiles = {},
      .precisions = {},
      .tile_overhead_cycles =
          fields.Real("tile_overhead_cycles", 0, kMaxCycles),
      .epilogue_bytes_per_cycle =
          fields.OptionalReal("epilogue_bytes_per_cycle", 1, 1024),
      .step_cycles = fields.Real("step_cycles", 0, kMaxCycles),
      .overlap_exponent = fields.Real("overlap_exponent", 1, 100),
      .cache_efficiency = fields.Efficiency("cache_efficiency"),
      .split_launch = fields.Has("split_launch")
                          ? fields.NonNegative<Duration>("split_launch")
                          : Duration(),
      .multicast = fields.Count("multicast", 1, kMaxResident),
      .raster_rows = fields.Count("raster_rows", 1, kMaxTile),
      .cache_reach = fields.Real("cache_reach", 0.01, 100),
      .clock_by_share = fields.Flag("clock_by_share"),
      .batch_alignment =
          fields.OptionalCount("batch_alignment", 1, kMaxTile).value_or(1),
      .attention = {},
      .flash_attention = {},
      .grouped_launch = fields.NonNegative<Duration>("grouped_launch"),
      .grouped_efficiency = fields.Efficiency("grouped_efficiency"),
      .norm_row_limit = fields.Count("norm_row_limit", 1, kMaxRow),
      .softmax_row_limit = fields.Count("softmax_row_limit", 1, kMaxRow),
      .quantize_efficiency = fields.Efficiency("quantize_efficiency"),
      .quantize_launch = fields.NonNegative<Duration>("quantize_launch"),
      .taken_over = fields.Flag("taken_over"),
      .fitted_rows = fields.Texts("fitted_row"),
      .measured = {},
      .use_measured = fields.Flag("use_measured")};
  for (const FieldReader& tile : fields.Each("tile")) {
    kernels.tiles.push_back(ReadTile(tile));
  }
  if (kernels.tiles.empty()) {
    fields.Refuse("tile",
                  "not set; write for example { rows: 128 columns: 128 "
                  "step_bytes: 64 resident: 2 }");
  }
  ReadAttention(fields, kernels);
  for (const FieldReader& table : fields.Each("measured")) {
    kernels.measured.push_back(ReadProductTable(table));
  }
  for (const FieldReader& precision : fields.Each("precision")) {
    kernels.precisions.push_back(ReadPrecision(precision));
  }
  return kernels;
}

}  // namespace orrery
