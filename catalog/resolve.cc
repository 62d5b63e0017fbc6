#include "catalog/resolve.h"

#include <absl/algorithm/container.h>
#include <absl/functional/function_ref.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "catalog/legal.h"
#include "catalog/nearest.h"
#include "catalog/override.h"
#include "catalog/preset_file.h"
#include "catalog/scenario_parts.h"
#include "catalog/textproto.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Names a preset that takes the place of a whole part.
bool ReplacesPart(const Override& each) {
  return absl::EndsWith(each.path, ".preset");
}

// Of `sets`, those that replace a part come first, outer ones before inner
// ones: the others change what stands there then.
std::vector<Override> ParseOverrides(absl::Span<const std::string> sets,
                                     Violations* violations) {
  std::vector<Override> overrides;
  for (const std::string& set : sets) {
    absl::StatusOr<Override> parsed = ParseOverride(set);
    violations->Add(parsed.status());
    if (parsed.ok()) overrides.push_back(*std::move(parsed));
  }
  const auto place = [](const Override& each) {
    return ReplacesPart(each)
               ? std::count(each.path.begin(), each.path.end(), '.')
               : std::numeric_limits<ptrdiff_t>::max();
  };
  std::stable_sort(overrides.begin(), overrides.end(),
                   [&](const Override& a, const Override& b) {
                     return place(a) < place(b);
                   });
  return overrides;
}

absl::StatusOr<std::vector<Override>> ParseOverrides(
    absl::Span<const std::string> sets) {
  Violations violations;
  std::vector<Override> overrides = ParseOverrides(sets, &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return overrides;
}

// Whether a published run is another one with these: prices and what was
// measured of it are no part of it.
bool ChangesRun(absl::Span<const Override> overrides) {
  return absl::c_any_of(overrides, [](const Override& each) {
    return !absl::StartsWith(each.path, "cost.") &&
           !absl::StartsWith(each.path, "measured") && each.path != "name" &&
           each.path != "seed";
  });
}

// The part that the path names a preset of keeps nothing of what it was, but
// for the size of the machine. A path that leads nowhere is left to others to
// refuse.
void ClearPart(const Override& preset, gp::Message* message) {
  for (absl::string_view name : absl::StrSplit(preset.path, '.')) {
    const gp::FieldDescriptor* field =
        message->GetDescriptor()->FindFieldByName(std::string(name));
    if (field == nullptr) return;
    if (name == "preset") break;
    const bool part = field->message_type() != nullptr && !field->is_repeated();
    if (!part || !message->GetReflection()->HasField(*message, field)) return;
    message = message->GetReflection()->MutableMessage(message, field);
  }
  if (message->GetDescriptor() == pb::System::descriptor()) {
    pb::System kept;
    const auto& system = static_cast<const pb::System&>(*message);
    if (system.has_nodes()) kept.set_nodes(system.nodes());
    message->CopyFrom(kept);
  } else {
    message->Clear();
  }
}

using Merge = absl::FunctionRef<absl::Status(pb::Scenario*)>;

// `violations`, and what else is wrong with what was said: values that are
// illegal by themselves and presets that do not exist.
absl::Status WithAllElse(Violations violations, Merge merge,
                         pb::Scenario said) {
  Violations illegal;
  CheckLegal(said, "", &illegal);
  const std::vector<std::string> told = violations.messages();
  for (const std::string& each : illegal.messages()) {
    // A value that could not be read is told already, and another one stands in
    // its place: "precision must be one of ...".
    const absl::string_view path(each.data(), each.find(": "));
    const std::string start =
        absl::StrCat(": ", path.substr(path.rfind('.') + 1), " must be ");
    if (absl::c_any_of(told, [&](const std::string& message) {
          return absl::StrContains(message, start);
        })) {
      continue;
    }
    violations.Add(each);
  }
  violations.Add(merge(&said));
  return violations.ToStatus();
}

// Changes what was said by the overrides, and merges the presets under it. The
// error lists everything that is wrong with what was said.
absl::Status ApplyAndMerge(absl::Span<const Override> overrides, Merge merge,
                           pb::Scenario* said) {
  Violations violations;
  for (const Override& each : overrides) {
    if (ReplacesPart(each)) ClearPart(each, said);
    if (!NamesEntry(each)) {
      violations.Add(ApplyOverride(each, said));
      continue;
    }
    pb::Scenario merged = *said;
    if (!violations.empty() || !merge(&merged).ok()) {
      return WithAllElse(std::move(violations), merge, *said);
    }
    violations.Add(ApplyOverride(each, said, &merged));
  }
  pb::Scenario merged = *said;
  if (!violations.empty() || !merge(&merged).ok()) {
    return WithAllElse(std::move(violations), merge, *said);
  }
  *said = std::move(merged);
  for (const Override& each : overrides) {
    violations.Add(CheckTakenBack(each, *said));
  }
  return violations.ToStatus();
}

// What is wrong with a preset, with the place where its name was written: a
// --set, or else the file.
absl::Status AtTheirPlaces(const absl::Status& wrong,
                           absl::Span<const Override> overrides,
                           absl::string_view origin) {
  if (wrong.ok()) return wrong;
  Violations placed;
  for (const absl::string_view line : absl::StrSplit(wrong.message(), '\n')) {
    const bool is_set = absl::c_any_of(overrides, [&](const Override& each) {
      return absl::StartsWith(line, absl::StrCat(each.path, ": "));
    });
    placed.Add(is_set ? absl::StrCat("--set ", line)
                      : absl::StrCat(origin, ": ", line));
  }
  return placed.ToStatus();
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
        origin,
        scenario.has_training() ? "both: leave one of them out"
                                : "neither: add one of them"));
  }
  if (!scenario.has_training() && scenario.has_framework()) {
    violations.Add(
        fmt::format("{}: framework is about training; leave it out", origin));
  }
  return violations.ToStatus();
}

// What a scenario's text says that it does.
struct Job {
  bool trains = false;
  bool serves = false;
};

// A --set of the other job would make it a scenario of both.
absl::Status CheckJob(const Job& job, absl::Span<const Override> overrides) {
  if (job.trains == job.serves) return absl::OkStatus();
  const char* own = job.trains ? "training" : "inference";
  const char* other = job.trains ? "inference" : "training";
  Violations violations;
  for (const Override& each : overrides) {
    if (each.path != other &&
        !absl::StartsWith(each.path, absl::StrCat(other, "."))) {
      continue;
    }
    violations.Add(
        fmt::format("--set {}: the scenario is of {} and has no {}; name one "
                    "of its fields, which begin with {}.",
                    each.path, own, other, own));
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

// A scenario that was probably meant, or else a preset of another kind.
std::string NearestPreset(const Catalog& catalog, const std::string& name) {
  std::string hint = DidYouMean(name, catalog.Names("scenarios"));
  for (const char* kind : {"models", "systems", "chips"}) {
    if (!hint.empty()) break;
    const std::vector<std::string> near =
        NearestNames(name, catalog.Names(kind));
    // Another generation is another model.
    if (near.empty() || !absl::StartsWith(near[0], name)) continue;
    hint = fmt::format("; '{}' is {}, which a scenario names", near[0],
                       catalog.KindOf(near[0]));
  }
  return hint;
}

absl::StatusOr<pb::Scenario> MergeScenarioText(
    const Catalog& catalog, absl::string_view text, absl::string_view origin,
    absl::Span<const std::string> sets) {
  Violations violations;
  const std::vector<Override> overrides = ParseOverrides(sets, &violations);
  pb::Scenario scenario;
  RETURN_IF_ERROR(CheckMessageComment(text, origin, *scenario.descriptor()));
  const absl::Status parsed = ParseTextproto(text, origin, &scenario);
  violations.Add(parsed);
  RebasePaths(catalog, std::string(origin), &scenario);
  // What the file says was measured of another run; what an override says was
  // measured of this one.
  if (ChangesRun(overrides)) scenario.clear_measured();
  const Job kind{scenario.has_training(), scenario.has_inference()};
  const auto merge = [&](pb::Scenario* said) -> absl::Status {
    // A text that could not be read may have said what seems to be missing.
    if (!parsed.ok()) {
      return AtTheirPlaces(CheckPresetNames(catalog, *said), overrides, origin);
    }
    if (said->has_training() && said->has_inference()) {
      RETURN_IF_ERROR(CheckJob(kind, overrides));
    }
    RETURN_IF_ERROR(CheckParts(*said, origin));
    return AtTheirPlaces(MergeParts(catalog, said), overrides, origin);
  };
  if (!violations.empty()) {
    for (const Override& each : overrides) {
      if (ReplacesPart(each)) ClearPart(each, &scenario);
      if (!NamesEntry(each)) violations.Add(ApplyOverride(each, &scenario));
    }
    return WithAllElse(std::move(violations), merge, std::move(scenario));
  }
  RETURN_IF_ERROR(ApplyAndMerge(overrides, merge, &scenario));
  // They are among the scenario's kernels now, and act there.
  if (scenario.has_framework()) scenario.mutable_framework()->clear_kernels();
  // Whoever calls it, it has a name.
  if (!scenario.has_name()) scenario.set_name(NameFrom(origin));
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
        Excerpt(scenario, 200), NearestPreset(catalog, scenario)));
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
  for (const std::string& set : sets) {
    if (absl::StartsWith(set, "system.")) continue;
    return absl::InvalidArgumentError(
        fmt::format("--set {}: there is only a system here; write "
                    "system.FIELD=VALUE, for example system.nodes=2",
                    Excerpt(set)));
  }
  ASSIGN_OR_RETURN(const std::vector<Override> overrides, ParseOverrides(sets));
  pb::Scenario scenario;
  scenario.mutable_system()->set_preset(std::string(name));
  const auto merge = [&](pb::Scenario* said) {
    return MergeSystem(catalog, "system", said->mutable_system());
  };
  RETURN_IF_ERROR(ApplyAndMerge(overrides, merge, &scenario));
  FillDefaults(&scenario);
  RETURN_IF_ERROR(CheckLegal(scenario.system(), "system"));
  return scenario.system();
}

absl::StatusOr<pb::Scenario> ResolveChipAlone(
    const Catalog& catalog, absl::string_view chip, absl::string_view kernels,
    absl::Span<const std::string> sets) {
  constexpr absl::string_view kChip = "system.chip.";
  constexpr absl::string_view kKernels = "kernels.";
  std::vector<std::string> whole;
  for (const std::string& set : sets) {
    const bool short_path =
        !absl::StartsWith(set, kKernels) && !absl::StartsWith(set, kChip);
    whole.push_back(absl::StrCat(short_path ? kChip : "", set));
    const absl::string_view path = whole.back();
    if (absl::StartsWith(path, "system.chip.preset=")) {
      return absl::InvalidArgumentError(
          "--set preset: the chip is chosen by its own flag, --chip");
    }
    if (absl::StartsWith(path, "system.chip.default_kernels=") ||
        absl::StartsWith(path, "kernels.preset=")) {
      return absl::InvalidArgumentError(fmt::format(
          "--set {}: the kernels are chosen by their own flag, --library",
          set.substr(0, set.find('='))));
    }
  }
  ASSIGN_OR_RETURN(const std::vector<Override> overrides,
                   ParseOverrides(whole));
  pb::Scenario scenario;
  scenario.mutable_system()->mutable_chip()->set_preset(std::string(chip));
  if (!kernels.empty())
    scenario.mutable_kernels()->set_preset(std::string(kernels));
  const auto merge = [&](pb::Scenario* said) {
    return MergeChipAndKernels(catalog, said);
  };
  RETURN_IF_ERROR(ApplyAndMerge(overrides, merge, &scenario));
  return scenario;
}

}  // namespace orrery
