#include "accuracy/training/training_rules.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

// A sweep of one framework on one machine says so by its own columns.
bool IsSweep(const MeasurementRow& row) {
  return row.Has("zero_stage") && !row.Has("framework");
}

}  // namespace

absl::StatusOr<TrainingRules> TrainingRules::Open() {
  ASSIGN_OR_RETURN(
      MeasurementTable systems,
      MeasurementTable::Open(std::nullopt, "training_systems.csv",
                             {"hardware", "interconnect", "system", "domain"}));
  ASSIGN_OR_RETURN(MeasurementTable models,
                   MeasurementTable::Open(std::nullopt, "training_models.csv",
                                          {"model", "preset", "sizes"}));
  ASSIGN_OR_RETURN(
      MeasurementTable frameworks,
      MeasurementTable::Open(
          std::nullopt, "training_frameworks.csv",
          {"framework", "until", "preset", "vp", "sharding", "seq_parallel"}));
  ASSIGN_OR_RETURN(MeasurementTable recipes,
                   MeasurementTable::Open(std::nullopt, "training_recipes.csv",
                                          {"framework", "date", "hardware",
                                           "model", "sharding", "set"}));
  return TrainingRules(std::move(systems), std::move(models),
                       std::move(frameworks), std::move(recipes));
}

absl::StatusOr<SystemRule> TrainingRules::SystemOf(
    const MeasurementRow& row) const {
  if (const auto named = row.Get("system")) return SystemRule{.preset = *named};
  const std::string interconnect =
      IsSweep(row) ? "EFA" : row.Text("interconnect");
  bool known_hardware = false;
  for (const MeasurementRow& rule : systems_.rows()) {
    if (rule.Text("hardware") != row.Text("hardware")) continue;
    known_hardware = true;
    const std::string word = rule.Text("interconnect");
    if (word.empty() ? !interconnect.empty()
                     : !absl::StrContains(interconnect, word)) {
      continue;
    }
    SystemRule result{.preset = rule.Text("system")};
    const std::string domain = rule.Text("domain");
    if (domain == "pod") {
      result.domain = SystemRule::Domain::kPod;
    } else if (domain == "slice") {
      result.domain = SystemRule::Domain::kSlices;
    } else if (!domain.empty()) {
      result.domain = SystemRule::Domain::kRacks;
      ASSIGN_OR_RETURN(const int64_t chips, rule.Whole("domain"));
      result.chips = static_cast<int>(chips);
    }
    return result;
  }
  return row.Wrong(known_hardware ? "interconnect" : "hardware",
                   "that of a known system (a column 'system' may name a "
                   "preset instead)");
}

absl::StatusOr<ModelRule> TrainingRules::ModelOf(
    const MeasurementRow& row) const {
  const std::string model = row.Text("model");
  std::string known;
  for (const MeasurementRow& rule : models_.rows()) {
    if (absl::StartsWith(model, rule.Text("model"))) {
      return ModelRule{.preset = rule.Text("preset"),
                       .sizes_of_row = rule.Text("sizes") == "row"};
    }
    known += (known.empty() ? "" : ", ") + rule.Text("model");
  }
  return row.Wrong("model", "of a known family: " + known);
}

absl::StatusOr<FrameworkRule> TrainingRules::FrameworkOf(
    const MeasurementRow& row) const {
  const std::string framework =
      IsSweep(row) ? "nanotron" : row.Text("framework");
  if (framework.empty()) return FrameworkRule{.sharding = "none"};
  const std::string date = row.Text("date");
  std::string known;
  for (const MeasurementRow& rule : frameworks_.rows()) {
    known += (known.empty() ? "" : ", ") + rule.Text("framework");
    if (!absl::StartsWith(framework, rule.Text("framework"))) continue;
    const std::string until = rule.Text("until");
    if (!until.empty() && (date.empty() || date.substr(0, 4) > until)) continue;
    return FrameworkRule{.preset = rule.Text("preset"),
                         .interleaves = rule.Text("vp") == "interleaved",
                         .sharding = rule.Text("sharding"),
                         .sequence_parallel = rule.Text("seq_parallel")};
  }
  return row.Wrong("framework", "a known one: " + known);
}

std::vector<std::string> TrainingRules::RecipeOf(
    const MeasurementRow& row) const {
  constexpr const char* kColumns[] = {"framework", "date", "hardware", "model",
                                      "sharding"};
  constexpr const char* kNumbers[] = {"pp", "vp"};
  std::vector<std::string> sets;
  for (const MeasurementRow& rule : recipes_.rows()) {
    const bool fits =
        std::all_of(std::begin(kColumns), std::end(kColumns),
                    [&](const char* column) {
                      return absl::StartsWith(row.Text(column),
                                              rule.Text(column));
                    }) &&
        std::all_of(
            std::begin(kNumbers), std::end(kNumbers), [&](const char* column) {
              return !rule.Has(column) || row.Text(column) == rule.Text(column);
            });
    if (!fits) continue;
    for (const absl::string_view set :
         absl::StrSplit(rule.Text("set"), "; ", absl::SkipEmpty())) {
      sets.emplace_back(set);
    }
  }
  return sets;
}

}  // namespace orrery
