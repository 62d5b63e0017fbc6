#pragma once
// Fields of a kernel timing, checked as they are read; the error names the
// column, its value and what would be legal.
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "base/csv.h"
#include "topology/machine/dtype.h"

namespace orrery {

absl::StatusOr<double> PositiveField(const CsvTable::Row& row,
                                     const char* column);
// A whole number.
absl::StatusOr<int64_t> SizeField(const CsvTable::Row& row, const char* column);
// As published tables spell formats: "bf16", "bfloat16", "fp8 e4m3".
absl::StatusOr<DType> ParseFormat(const std::string& text);

}  // namespace orrery
