#include "catalog/resolve.h"

#include <absl/strings/match.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/chip_like.h"
#include "catalog/defaults.h"
#include "catalog/finite.h"
#include "catalog/merge.h"
#include "catalog/nearest.h"
#include "catalog/override.h"
#include "catalog/preset_file.h"
#include "catalog/textproto.h"

namespace orrery {
namespace {

constexpr char kDefaultEngine[] = "vllm";

absl::StatusOr<std::vector<Override>> ParseOverrides(
    absl::Span<const std::string> sets) {
  std::vector<Override> overrides;
  for (const std::string& set : sets) {
    ASSIGN_OR_RETURN(Override parsed, ParseOverride(set));
    overrides.push_back(std::move(parsed));
  }
  return overrides;
}

// Files that name files that name files; more is a circle.
constexpr int kMostFiles = 8;

// Merges `part` over the preset it names, if it names one. Of a file nothing is
// left but what it says, so that the result needs it no more.
template <class Part>
absl::Status MergePreset(
    Part* part, absl::string_view field,
    absl::StatusOr<Part> (Catalog::*find)(absl::string_view) const,
    const Catalog& catalog) {
  for (int files = 0; part->has_preset(); ++files) {
    const std::string name = part->preset();
    absl::StatusOr<Part> base = (catalog.*find)(name);
    if (!base.ok()) {
      return Annotate(base.status(), field);
    }
    const bool is_preset = catalog.HasAny(name);
    if (!is_preset) part->clear_preset();
    MergeOver(*part, &*base);
    *part = *std::move(base);
    if (is_preset) break;
    if (files == kMostFiles) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: '{}' names a file that names a file, and so on: more "
          "than {} of them",
          field, name, kMostFiles));
    }
  }
  return absl::OkStatus();
}

absl::Status MergeChipPresets(const Catalog& catalog, absl::string_view field,
                              pb::Chip* chip) {
  RETURN_IF_ERROR(MergePreset(chip, field, &Catalog::Chip, catalog));
  return CompleteLike(catalog, chip);
}

absl::Status MergeSystemPresets(const Catalog& catalog, const std::string& path,
                                pb::System* system) {
  RETURN_IF_ERROR(
      MergePreset(system, path + ".preset", &Catalog::System, catalog));
  if (!system->has_chip()) return absl::OkStatus();
  return MergeChipPresets(catalog, path + ".chip.preset",
                          system->mutable_chip());
}

// What a chip of one's own says of its kernels.
void ApplyChipEfficiency(const pb::Chip& chip, pb::Kernels* kernels) {
  if (chip.has_matrix_efficiency()) {
    kernels->set_matrix_efficiency(chip.matrix_efficiency());
  }
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

bool Knows(const pb::Kernels& kernels, const std::string& attention) {
  return std::any_of(kernels.flash_attention().begin(),
                     kernels.flash_attention().end(),
                     [&](const pb::FlashAttention& known) {
                       return known.name() == attention;
                     });
}

// Merges what is said of the kernels of a system over the preset it names, or
// over the chip's default with what the framework has of its own.
absl::Status MergeKernels(const Catalog& catalog, absl::string_view field,
                          const pb::System& system,
                          const pb::Framework& framework,
                          pb::Kernels* kernels) {
  if (kernels->has_preset()) {
    const bool says_so = kernels->has_matrix_efficiency();
    RETURN_IF_ERROR(MergePreset(kernels, field, &Catalog::Kernels, catalog));
    if (!says_so) ApplyChipEfficiency(system.chip(), kernels);
    return absl::OkStatus();
  }
  // A machine without a chip is for validation to explain.
  if (kernels->has_name() || !system.has_chip()) return absl::OkStatus();
  ASSIGN_OR_RETURN(pb::Kernels base,
                   ResolveKernels(catalog, system.chip(), ""));
  // A file's path would be relative to a file that is not named any more.
  if (catalog.HasAny(system.chip().default_kernels())) {
    base.set_preset(system.chip().default_kernels());
  }
  if (framework.has_kernels()) {
    const std::string own = base.attention();
    MergeOver(framework.kernels(), &base);
    // What software would rather run may not exist for the chip.
    if (!Knows(base, base.attention())) base.set_attention(own);
  }
  MergeOver(*kernels, &base);
  *kernels = std::move(base);
  return absl::OkStatus();
}

// The machines, each with the kernels of its chips; a pool may have its own.
absl::Status MergeMachines(const Catalog& catalog, pb::Scenario* scenario) {
  RETURN_IF_ERROR(
      MergeSystemPresets(catalog, "system", scenario->mutable_system()));
  if (!scenario->inference().disaggregated().has_prefill_system()) {
    return absl::OkStatus();
  }
  auto* pools = scenario->mutable_inference()->mutable_disaggregated();
  const std::string path = "inference.disaggregated.prefill_";
  RETURN_IF_ERROR(MergeSystemPresets(catalog, path + "system",
                                     pools->mutable_prefill_system()));
  return MergeKernels(catalog, path + "kernels.preset", pools->prefill_system(),
                      {}, pools->mutable_prefill_kernels());
}

// The engine that an inference scenario names, or the default one.
absl::Status MergeEngine(const Catalog& catalog, pb::Scenario* scenario) {
  if (!scenario->has_inference()) return absl::OkStatus();
  pb::Engine* engine = scenario->mutable_inference()->mutable_engine();
  if (!engine->has_preset() && !engine->has_name() &&
      catalog.Has("engines", kDefaultEngine)) {
    engine->set_preset(kDefaultEngine);
  }
  return MergePreset(engine, "inference.engine", &Catalog::Engine, catalog);
}

// Names a preset, which decides what the other fields override.
bool NamesPreset(const Override& each) {
  return absl::EndsWith(each.path, ".preset") ||
         absl::EndsWith(each.path, ".default_kernels");
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
  absl::Status merged = MergePreset(scenario.mutable_model(), "model.preset",
                                    &Catalog::Model, catalog);
  if (merged.ok()) merged = MergeMachines(catalog, &scenario);
  if (merged.ok()) merged = MergeFramework(catalog, &scenario);
  if (merged.ok()) {
    merged = MergeKernels(catalog, "kernels.preset", scenario.system(),
                          scenario.framework(), scenario.mutable_kernels());
    // They are among the scenario's kernels now, and act there.
    if (scenario.has_framework()) scenario.mutable_framework()->clear_kernels();
  }
  if (merged.ok()) merged = MergeEngine(catalog, &scenario);
  if (!merged.ok()) return Annotate(merged, origin);
  for (const Override& each : overrides) {
    if (!NamesPreset(each)) {
      RETURN_IF_ERROR(ApplyOverride(each, &scenario));
    }
  }
  RETURN_IF_ERROR(CheckParts(scenario, origin));
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
  RETURN_IF_ERROR(
      MergeSystemPresets(catalog, "system", scenario.mutable_system()));
  for (const Override& each : overrides) {
    RETURN_IF_ERROR(ApplyOverride(each, &scenario));
  }
  FillDefaults(&scenario);
  Violations violations;
  CheckFinite(scenario.system(), "system", &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return scenario.system();
}

absl::StatusOr<pb::Chip> ResolveChip(const Catalog& catalog,
                                     absl::string_view name) {
  pb::Chip chip;
  chip.set_preset(std::string(name));
  RETURN_IF_ERROR(MergeChipPresets(catalog, "chip", &chip));
  chip.clear_preset();
  return chip;
}

absl::StatusOr<pb::Model> ResolveModel(const Catalog& catalog,
                                       absl::string_view name) {
  pb::Model model;
  model.set_preset(std::string(name));
  RETURN_IF_ERROR(MergePreset(&model, "model", &Catalog::Model, catalog));
  model.clear_preset();
  return model;
}

absl::StatusOr<pb::Kernels> ResolveKernels(const Catalog& catalog,
                                           const pb::Chip& chip,
                                           absl::string_view name) {
  if (name.empty() && !chip.has_default_kernels()) {
    const std::string hint = SuggestLike(catalog, chip);
    return absl::InvalidArgumentError(fmt::format(
        "chip '{}' has no default_kernels; name a kernels preset ('orrery list "
        "kernels' shows them){}{}",
        chip.name(), hint.empty() ? "" : "; or, ", hint));
  }
  pb::Kernels kernels;
  kernels.set_preset(name.empty() ? chip.default_kernels() : std::string(name));
  const absl::Status merged = MergePreset(
      &kernels, name.empty() ? "system.chip.default_kernels" : "kernels",
      &Catalog::Kernels, catalog);
  if (!merged.ok()) return merged;
  kernels.clear_preset();
  ApplyChipEfficiency(chip, &kernels);
  return kernels;
}

}  // namespace orrery
