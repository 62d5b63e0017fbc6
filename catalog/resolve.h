#pragma once
// From what the user typed to a scenario in which nothing is left open.
//
// In this order: the scenario's text (a preset's name or a file), what --set
// says instead, the presets merged under all that, and the defaults of choices
// (never of physical quantities). A --set is what the file would have said: it
// makes no difference where a value is written. Kernels that are not said are
// the chip's default; a kernels part with a name of its own and no preset
// stands by itself. The result prints as textproto that resolves to itself.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <string>

#include "catalog/catalog.h"
#include "proto/scenario.pb.h"

namespace orrery {

// Presets may be files everywhere (preset_file.h).
//
// `scenario` is the name of a preset or the path of a file ("-" is standard
// input); `sets` are PATH=VALUE texts as in catalog/override.h. A --set of a
// part's preset ("model.preset=llama3_8b") puts that preset in the place of the
// whole part, before any other --set; only a system's number of nodes stays.
absl::StatusOr<pb::Scenario> ResolveScenario(
    const Catalog& catalog, const std::string& scenario,
    absl::Span<const std::string> sets);

// The same without the defaults: what was said, with the presets under it. For
// those who go on changing it; FillDefaults makes it what ResolveScenario
// returns.
absl::StatusOr<pb::Scenario> MergeScenario(const Catalog& catalog,
                                           const std::string& scenario,
                                           absl::Span<const std::string> sets);

// As ResolveScenario, for text that is already there; `origin` is for messages.
absl::StatusOr<pb::Scenario> ResolveScenarioText(
    const Catalog& catalog, absl::string_view text, absl::string_view origin,
    absl::Span<const std::string> sets);

// A system by itself, with its chip merged in; for commands that need no plan.
// Whatever `sets` set is of the system.
absl::StatusOr<pb::System> ResolveSystem(const Catalog& catalog,
                                         absl::string_view name,
                                         absl::Span<const std::string> sets);

// A chip by itself, and its kernels: those of the preset or file `kernels`, or
// if that is empty the chip's default. Nothing else is in the scenario. Paths
// begin with "kernels." or are of the chip: "memory=96 GB".
absl::StatusOr<pb::Scenario> ResolveChipAlone(
    const Catalog& catalog, absl::string_view chip, absl::string_view kernels,
    absl::Span<const std::string> sets);

}  // namespace orrery
