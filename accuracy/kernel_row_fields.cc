#include "accuracy/kernel_row_fields.h"

#include <absl/strings/match.h>

#include <cmath>

#include "base/format.h"
#include "base/status.h"

namespace orrery {

absl::StatusOr<double> PositiveField(const CsvTable::Row& row,
                                     const char* column) {
  const auto value = row.Number(column);
  if (value.has_value() && *value > 0 && *value < 1e15) return *value;
  return absl::InvalidArgumentError(
      fmt::format("column '{}' must be a positive number, got '{}'", column,
                  row.Get(column).value_or("")));
}

absl::StatusOr<int64_t> SizeField(const CsvTable::Row& row,
                                  const char* column) {
  ASSIGN_OR_RETURN(const double value, PositiveField(row, column));
  if (value == std::floor(value) && value <= 1e12) {
    return static_cast<int64_t>(value);
  }
  return absl::InvalidArgumentError(
      fmt::format("column '{}' must be a whole number up to 10^12, got '{}'",
                  column, row.Get(column).value_or("")));
}

absl::StatusOr<DType> ParseFormat(const std::string& text) {
  if (absl::StartsWith(text, "fp8")) return DType::kFp8;
  if (text == "bf16" || text == "bfloat16" || text == "fp16/bf16") {
    return DType::kBf16;
  }
  if (text == "fp16") return DType::kFp16;
  if (text == "fp4") return DType::kFp4;
  if (text == "fp32") return DType::kFp32;
  if (text == "fp64") return DType::kFp64;
  return absl::InvalidArgumentError(
      fmt::format("column 'dtype' must be bf16, fp16, fp8, fp4, fp32 or fp64, "
                  "got '{}'",
                  text));
}

}  // namespace orrery
