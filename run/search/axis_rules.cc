#include "run/search/axis_rules.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/excerpt.h"
#include "base/format.h"
#include "catalog/legal.h"
#include "catalog/override.h"
#include "run/derived_chip.h"

namespace orrery {
namespace {

std::string PathOf(const std::string& set) {
  return set.substr(0, set.find('='));
}

// The fields that an axis decides.
std::set<std::string> PathsOf(const pb::Axis& axis) {
  std::set<std::string> paths;
  if (!axis.path().empty()) paths.insert(axis.path());
  for (const pb::Axis::Case& each : axis.case_()) {
    for (const std::string& set : each.set()) paths.insert(PathOf(set));
  }
  return paths;
}

// Values and names of cases, each once and none empty.
void CheckValues(const pb::Axis& axis, const std::string& field,
                 Violations* violations) {
  std::set<std::string> seen;
  const auto check = [&](const std::string& value, std::string_view what,
                         std::string_view remedy) {
    if (value.empty()) {
      violations->Add(
          fmt::format("{}: a {} is empty; {}", field, what, remedy));
    } else if (!seen.insert(value).second) {
      violations->Add(fmt::format("{}: the {} '{}' is there twice; {}", field,
                                  what, Excerpt(value),
                                  what == "value" ? "delete one" : remedy));
    }
  };
  for (const std::string& value : axis.value()) {
    check(value, "value",
          "write a value, or a case without a setting for what the scenario "
          "says");
  }
  for (const pb::Axis::Case& each : axis.case_()) {
    check(each.name(), "case", "give each case a name of its own");
  }
}

}  // namespace

void CheckAxes(const pb::Study& study, Violations* violations) {
  std::map<std::string, int> axis_of;
  for (int i = 0; i < study.axis_size(); ++i) {
    const std::string field = fmt::format("axis[{}]", i);
    for (const std::string& path : PathsOf(study.axis(i))) {
      const auto [first, is_new] = axis_of.emplace(path, i);
      if (is_new) continue;
      violations->Add(
          fmt::format("{}: axis[{}] sets '{}' too; let one axis set it", field,
                      first->second, path));
    }
    CheckValues(study.axis(i), field, violations);
  }
  for (const std::string& set : study.set()) {
    const auto axis = axis_of.find(PathOf(set));
    if (axis == axis_of.end()) continue;
    violations->Add(
        fmt::format("set '{}': axis[{}] sets this field; delete one of them",
                    Excerpt(set, 200), axis->second));
  }
}

absl::Status CheckTechnology(const Catalog& catalog, const Study& study,
                             pb::Scenario base) {
  if (study.technology() == nullptr) return absl::OkStatus();
  pb::Study made;
  *made.mutable_technology() = *study.technology();
  for (const std::string& set : study.sets()) {
    if (!IsOfTechnology(set)) continue;
    ASSIGN_OR_RETURN(const Override each, ParseOverride(set));
    RETURN_IF_ERROR(ApplyOverride(each, &made));
  }
  pb::Technology& technology = *made.mutable_technology();
  Violations violations;
  CheckLegal(technology, "technology", &violations);
  bool varies = false;
  for (const StudyAxis& axis : study.axes()) {
    std::vector<std::string> paths = {axis.path};
    for (const auto& sets : axis.sets) {
      for (const std::string& set : sets) paths.push_back(PathOf(set));
    }
    for (const std::string& path : paths) {
      // Points of several chips or price lists are looked at one by one.
      if (path == "system.preset" || absl::StartsWith(path, "system.chip") ||
          absl::StartsWith(path, "cost.")) {
        return violations.ToStatus();
      }
      if (!IsOfTechnology(path)) continue;
      varies = true;
      const auto* field = pb::Technology::descriptor()->FindFieldByName(
          std::string(absl::StripPrefix(path, "technology.")));
      if (field != nullptr) {
        technology.GetReflection()->ClearField(&technology, field);
      }
    }
  }
  // Names are looked up even if a number is not legal; what fits together is
  // known only of one technology with legal numbers.
  pb::Technology names;
  if (technology.has_process()) names.set_process(technology.process());
  if (technology.has_hbm()) names.set_hbm(technology.hbm());
  const absl::Status known = CheckBudget(catalog, base, names);
  for (const absl::string_view line :
       absl::StrSplit(known.message(), '\n', absl::SkipEmpty())) {
    violations.Add(fmt::format("technology.{}", line));
  }
  RETURN_IF_ERROR(violations.ToStatus());
  if (varies) return absl::OkStatus();
  return Annotate(ApplyTechnology(catalog, technology, &base).status(),
                  "technology");
}

}  // namespace orrery
