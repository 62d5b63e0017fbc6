#include "catalog/resolve.h"

#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/strip.h>

#include <optional>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "catalog/finite.h"
#include "catalog/nearest.h"
#include "catalog/override.h"
#include "catalog/preset_file.h"
#include "catalog/scenario_parts.h"
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

// Names a preset, which decides what the other fields override.
bool NamesPreset(const Override& each) {
  return absl::EndsWith(each.path, ".preset") ||
         absl::EndsWith(each.path, ".default_kernels");
}

// Whether a published run is another one with these: prices are no part of it.
bool ChangesRun(absl::Span<const Override> overrides) {
  return absl::c_any_of(overrides, [](const Override& each) {
    return !absl::StartsWith(each.path, "cost.") && each.path != "name" &&
           each.path != "seed";
  });
}

void ReplaceSystem(pb::System* system) {
  std::optional<int> nodes;
  if (system->has_nodes()) nodes = system->nodes();
  system->Clear();
  if (nodes) system->set_nodes(*nodes);
}

// The part keeps nothing of what it was, but for the size of the machine.
absl::Status ReplacePart(const Override& preset, pb::Scenario* scenario) {
  if (preset.path == "model.preset") {
    scenario->clear_model();
  } else if (preset.path == "system.preset") {
    ReplaceSystem(scenario->mutable_system());
  } else if (preset.path == "inference.disaggregated.prefill_system.preset") {
    ReplaceSystem(scenario->mutable_inference()
                      ->mutable_disaggregated()
                      ->mutable_prefill_system());
  } else if (preset.path == "system.chip.preset") {
    scenario->mutable_system()->clear_chip();
  } else if (preset.path == "kernels.preset") {
    scenario->clear_kernels();
  } else if (preset.path == "inference.engine.preset") {
    scenario->mutable_inference()->clear_engine();
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

// "mine" of "runs/mine.textproto": what a scenario without a name is called.
std::string NameFrom(absl::string_view origin) {
  origin = origin.substr(origin.rfind('/') + 1);
  absl::ConsumeSuffix(&origin, ".textproto");
  if (origin.empty() || origin == "-") return "unnamed";
  return std::string(origin);
}

// What to type for somebody who named a part instead of a scenario.
std::string WhatToType(const Catalog& catalog, const std::string& name) {
  const std::string kind = catalog.KindOf(name);
  std::string part;
  if (catalog.Has("models", name)) {
    part = "model.preset";
  } else if (catalog.Has("systems", name)) {
    part = "system.preset";
  } else if (catalog.Has("chips", name)) {
    part = "system.chip.preset";
  } else {
    part = "kernels.preset";
  }
  return fmt::format(
      "'{}' is {}, not a scenario; name a scenario and put it in: 'quickstart "
      "--set {}={}' ('orrery list scenarios' shows the presets)",
      name, kind, part, name);
}

absl::StatusOr<pb::Scenario> MergeScenarioText(
    const Catalog& catalog, absl::string_view text, absl::string_view origin,
    absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(const std::vector<Override> overrides, ParseOverrides(sets));
  pb::Scenario scenario;
  RETURN_IF_ERROR(CheckMessageComment(text, origin, *scenario.descriptor()));
  RETURN_IF_ERROR(ParseTextproto(text, origin, &scenario));
  RebasePaths(catalog, std::string(origin), &scenario);
  for (const Override& each : overrides) {
    if (NamesPreset(each)) {
      RETURN_IF_ERROR(ReplacePart(each, &scenario));
    }
  }
  RETURN_IF_ERROR(CheckParts(scenario, origin));
  if (absl::Status merged = MergeParts(catalog, &scenario); !merged.ok()) {
    return Annotate(merged, origin);
  }
  for (const Override& each : overrides) {
    if (!NamesPreset(each)) {
      RETURN_IF_ERROR(ApplyOverride(each, &scenario));
    }
  }
  RETURN_IF_ERROR(CheckParts(scenario, origin));
  if (ChangesRun(overrides)) scenario.clear_measured();
  // Whoever calls it, it has a name.
  if (scenario.name().empty()) scenario.set_name(NameFrom(origin));
  Violations violations;
  CheckFinite(scenario, "", &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return scenario;
}

}  // namespace

absl::StatusOr<pb::Scenario> ResolveScenarioText(
    const Catalog& catalog, absl::string_view text, absl::string_view origin,
    absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(pb::Scenario merged,
                   MergeScenarioText(catalog, text, origin, sets));
  FillDefaults(&merged);
  return merged;
}

absl::StatusOr<pb::Scenario> MergeScenario(const Catalog& catalog,
                                           const std::string& scenario,
                                           absl::Span<const std::string> sets) {
  for (const EmbeddedPreset& preset : catalog.presets()) {
    if (preset.kind == "scenarios" && preset.name == scenario) {
      return MergeScenarioText(
          catalog, preset.text,
          fmt::format("catalog/scenarios/{}.textproto", scenario), sets);
    }
  }
  if (catalog.HasAny(scenario)) {
    return absl::InvalidArgumentError(WhatToType(catalog, scenario));
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
  return MergeScenarioText(catalog, *text, scenario, sets);
}

absl::StatusOr<pb::Scenario> ResolveScenario(
    const Catalog& catalog, const std::string& scenario,
    absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(pb::Scenario merged, MergeScenario(catalog, scenario, sets));
  FillDefaults(&merged);
  return merged;
}

absl::StatusOr<pb::System> ResolveSystem(const Catalog& catalog,
                                         absl::string_view name,
                                         absl::Span<const std::string> sets) {
  ASSIGN_OR_RETURN(const std::vector<Override> overrides, ParseOverrides(sets));
  pb::Scenario scenario;
  scenario.mutable_system()->set_preset(std::string(name));
  RETURN_IF_ERROR(MergeSystem(catalog, "system", scenario.mutable_system()));
  for (const Override& each : overrides) {
    RETURN_IF_ERROR(ApplyOverride(each, &scenario));
  }
  FillDefaults(&scenario);
  Violations violations;
  CheckFinite(scenario.system(), "system", &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return scenario.system();
}

}  // namespace orrery
