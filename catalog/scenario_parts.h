#pragma once
// The parts of a scenario, each with the preset that it names under it.
//
// A part says which preset it starts from; what it sets itself wins, and a list
// replaces a list whole. Parts that are not said take the default of their
// kind: kernels that of the chip, the framework that of the chip's vendor, the
// engine one for all. A preset may be a file everywhere (preset_file.h).
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>

#include "catalog/catalog.h"
#include "proto/scenario.pb.h"

namespace orrery {

// Whether every preset that the scenario names is there. For scenarios that
// cannot be merged, as their text could not be read to the end.
absl::Status CheckPresetNames(const Catalog& catalog, pb::Scenario said);

// Model, machines, framework, kernels and engine of `scenario`, in this order:
// kernels depend on the chip and on what the framework has of its own.
absl::Status MergeParts(const Catalog& catalog, pb::Scenario* scenario);

// A system and its chip; `path` is where it stands, for messages.
absl::Status MergeSystem(const Catalog& catalog, const std::string& path,
                         pb::System* system);

// The chip of a scenario that has nothing else, and its kernels.
absl::Status MergeChipAndKernels(const Catalog& catalog,
                                 pb::Scenario* scenario);

// A chip or a model by itself: a preset's name or the path of a file.
absl::StatusOr<pb::Chip> ResolveChip(const Catalog& catalog,
                                     absl::string_view name);
absl::StatusOr<pb::Model> ResolveModel(const Catalog& catalog,
                                       absl::string_view name);

// The kernels `name`, a preset's or a file, or if it is empty the chip's
// default.
absl::StatusOr<pb::Kernels> ResolveKernels(const Catalog& catalog,
                                           const pb::Chip& chip,
                                           absl::string_view name);

}  // namespace orrery
