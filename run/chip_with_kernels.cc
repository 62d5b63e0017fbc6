#include "run/chip_with_kernels.h"

#include <absl/strings/match.h>

#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/chip_like.h"
#include "catalog/legal.h"
#include "catalog/override.h"
#include "catalog/resolve.h"

namespace orrery {

absl::Status ChipProtos::Set(const std::string& set) {
  constexpr absl::string_view kKernels = "kernels.";
  ASSIGN_OR_RETURN(Override change, ParseOverride(set));
  if (!absl::StartsWith(change.path, kKernels)) {
    return ApplyOverride(change, &chip);
  }
  change.path.erase(0, kKernels.size());
  return ApplyOverride(change, &kernels);
}

absl::StatusOr<ChipWithKernels> ChipProtos::ToValues() const {
  Violations numbers;
  CheckLegal(chip, "chip", &numbers);
  CheckLegal(kernels, "kernels", &numbers);
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
                                          absl::string_view library,
                                          absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(const pb::Scenario alone,
                   ResolveChipAlone(Catalog(), chip, library, sets));
  ChipProtos protos{alone.system().chip(), alone.kernels()};
  protos.chip.clear_preset();
  protos.kernels.clear_preset();
  return protos;
}

absl::StatusOr<ChipWithKernels> LoadChip(absl::string_view chip,
                                         absl::string_view library,
                                         absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(const ChipProtos protos,
                   LoadChipProtos(chip, library, sets));
  return protos.ToValues();
}

}  // namespace orrery
