#include "catalog/scenario_parts.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/excerpt.h"
#include "base/status.h"
#include "catalog/attention_like.h"
#include "catalog/chip_like.h"
#include "catalog/merge.h"

namespace orrery {
namespace {

constexpr char kDefaultEngine[] = "vllm";

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
  if (framework->kernels().has_preset()) {
    return absl::InvalidArgumentError(
        "framework.kernels.preset: a framework changes single fields of the "
        "kernels and names no library; write kernels.preset instead");
  }
  if (framework->has_preset()) {
    return MergePreset(framework, "framework.preset", &Catalog::Framework,
                       catalog);
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
  return FindAttention(kernels, attention) != nullptr;
}

// Merges what is said of the kernels of a system over the preset it names, or
// over the chip's default with what the framework has of its own.
absl::Status MergeKernels(const Catalog& catalog, absl::string_view field,
                          const pb::System& system,
                          const pb::Framework& framework,
                          pb::Kernels* kernels) {
  if (kernels->has_preset()) {
    const bool says_so = kernels->has_matrix_efficiency();
    if (ResemblesAnother(*kernels)) {
      ASSIGN_OR_RETURN(
          const pb::Kernels library,
          ResolveKernels(catalog, system.chip(), kernels->preset()));
      RETURN_IF_ERROR(CompleteAttention(library, kernels));
    }
    RETURN_IF_ERROR(MergePreset(kernels, field, &Catalog::Kernels, catalog));
    if (!says_so) ApplyChipEfficiency(system.chip(), kernels);
    return absl::OkStatus();
  }
  // A machine without a chip is for validation to explain.
  if (!system.has_chip()) return absl::OkStatus();
  if (kernels->has_name()) return CompleteAttention(*kernels, kernels);
  ASSIGN_OR_RETURN(pb::Kernels base,
                   ResolveKernels(catalog, system.chip(), ""));
  // A file's path would be relative to a file that is not named any more.
  if (catalog.HasAny(system.chip().default_kernels())) {
    base.set_preset(system.chip().default_kernels());
  }
  if (framework.has_kernels()) {
    const std::string own = base.attention();
    // What software would rather run may not exist for the chip, nor what its
    // own kernel resembles.
    pb::Kernels brought = framework.kernels();
    if (!CompleteAttention(base, &brought).ok()) {
      brought.clear_flash_attention();
    }
    MergeOver(brought, &base);
    if (!Knows(base, base.attention())) base.set_attention(own);
  }
  RETURN_IF_ERROR(CompleteAttention(base, kernels));
  MergeOver(*kernels, &base);
  *kernels = std::move(base);
  return absl::OkStatus();
}

// The machines, each with the kernels of its chips; a pool may have its own.
absl::Status MergeMachines(const Catalog& catalog, pb::Scenario* scenario) {
  RETURN_IF_ERROR(MergeSystem(catalog, "system", scenario->mutable_system()));
  if (!scenario->inference().disaggregated().has_prefill_system()) {
    return absl::OkStatus();
  }
  auto* pools = scenario->mutable_inference()->mutable_disaggregated();
  const std::string path = "inference.disaggregated.prefill_";
  RETURN_IF_ERROR(
      MergeSystem(catalog, path + "system", pools->mutable_prefill_system()));
  return MergeKernels(catalog, path + "kernels.preset", pools->prefill_system(),
                      {}, pools->mutable_prefill_kernels());
}

std::optional<std::string> SaidAttention(const pb::Scenario& scenario) {
  const pb::Kernels& said = scenario.framework().kernels();
  if (!said.has_attention() || scenario.kernels().has_attention()) return {};
  return said.attention();
}

// The engine that an inference scenario names, or the default one.
absl::Status MergeEngine(const Catalog& catalog, pb::Scenario* scenario) {
  if (!scenario->has_inference()) return absl::OkStatus();
  pb::Engine* engine = scenario->mutable_inference()->mutable_engine();
  if (!engine->has_preset() && !engine->has_name() &&
      catalog.Has("engines", kDefaultEngine)) {
    engine->set_preset(kDefaultEngine);
  }
  return MergePreset(engine, "inference.engine.preset", &Catalog::Engine,
                     catalog);
}

}  // namespace

absl::Status MergeSystem(const Catalog& catalog, const std::string& path,
                         pb::System* system) {
  RETURN_IF_ERROR(
      MergePreset(system, path + ".preset", &Catalog::System, catalog));
  if (!system->has_chip()) return absl::OkStatus();
  return MergeChipPresets(catalog, path + ".chip.preset",
                          system->mutable_chip());
}

absl::Status CheckPresetNames(const Catalog& catalog, pb::Scenario said) {
  Violations violations;
  const auto check = [&](auto* part, absl::string_view field, auto find) {
    violations.Add(MergePreset(part, field, find, catalog));
  };
  check(said.mutable_model(), "model.preset", &Catalog::Model);
  check(said.mutable_system(), "system.preset", &Catalog::System);
  check(said.mutable_system()->mutable_chip(), "system.chip.preset",
        &Catalog::Chip);
  check(said.mutable_framework(), "framework.preset", &Catalog::Framework);
  check(said.mutable_kernels(), "kernels.preset", &Catalog::Kernels);
  check(said.mutable_inference()->mutable_engine(), "inference.engine.preset",
        &Catalog::Engine);
  return violations.ToStatus();
}

absl::Status MergeParts(const Catalog& catalog, pb::Scenario* scenario) {
  // Attention that a framework's preset names counts where there is such a one;
  // the scenario's own word counts always.
  const std::optional<std::string> attention = SaidAttention(*scenario);
  // Each may name a preset that does not exist, whatever the others do.
  Violations violations;
  violations.Add(MergePreset(scenario->mutable_model(), "model.preset",
                             &Catalog::Model, catalog));
  violations.Add(MergeMachines(catalog, scenario));
  violations.Add(MergeFramework(catalog, scenario));
  violations.Add(MergeEngine(catalog, scenario));
  RETURN_IF_ERROR(violations.ToStatus());
  RETURN_IF_ERROR(MergeKernels(catalog, "kernels.preset", scenario->system(),
                               scenario->framework(),
                               scenario->mutable_kernels()));
  if (attention && !Knows(scenario->kernels(), *attention)) {
    std::vector<std::string> names;
    for (const auto& known : scenario->kernels().flash_attention()) {
      names.push_back(known.name());
    }
    return absl::InvalidArgumentError(
        fmt::format("framework.kernels.attention: must be one of the library's "
                    "({}), got '{}'",
                    absl::StrJoin(names, ", "), Excerpt(*attention)));
  }
  return absl::OkStatus();
}

absl::Status MergeChipAndKernels(const Catalog& catalog,
                                 pb::Scenario* scenario) {
  RETURN_IF_ERROR(MergeChipPresets(catalog, "chip",
                                   scenario->mutable_system()->mutable_chip()));
  return MergeKernels(catalog, "kernels", scenario->system(), {},
                      scenario->mutable_kernels());
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
  RETURN_IF_ERROR(CompleteAttention(kernels, &kernels));
  ApplyChipEfficiency(chip, &kernels);
  return kernels;
}

}  // namespace orrery
