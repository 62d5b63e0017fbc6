#include "catalog/resolve.h"

#include <absl/strings/match.h>

#include <optional>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "catalog/merge.h"
#include "catalog/nearest.h"
#include "catalog/override.h"
#include "catalog/textproto.h"

namespace orrery {
namespace {

absl::StatusOr<std::vector<Override>> ParseOverrides(
    absl::Span<const std::string> sets) {
  std::vector<Override> overrides;
  for (const std::string& set : sets) {
    ASSIGN_OR_RETURN(Override parsed, ParseOverride(set));
    overrides.push_back(std::move(parsed));
  }
  return overrides;
}

// Merges `part` over the preset it names, if it names one.
template <class Part>
absl::Status MergePreset(
    Part* part, absl::string_view field,
    absl::StatusOr<Part> (Catalog::*find)(absl::string_view) const,
    const Catalog& catalog) {
  if (!part->has_preset()) return absl::OkStatus();
  absl::StatusOr<Part> base = (catalog.*find)(part->preset());
  if (!base.ok()) {
    return Annotate(base.status(), fmt::format("{}.preset", field));
  }
  MergeOver(*part, &*base);
  *part = *std::move(base);
  return absl::OkStatus();
}

absl::Status MergeSystemPresets(const Catalog& catalog, pb::System* system) {
  RETURN_IF_ERROR(MergePreset(system, "system", &Catalog::System, catalog));
  if (!system->has_chip()) return absl::OkStatus();
  return MergePreset(system->mutable_chip(), "system.chip", &Catalog::Chip,
                     catalog);
}

// The name of the framework that is the default for chips of this vendor, or of
// the one for all others; "" if the catalogue has neither.
absl::StatusOr<std::string> DefaultFramework(const Catalog& catalog,
                                             const std::string& vendor) {
  std::string others;
  for (const std::string& name : catalog.Names("frameworks")) {
    ASSIGN_OR_RETURN(const pb::Framework framework, catalog.Framework(name));
    for (const std::string& known : framework.default_for()) {
      if (known == vendor) return name;
      if (known.empty()) others = name;
    }
  }
  return others;
}

// Merges what the scenario says of the framework over the preset it names, or
// over the default for the chip. Only training has one.
absl::Status MergeFramework(const Catalog& catalog, pb::Scenario* scenario) {
  if (!scenario->has_training()) return absl::OkStatus();
  pb::Framework* framework = scenario->mutable_framework();
  if (framework->has_preset()) {
    return MergePreset(framework, "framework", &Catalog::Framework, catalog);
  }
  if (framework->has_name()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const std::string name,
      DefaultFramework(catalog, scenario->system().chip().vendor()));
  if (name.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(pb::Framework base, catalog.Framework(name));
  base.set_preset(name);
  MergeOver(*framework, &base);
  *framework = std::move(base);
  return absl::OkStatus();
}

// Merges what the scenario says of kernels over the preset it names, or over
// the chip's default with what the framework has of its own.
absl::Status MergeKernels(const Catalog& catalog, pb::Scenario* scenario) {
  pb::Kernels* kernels = scenario->mutable_kernels();
  if (kernels->has_preset()) {
    return MergePreset(kernels, "kernels", &Catalog::Kernels, catalog);
  }
  // A machine without a chip is for validation to explain.
  if (kernels->has_name() || !scenario->system().has_chip()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(pb::Kernels base,
                   ResolveKernels(catalog, scenario->system().chip(), ""));
  base.set_preset(scenario->system().chip().default_kernels());
  if (scenario->framework().has_kernels()) {
    MergeOver(scenario->framework().kernels(), &base);
  }
  MergeOver(*kernels, &base);
  *kernels = std::move(base);
  return absl::OkStatus();
}

// Names a preset, which decides what the other fields override.
bool NamesPreset(const Override& each) {
  return absl::EndsWith(each.path, ".preset") ||
         absl::EndsWith(each.path, ".default_kernels");
}

// The part keeps nothing of what it was, but for the size of the machine.
absl::Status ReplacePart(const Override& preset, pb::Scenario* scenario) {
  if (preset.path == "model.preset") {
    scenario->clear_model();
  } else if (preset.path == "system.preset") {
    std::optional<int> nodes;
    if (scenario->system().has_nodes()) nodes = scenario->system().nodes();
    scenario->clear_system();
    if (nodes) scenario->mutable_system()->set_nodes(*nodes);
  } else if (preset.path == "system.chip.preset") {
    scenario->mutable_system()->clear_chip();
  } else if (preset.path == "kernels.preset") {
    scenario->clear_kernels();
  } else if (preset.path == "framework.preset") {
    scenario->clear_framework();
  }
  return ApplyOverride(preset, scenario);
}

absl::Status CheckParts(const pb::Scenario& scenario,
                        absl::string_view origin) {
  Violations violations;
  if (!scenario.has_model()) {
    violations.Add(fmt::format(
        "{}: model is missing; add model {{ preset: \"llama3_8b\" }}", origin));
  }
  if (!scenario.has_system()) {
    violations.Add(
        fmt::format("{}: system is missing; add system {{ preset: "
                    "\"dgx_h100_ib400\" nodes: 1 }}",
                    origin));
  }
  if (scenario.has_training() == scenario.has_inference()) {
    violations.Add(fmt::format(
        "{}: a scenario has a training block or an inference block; this one "
        "has {}",
        origin, scenario.has_training() ? "both" : "neither"));
  }
  if (!scenario.has_training() && scenario.has_framework()) {
    violations.Add(
        fmt::format("{}: framework is about training; leave it out", origin));
  }
  return violations.ToStatus();
}

}  // namespace

absl::StatusOr<pb::Scenario> ResolveScenarioText(
    const Catalog& catalog, absl::string_view text, absl::string_view origin,
    absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(const std::vector<Override> overrides, ParseOverrides(sets));
  pb::Scenario scenario;
  RETURN_IF_ERROR(ParseTextproto(text, origin, &scenario));
  for (const Override& each : overrides) {
    if (NamesPreset(each)) {
      RETURN_IF_ERROR(ReplacePart(each, &scenario));
    }
  }
  RETURN_IF_ERROR(CheckParts(scenario, origin));
  absl::Status merged =
      MergePreset(scenario.mutable_model(), "model", &Catalog::Model, catalog);
  if (merged.ok()) {
    merged = MergeSystemPresets(catalog, scenario.mutable_system());
  }
  if (merged.ok()) merged = MergeFramework(catalog, &scenario);
  if (merged.ok()) merged = MergeKernels(catalog, &scenario);
  if (!merged.ok()) return Annotate(merged, origin);
  for (const Override& each : overrides) {
    if (!NamesPreset(each)) {
      RETURN_IF_ERROR(ApplyOverride(each, &scenario));
    }
  }
  RETURN_IF_ERROR(CheckParts(scenario, origin));
  FillDefaults(&scenario);
  return scenario;
}

absl::StatusOr<pb::Scenario> ResolveScenario(
    const Catalog& catalog, const std::string& scenario,
    absl::Span<const std::string> sets) {
  for (const EmbeddedPreset& preset : catalog.presets()) {
    if (preset.kind == "scenarios" && preset.name == scenario) {
      return ResolveScenarioText(
          catalog, preset.text,
          fmt::format("catalog/scenarios/{}.textproto", scenario), sets);
    }
  }
  absl::StatusOr<std::string> text =
      ReadFile(scenario == "-" ? "/dev/stdin" : scenario);
  // Without a dot or a slash it was probably meant as a preset's name.
  if (absl::IsNotFound(text.status()) &&
      scenario.find_first_of("./") == std::string::npos) {
    return absl::NotFoundError(fmt::format(
        "there is no scenario and no file '{}'{} ('orrery list scenarios' "
        "shows the presets)",
        scenario.substr(0, 200),
        DidYouMean(scenario, catalog.Names("scenarios"))));
  }
  if (!text.ok()) return text.status();
  return ResolveScenarioText(catalog, *text, scenario, sets);
}

absl::StatusOr<pb::System> ResolveSystem(const Catalog& catalog,
                                         absl::string_view name,
                                         absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(const std::vector<Override> overrides, ParseOverrides(sets));
  pb::Scenario scenario;
  scenario.mutable_system()->set_preset(std::string(name));
  RETURN_IF_ERROR(MergeSystemPresets(catalog, scenario.mutable_system()));
  for (const Override& each : overrides) {
    RETURN_IF_ERROR(ApplyOverride(each, &scenario));
  }
  FillDefaults(&scenario);
  return scenario.system();
}

absl::StatusOr<pb::Kernels> ResolveKernels(const Catalog& catalog,
                                           const pb::Chip& chip,
                                           absl::string_view name) {
  if (!name.empty()) return catalog.Kernels(name);
  if (!chip.has_default_kernels()) {
    return absl::InvalidArgumentError(fmt::format(
        "chip '{}' has no default_kernels; name a kernels preset ('orrery list "
        "kernels' shows them)",
        chip.name()));
  }
  absl::StatusOr<pb::Kernels> kernels = catalog.Kernels(chip.default_kernels());
  if (!kernels.ok()) {
    return Annotate(kernels.status(), "system.chip.default_kernels");
  }
  return kernels;
}

}  // namespace orrery
