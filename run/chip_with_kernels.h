#pragma once
// A chip with its kernels, from the catalogue: a preset's name, the name of
// another kernels preset than the chip's default, and changes of their fields.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <string>

#include "proto/chip.pb.h"
#include "proto/kernels.pb.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"

namespace orrery {

struct ChipWithKernels {
  Chip chip;
  Kernels kernels;
};

// The same as messages.
struct ChipProtos {
  pb::Chip chip;
  pb::Kernels kernels;

  // PATH=VALUE of what is merged already: of the kernels if the path begins
  // with "kernels.", else of the chip.
  absl::Status Set(const std::string& set);
  absl::StatusOr<ChipWithKernels> ToValues() const;
};

// `library` is a kernels preset; empty: the chip's default.
absl::StatusOr<ChipProtos> LoadChipProtos(absl::string_view chip,
                                          absl::string_view library,
                                          absl::Span<const std::string> sets);
absl::StatusOr<ChipWithKernels> LoadChip(absl::string_view chip,
                                         absl::string_view library,
                                         absl::Span<const std::string> sets);

}  // namespace orrery
