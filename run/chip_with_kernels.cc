#include "run/chip_with_kernels.h"

#include <absl/strings/match.h>

#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/chip_like.h"
#include "catalog/finite.h"
#include "catalog/override.h"
#include "catalog/scenario_parts.h"

namespace orrery {

absl::Status ChipProtos::Set(const std::string& set) {
  constexpr absl::string_view kKernels = "kernels.";
  ASSIGN_OR_RETURN(Override change, ParseOverride(set));
  if (change.path == "preset") {
    return absl::InvalidArgumentError(
        "preset: the chip is chosen by its own flag, --chip");
  }
  if (change.path == "default_kernels" || change.path == "kernels.preset") {
    return absl::InvalidArgumentError(
        fmt::format("{}: the kernels are chosen by their own flag, --library",
                    change.path));
  }
  if (!absl::StartsWith(change.path, kKernels)) {
    return ApplyOverride(change, &chip);
  }
  change.path.erase(0, kKernels.size());
  return ApplyOverride(change, &kernels);
}

absl::StatusOr<ChipWithKernels> ChipProtos::ToValues() const {
  Violations numbers;
  CheckFinite(chip, "chip", &numbers);
  CheckFinite(kernels, "kernels", &numbers);
  RETURN_IF_ERROR(numbers.ToStatus());
  absl::StatusOr<Chip> valid_chip = Chip::FromProto(chip);
  absl::StatusOr<Kernels> valid_kernels = Kernels::FromProto(kernels);
  Violations violations;
  violations.Add(valid_chip.status());
  violations.Add(valid_kernels.status());
  if (!valid_chip.ok()) {
    if (std::string hint = SuggestLike(Catalog(), chip); !hint.empty()) {
      violations.Add(std::move(hint));
    }
  }
  RETURN_IF_ERROR(violations.ToStatus());
  return ChipWithKernels{*std::move(valid_chip), *std::move(valid_kernels)};
}

absl::StatusOr<ChipProtos> LoadChipProtos(absl::string_view chip,
                                          absl::string_view library) {
  const Catalog catalog;
  ChipProtos protos;
  ASSIGN_OR_RETURN(protos.chip, ResolveChip(catalog, chip));
  ASSIGN_OR_RETURN(protos.kernels,
                   ResolveKernels(catalog, protos.chip, library));
  return protos;
}

absl::StatusOr<ChipWithKernels> LoadChip(absl::string_view chip,
                                         absl::string_view library,
                                         absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(ChipProtos protos, LoadChipProtos(chip, library));
  for (const std::string& set : sets) RETURN_IF_ERROR(protos.Set(set));
  return protos.ToValues();
}

}  // namespace orrery
