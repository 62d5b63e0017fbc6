#pragma once
// Flags whose values are numbers, formats or quantities.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cli/flags/command.h"
#include "cost/kernel/kernel_chip.h"
#include "topology/machine/chip.h"
#include "topology/machine/dtype.h"

namespace orrery {

// A whole number within [1, 10^12]; `fallback` if the flag is not given, and an
// error if there is none.
absl::StatusOr<int64_t> CountFlag(const Arguments& arguments,
                                  absl::string_view flag,
                                  std::optional<int64_t> fallback);

// The same for a flag that fills a field: within the range that the field has.
absl::StatusOr<int64_t> FieldFlag(const Arguments& arguments,
                                  absl::string_view flag,
                                  const google::protobuf::Descriptor& message,
                                  const std::string& field, int64_t fallback);

// bf16, fp8, ... as in the schema, in any case.
absl::StatusOr<DType> DTypeFlag(const Arguments& arguments,
                                absl::string_view flag, DType fallback);

// --graph, --additive and --clock: how kernels are started and timed.
std::vector<Flag> KernelOptionFlags();
// A clock is at most the highest one that the chip states.
absl::StatusOr<KernelOptions> ReadKernelOptions(const Arguments& arguments,
                                                const Chip& chip);

// An error if the chip has no matrix units for operands of this format; it
// lists those it has.
absl::Status CheckMatrixFormat(DType dtype, const Chip& chip);

}  // namespace orrery
