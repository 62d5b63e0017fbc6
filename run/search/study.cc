#include "run/search/study.h"

#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>
#include <absl/types/span.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/legal.h"
#include "catalog/nearest.h"
#include "catalog/override.h"
#include "catalog/preset_file.h"
#include "run/report_value.h"
#include "run/search/axis_rules.h"

namespace orrery {
namespace {

template <class Axis>
absl::StatusOr<std::vector<Axis>> ParseKept(
    absl::Span<const std::string> names,
    absl::StatusOr<Axis> (*parse)(const std::string&)) {
  std::vector<Axis> kept;
  for (const std::string& name : names) {
    const absl::StatusOr<Axis> axis = parse(name);
    if (!axis.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("keep: {}", std::string(axis.status().message())));
    }
    kept.push_back(*axis);
  }
  return kept;
}

// A year of estimates on a large machine; more is a slip of the keyboard.
constexpr int64_t kMostPoints = 1'000'000'000;
constexpr int kMostValues = 1 << 20;
constexpr int kSimulateByDefault = 10;
// What a table of points has beside axes and columns.
constexpr const char* kHeaders[] = {"point", "problem", "trust", "trust_error"};

// Whole numbers without a point, as fields that count want them.
std::string NumberText(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{}", value);
}

// Of a path, or of PATH=VALUE. Presets are merged, and a machine for the
// prompts is made, before there is a plan.
bool OfThePlan(const std::string& set) {
  return (absl::StartsWith(set, "training.") ||
          absl::StartsWith(set, "inference.")) &&
         !absl::StrContains(set, "preset") &&
         !absl::StrContains(set, "prefill_system");
}

bool IsMoney(const std::string& name) {
  return absl::StartsWith(name, "cost.") || absl::StartsWith(name, "energy.");
}

// Whether the catalogue has such a preset: "inference.engine.preset" is one of
// its engines.
absl::Status CheckPresetName(const Override& each) {
  absl::string_view part = absl::StripSuffix(each.path, ".preset");
  part = part.substr(part.rfind('.') + 1);
  absl::ConsumePrefix(&part, "prefill_");
  const Catalog catalog;
  std::vector<std::string> names;
  for (const std::string& kind : catalog.Kinds()) {
    if (kind != part && kind != absl::StrCat(part, "s")) continue;
    for (std::string& name : catalog.Names(kind)) {
      if (name == each.value) return absl::OkStatus();
      names.push_back(std::move(name));
    }
  }
  // A path that leads nowhere is refused where it is applied.
  if (names.empty()) return absl::OkStatus();
  std::string hint = DidYouMean(each.value, names);
  if (hint.empty()) {
    hint = fmt::format("; must be one of {}", absl::StrJoin(names, ", "));
  }
  return absl::InvalidArgumentError(
      fmt::format("{}: there is no {} preset '{}'{}", each.path, part,
                  Excerpt(each.value), hint));
}

// What can be known of PATH=VALUE without the scenario: that there is such a
// field, that its value is legal, and of a preset that there is one.
absl::Status CheckSetting(const std::string& set) {
  ASSIGN_OR_RETURN(const Override each, ParseOverride(set));
  // Entries of lists are those of a preset.
  if (NamesEntry(each)) return absl::OkStatus();
  if (absl::EndsWith(each.path, ".preset") && !LooksLikePath(each.value)) {
    return CheckPresetName(each);
  }
  if (IsOfTechnology(set)) {
    pb::Study made;
    RETURN_IF_ERROR(ApplyOverride(each, &made));
    return CheckLegal(made.technology(), "technology");
  }
  pb::Scenario said;
  RETURN_IF_ERROR(ApplyOverride(each, &said));
  return CheckLegal(said, "");
}

}  // namespace

bool IsOfTechnology(std::string_view set) {
  return set.substr(0, set.find('.')) == "technology";
}

// Reads field by field, and goes on after a violation.
class StudyReader {
 public:
  explicit StudyReader(const pb::Study& proto) : proto_(proto) {}

  absl::StatusOr<Study> Read() {
    study_.name_ = proto_.name();
    study_.scenario_ = proto_.scenario();
    if (study_.scenario_.empty()) {
      Refuse("scenario", "is missing; name a preset or a file");
    }
    study_.sets_.assign(proto_.set().begin(), proto_.set().end());
    if (proto_.has_technology()) study_.technology_ = proto_.technology();
    if (proto_.axis().empty()) Refuse("axis", "a study has at least one");
    for (int i = 0; i < proto_.axis_size(); ++i) ReadAxis(i);
    if (points_ > kMostPoints) {
      Refuse("axis",
             fmt::format("{} make {:.4g} points, more than the {} that "
                         "a study may have; write fewer values",
                         absl::StrJoin(factors_, " x "), points_, kMostPoints));
    }
    CheckAxes(proto_, &violations_);
    ReadExpressions();
    ReadMethod();
    ReadKept();
    RETURN_IF_ERROR(violations_.ToStatus());
    std::stable_partition(
        study_.axes_.begin(), study_.axes_.end(),
        [](const StudyAxis& axis) { return !axis.plan_only; });
    CheckOrder();
    RETURN_IF_ERROR(violations_.ToStatus());
    CheckTechnology();
    RETURN_IF_ERROR(violations_.ToStatus());
    for (const Expression& each : study_.constraints_) {
      study_.needs_cost_ |= absl::c_any_of(each.names(), IsMoney);
    }
    for (const StudyColumn& each : study_.columns_) {
      study_.needs_cost_ |= absl::c_any_of(each.expression.names(), IsMoney);
    }
    return std::move(study_);
  }

 private:
  void Refuse(const std::string& field, const std::string& why) {
    violations_.Add(fmt::format("{}: {}", field, why));
  }

  void ReadAxis(int index) {
    const pb::Axis& proto = proto_.axis(index);
    const std::string field = fmt::format("axis[{}]", index);
    StudyAxis axis;
    axis.path = proto.path();
    axis.name = proto.has_name() ? proto.name()
                                 : axis.path.substr(axis.path.rfind('.') + 1);
    axis.plan_only = OfThePlan(axis.path);
    axis.unit = proto.unit();
    if (axis.name.empty()) Refuse(field, "needs a name or a path");
    if (!names_.insert(axis.name).second) {
      Refuse(field, fmt::format("'{}' is there twice; set name", axis.name));
    }
    const bool nodes = axis.name == "nodes" && axis.path == "system.nodes";
    std::vector<std::string> taken = NamesBesideAxes();
    taken.insert(taken.end(), std::begin(kHeaders), std::end(kHeaders));
    if (!nodes && (absl::c_linear_search(taken, axis.name) ||
                   absl::c_linear_search(ReportNames(), axis.name))) {
      Refuse(field,
             fmt::format("'{}' already names {}; set another name", axis.name,
                         absl::c_linear_search(taken, axis.name)
                             ? "a column of every table"
                             : "a number of the report"));
    }
    const int kinds = !proto.value().empty() + proto.has_range() +
                      proto.has_geometric() + proto.has_expression() +
                      !proto.case_().empty();
    if (kinds != 1) {
      Refuse(field,
             "has exactly one of value, range, geometric, expression and case");
      return;
    }
    if (!axis.unit.empty() &&
        (!proto.value().empty() || !proto.case_().empty())) {
      Refuse(field, "unit goes with ranges and expressions");
      return;
    }
    if (proto.case_().empty() == axis.path.empty()) {
      Refuse(field, "path goes with values and expressions, case without it");
      return;
    }
    if (proto.has_expression()) {
      auto parsed = Expression::Parse(proto.expression());
      if (!parsed.ok()) {
        Refuse(field + ".expression", std::string(parsed.status().message()));
        return;
      }
      axis.expression = *std::move(parsed);
    } else if (!proto.case_().empty()) {
      for (const pb::Axis::Case& each : proto.case_()) {
        axis.values.push_back(each.name());
        axis.sets.emplace_back(each.set().begin(), each.set().end());
      }
      axis.plan_only =
          std::all_of(axis.sets.begin(), axis.sets.end(), [](const auto& sets) {
            return std::all_of(sets.begin(), sets.end(),
                               [](const auto& set) { return OfThePlan(set); });
          });
    } else {
      const size_t before = violations_.messages().size();
      axis.values = Values(proto, field);
      if (violations_.messages().size() > before) return;
      for (const std::string& value : axis.values) {
        axis.sets.push_back(
            {fmt::format("{}={} {}", axis.path, value, axis.unit)});
      }
    }
    CheckAxis(axis, field);
    const auto count = static_cast<int64_t>(axis.values.size());
    if (!axis.expression && count == 0) Refuse(field, "has no value");
    if (count > 1) {
      points_ *= static_cast<double>(count);
      factors_.push_back(fmt::format("{} of {}", count, axis.name));
      if (points_ <= kMostPoints) study_.points_ *= count;
    }
    study_.axes_.push_back(std::move(axis));
  }

  // What an axis sets is a field, and of values that it lists each is one of
  // it.
  void CheckAxis(const StudyAxis& axis, const std::string& field) {
    if (axis.expression) {
      // Its numbers are not known yet: only the path counts.
      const absl::Status status = CheckSetting(fmt::format("{}=", axis.path));
      if (!status.ok()) Refuse(field, std::string(status.message()));
      return;
    }
    constexpr size_t kMostChecked = 10'000;
    constexpr int kMostTold = 8;
    int told = 0;
    std::string last;
    for (size_t i = 0; i < axis.sets.size(); ++i) {
      // Of very many the first and the last.
      if (i >= kMostChecked && i + 1 < axis.sets.size()) continue;
      for (const std::string& set : axis.sets[i]) {
        const absl::Status status = CheckSetting(set);
        // What is wrong with the path is so for every value.
        if (status.ok() || status.message() == last) continue;
        last = std::string(status.message());
        Refuse(field, last);
        if (++told == kMostTold) return;
      }
    }
  }

  std::vector<std::string> Values(const pb::Axis& proto,
                                  const std::string& field) {
    if (!proto.value().empty()) {
      return {proto.value().begin(), proto.value().end()};
    }
    const bool adds = proto.has_range();
    const pb::Axis::Range& range = adds ? proto.range() : proto.geometric();
    const double step = adds ? range.step() : range.factor();
    // Slips of the keyboard end here, not in an endless loop.
    if (!std::isfinite(range.from()) || !std::isfinite(range.to()) ||
        !(adds ? step > 0 : step > 1) || range.from() > range.to() ||
        (!adds && range.from() <= 0)) {
      Refuse(field, adds ? "a range has from <= to and a step above 0"
                         : "a geometric range has 0 < from <= to and a factor "
                           "above 1");
      return {};
    }
    std::vector<std::string> values;
    // A last value that rounding puts a little beyond the end still counts.
    const double end = range.to() * (1 + 1e-12);
    for (int i = 0;; ++i) {
      const double value =
          adds ? range.from() + i * step : range.from() * std::pow(step, i);
      if (value > end) return values;
      if (i >= kMostValues) {
        Refuse(field, fmt::format("has more than {} values", kMostValues));
        return {};
      }
      values.push_back(NumberText(value));
    }
  }

  void ReadExpressions() {
    for (const StudyAxis& axis : study_.axes_) known_.push_back(axis.name);
    const std::vector<std::string> others = NamesBesideAxes();
    known_.insert(known_.end(), others.begin(), others.end());
    for (int i = 0; i < proto_.objective_size(); ++i) {
      const pb::Objective& each = proto_.objective(i);
      if (auto parsed = Parse(fmt::format("objective[{}].expression", i),
                              each.expression())) {
        study_.columns_.push_back({each.expression(), *parsed});
        study_.objectives_.push_back({*std::move(parsed), each.maximize()});
      }
    }
    if (study_.objectives_.empty() && proto_.objective().empty()) {
      auto parsed = Expression::Parse("step_time_s");
      study_.columns_.push_back({"step_time_s", *parsed});
      study_.objectives_.push_back({*std::move(parsed), false});
    }
    for (int i = 0; i < proto_.constraint_size(); ++i) {
      if (auto parsed =
              Parse(fmt::format("constraint[{}]", i), proto_.constraint(i))) {
        study_.constraints_.push_back(*std::move(parsed));
      }
    }
    for (int i = 0; i < proto_.column_size(); ++i) {
      const pb::Column& each = proto_.column(i);
      if (auto parsed = Parse(fmt::format("column[{}].expression", i),
                              each.expression())) {
        study_.columns_.push_back(
            {each.has_name() ? each.name() : each.expression(),
             *std::move(parsed)});
      }
    }
    std::set<std::string> headers(std::begin(kHeaders), std::end(kHeaders));
    headers.insert(names_.begin(), names_.end());
    for (const StudyColumn& column : study_.columns_) {
      if (headers.insert(column.name).second) continue;
      Refuse("column",
             fmt::format("'{}' is there twice; set another name, or leave out "
                         "what is an objective or an axis already",
                         column.name));
    }
    AddFactors();
  }

  // What of the paid time makes tokens differs between scenarios and price
  // lists; columns of what is divided by it come with a column of it.
  void AddFactors() {
    const auto asks_for = [&](absl::Span<const char* const> names) {
      return std::any_of(
          study_.columns_.begin(), study_.columns_.end(), [&](const auto& c) {
            return std::any_of(
                c.expression.names().begin(), c.expression.names().end(),
                [&](const std::string& name) {
                  return std::any_of(names.begin(), names.end(),
                                     [&](const char* each) {
                                       return absl::StartsWith(name, each);
                                     });
                });
          });
    };
    const auto add = [&](const char* name) {
      if (asks_for({name})) return;
      study_.columns_.push_back({name, *Expression::Parse(name)});
    };
    const bool tokens = asks_for(
        {"cost.dollars_per_million", "cost.dollars_per_run", "cost.million_",
         "cost.run", "energy.joules_per_token", "energy.million_",
         "energy.facility_kwh_per_run", "energy.tonnes_"});
    if (tokens) add("cost.productive_share");
    if (asks_for({"energy.joules_per_token", "energy.million_",
                  "energy.facility_", "energy.grams_", "energy.tonnes_"})) {
      add("energy.pue");
    }
  }

  std::optional<Expression> Parse(const std::string& field,
                                  const std::string& text) {
    auto parsed = Expression::Parse(text);
    absl::Status status = parsed.status();
    if (status.ok()) status = CheckNames(*parsed, known_);
    for (const StudyAxis& axis : study_.axes_) {
      if (!status.ok() || axis.expression ||
          !absl::c_linear_search(parsed->names(), axis.name)) {
        continue;
      }
      double number = 0;
      for (const std::string& value : axis.values) {
        if (absl::SimpleAtod(value, &number)) continue;
        status = absl::InvalidArgumentError(fmt::format(
            "'{}' uses the axis '{}', of which '{}' is not a number",
            Excerpt(text, 200), axis.name, Excerpt(value)));
        break;
      }
    }
    if (status.ok()) return *std::move(parsed);
    Refuse(field, std::string(status.message()));
    return std::nullopt;
  }

  void ReadMethod() {
    if (proto_.has_method()) study_.method_ = proto_.method();
    if (proto_.method() == pb::Study::METHOD_UNSPECIFIED &&
        proto_.has_method()) {
      Refuse("method", "METHOD_UNSPECIFIED is none");
    }
    const bool confirms = study_.method_ == pb::Study::ESTIMATE_THEN_SIMULATE;
    study_.simulate_ = confirms ? kSimulateByDefault : 0;
    if (!proto_.has_simulate()) return;
    if (!confirms) {
      Refuse("simulate", "goes with method: ESTIMATE_THEN_SIMULATE");
    } else if (proto_.simulate() < 1) {
      Refuse("simulate", "must be at least 1");
    }
    study_.simulate_ = proto_.simulate();
  }

  void ReadKept() {
    if (!proto_.keep().empty() && study_.method_ != pb::Study::TUNE) {
      Refuse("keep", "goes with method: TUNE");
    }
    for (const std::string& name : proto_.keep()) {
      study_.kept_.push_back(name);
      const absl::StatusOr<PlanAxis> axis = ParsePlanAxis(name);
      if (axis.ok() || ParseServingAxis(name).ok()) continue;
      Refuse("keep", std::string(axis.status().message()));
    }
  }

  // An expression may only use axes that vary more slowly, and those of the
  // plan the machine too.
  void CheckOrder() {
    std::set<std::string> known;
    for (const StudyAxis& axis : study_.axes_) {
      if (axis.plan_only) known.insert({"chips", "nodes"});
      if (axis.expression) {
        for (const std::string& name : axis.expression->names()) {
          if (known.count(name)) continue;
          Refuse(
              axis.name,
              fmt::format("'{}' uses '{}', which is not an axis before it{}",
                          axis.expression->text(), name,
                          DidYouMean(name, std::vector<std::string>(
                                               known.begin(), known.end()))) +
                  (axis.plan_only ? "" : "; this axis makes the machine"));
        }
      }
      known.insert(axis.name);
    }
  }

  // What every point has besides its axes.
  std::vector<std::string> NamesBesideAxes() const {
    std::vector<std::string> names = {"chips", "nodes"};
    if (proto_.has_technology()) {
      names.insert(names.end(),
                   {"technology.made_dollars", "technology.sold_dollars"});
    }
    return names;
  }

  // Axes and settings of a technology need one, if only an empty one: whoever
  // mistypes a field of the scenario should not get another chip.
  void CheckTechnology() {
    if (study_.technology_) return;
    const auto check = [&](const std::string& set) {
      if (!IsOfTechnology(set)) return;
      Refuse(set, "goes with technology { }, which derives the chip");
    };
    for (const std::string& set : study_.sets_) check(set);
    for (const StudyAxis& axis : study_.axes_) {
      check(axis.path);
      for (const auto& sets : axis.sets) {
        if (axis.path.empty()) std::for_each(sets.begin(), sets.end(), check);
      }
    }
  }

  const pb::Study& proto_;
  // What the axes multiply to, by their names.
  double points_ = 1;
  std::vector<std::string> factors_;
  Violations violations_;
  std::set<std::string> names_;
  std::vector<std::string> known_;  // what expressions may use
  Study study_;
};

absl::StatusOr<Study> Study::FromProto(const pb::Study& proto) {
  return StudyReader(proto).Read();
}

std::vector<int> Study::PointAt(int64_t index) const {
  std::vector<int> digits(axes_.size(), 0);
  for (size_t i = axes_.size(); i-- > 0;) {
    const auto count = static_cast<int64_t>(axes_[i].values.size());
    if (count == 0) continue;
    digits[i] = static_cast<int>(index % count);
    index /= count;
  }
  return digits;
}

absl::StatusOr<std::vector<PlanAxis>> Study::KeptOfTraining() const {
  return ParseKept<PlanAxis>(kept_, ParsePlanAxis);
}

absl::StatusOr<std::vector<ServingAxis>> Study::KeptOfServing() const {
  return ParseKept<ServingAxis>(kept_, ParseServingAxis);
}

}  // namespace orrery
