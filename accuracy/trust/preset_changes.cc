#include "accuracy/trust/preset_changes.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_set.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/defaults.h"
#include "catalog/scenario_parts.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Type = gp::FieldDescriptor::CppType;

// A value this near to the preset's needs no other measurement.
constexpr double kNear = 1.1;
constexpr char kBalance[] = "peak over memory bandwidth";

// Fields that name things, or that no time depends on.
bool IsPassedOver(const std::string& name) {
  static const auto* names = new absl::flat_hash_set<std::string>{
      "preset",   "name",       "description",     "source",
      "vendor",   "year",       "memory_kind",     "die",
      "like",     "nodes",      "default_kernels", "default_for",
      "made_for", "fitted_row", "taken_over",      "cpu",
      "library",  "training",   "burst_clock",     "cpus_per_node",
      "measured"};
  return names->contains(name);
}

template <class T>
std::optional<double> Value(const absl::StatusOr<T>& parsed) {
  if (!parsed.ok()) return std::nullopt;
  return static_cast<double>(parsed->value());
}

// The number of a quantity of whatever kind.
std::optional<double> NumberOf(const std::string& text) {
  if (const auto rate = Value(ParseBytesPerSecond(text))) return rate;
  if (const auto rate = Value(ParseFlopsPerSecond(text))) return rate;
  if (const auto rate = Value(ParseOpsPerSecond(text))) return rate;
  if (const auto bytes = Value(ParseBytes(text))) return bytes;
  if (const auto clock = Value(ParseHertz(text))) return clock;
  if (const auto power = Value(ParseWatts(text))) return power;
  if (const auto time = ParseDuration(text); time.ok()) return ToSeconds(*time);
  return std::nullopt;
}

// An entry of a list is called by its format or its name.
std::string KeyOf(const gp::Message& entry, int index) {
  const gp::Reflection& reflection = *entry.GetReflection();
  std::string key;
  for (const char* name : {"dtype", "name", "tier", "use"}) {
    const gp::FieldDescriptor* field =
        entry.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr || !reflection.HasField(entry, field)) continue;
    if (!key.empty()) key += " ";
    if (field->cpp_type() == Type::CPPTYPE_ENUM) {
      key += reflection.GetEnum(entry, field)->name();
    } else if (field->cpp_type() == Type::CPPTYPE_STRING) {
      key += reflection.GetString(entry, field);
    }
  }
  return key.empty() ? fmt::to_string(index) : key;
}

using Visit = absl::FunctionRef<void(const std::string&, std::string,
                                     std::optional<double>)>;

void VisitValue(const gp::Message& message, const gp::FieldDescriptor& field,
                int index, const std::string& path, Visit visit) {
  const gp::Reflection& reflection = *message.GetReflection();
  const bool list = field.is_repeated();
  const auto number = [&](double value) {
    visit(path, fmt::format("{}", value), value);
  };
  switch (field.cpp_type()) {
    case Type::CPPTYPE_INT32:
      return number(list ? reflection.GetRepeatedInt32(message, &field, index)
                         : reflection.GetInt32(message, &field));
    case Type::CPPTYPE_DOUBLE:
      return number(list ? reflection.GetRepeatedDouble(message, &field, index)
                         : reflection.GetDouble(message, &field));
    case Type::CPPTYPE_BOOL:
      visit(path, reflection.GetBool(message, &field) ? "true" : "false", {});
      return;
    case Type::CPPTYPE_ENUM:
      visit(path,
            list ? reflection.GetRepeatedEnum(message, &field, index)->name()
                 : reflection.GetEnum(message, &field)->name(),
            {});
      return;
    case Type::CPPTYPE_STRING: {
      std::string text =
          list ? reflection.GetRepeatedString(message, &field, index)
               : reflection.GetString(message, &field);
      const std::optional<double> quantity = NumberOf(text);
      visit(path, std::move(text), quantity);
      return;
    }
    default:
      return;
  }
}

void VisitFields(const gp::Message& message, const std::string& path,
                 Visit visit) {
  const gp::Reflection& reflection = *message.GetReflection();
  std::vector<const gp::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const gp::FieldDescriptor* field : fields) {
    if (IsPassedOver(field->name())) continue;
    const std::string inner = path + "." + field->name();
    const bool list = field->is_repeated();
    const int size = list ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->cpp_type() != Type::CPPTYPE_MESSAGE) {
        VisitValue(message, *field, i,
                   list ? fmt::format("{}[{}]", inner, i) : inner, visit);
        continue;
      }
      const gp::Message& entry =
          list ? reflection.GetRepeatedMessage(message, field, i)
               : reflection.GetMessage(message, field);
      VisitFields(entry,
                  list ? fmt::format("{}[{}]", inner, KeyOf(entry, i)) : inner,
                  visit);
    }
  }
}

pb::DType PrecisionOf(const pb::Scenario& scenario) {
  return scenario.has_training() ? scenario.training().precision()
                                 : scenario.inference().precision();
}

// Peaks of formats in which the run computes nothing do not count; attention
// and what surrounds products are in 16 bits.
pb::Chip WithPeaksOf(pb::Chip chip, pb::DType precision) {
  auto& peaks = *chip.mutable_peak();
  peaks.erase(std::remove_if(peaks.begin(), peaks.end(),
                             [&](const pb::Rate& peak) {
                               return peak.dtype() != precision &&
                                      peak.dtype() != pb::BF16 &&
                                      peak.dtype() != pb::FP16;
                             }),
              peaks.end());
  auto& formats = *chip.mutable_power_draw()->mutable_format();
  formats.erase(std::remove_if(formats.begin(), formats.end(),
                               [&](const pb::FormatPower& format) {
                                 return format.dtype() != precision;
                               }),
                formats.end());
  // It acts by the kernels, which are compared too.
  chip.clear_matrix_efficiency();
  return chip;
}

// The scenario with its machine and software as presets have them.
absl::StatusOr<pb::Scenario> Unchanged(const Catalog& catalog,
                                       const pb::Scenario& scenario,
                                       const std::string& chip,
                                       const std::string& system) {
  pb::Scenario result;
  *result.mutable_model() = scenario.model();
  result.mutable_model()->clear_preset();
  result.mutable_system()->set_preset(system);
  result.mutable_system()->set_nodes(scenario.system().nodes());
  result.mutable_system()->mutable_chip()->set_preset(chip);
  if (scenario.has_training()) {
    *result.mutable_training() = scenario.training();
    const std::string& framework = scenario.framework().preset();
    if (catalog.Has("frameworks", framework)) {
      result.mutable_framework()->set_preset(framework);
    }
  } else {
    *result.mutable_inference() = scenario.inference();
    result.mutable_inference()->clear_disaggregated();
    result.mutable_inference()->clear_engine();
    const std::string& engine = scenario.inference().engine().preset();
    if (catalog.Has("engines", engine)) {
      result.mutable_inference()->mutable_engine()->set_preset(engine);
    }
  }
  RETURN_IF_ERROR(MergeParts(catalog, &result));
  // A kernel library of the user's choice is another preset, not a change.
  const std::string& kernels = scenario.kernels().preset();
  if (kernels != result.kernels().preset() && catalog.Has("kernels", kernels)) {
    pb::Scenario other = result;
    other.mutable_kernels()->Clear();
    other.mutable_kernels()->set_preset(kernels);
    RETURN_IF_ERROR(MergeParts(catalog, &other));
    result = std::move(other);
  }
  // They are among the kernels now, as in a scenario that was resolved.
  if (result.has_framework()) result.mutable_framework()->clear_kernels();
  FillDefaults(&result);
  return result;
}

}  // namespace

MeasuredFields::Fields MeasuredFields::FieldsOf(const pb::Scenario& scenario) {
  Fields fields;
  const auto add = [&](const std::string& path, std::string text,
                       std::optional<double> number) {
    fields[path] = {std::move(text), number};
  };
  pb::System system = scenario.system();
  const pb::DType precision = PrecisionOf(scenario);
  *system.mutable_chip() = WithPeaksOf(system.chip(), precision);
  // What the host draws costs energy and no time.
  system.mutable_host()->clear_power();
  VisitFields(system, "system", add);
  VisitFields(scenario.kernels(), "kernels", add);
  VisitFields(scenario.framework(), "framework", add);
  VisitFields(scenario.variation(), "variation", add);
  VisitFields(scenario.inference().engine(), "inference.engine", add);
  const auto peak = fields.find(
      fmt::format("system.chip.peak[{}].rate", pb::DType_Name(precision)));
  const auto memory = fields.find("system.chip.memory_bandwidth");
  if (peak != fields.end() && memory != fields.end() && peak->second.number &&
      memory->second.number) {
    const double balance = *peak->second.number / *memory->second.number;
    add(kBalance, fmt::format("{:.4g} FLOP per byte", balance), balance);
  }
  return fields;
}

MeasuredFields::MeasuredFields(const Catalog& catalog,
                               std::vector<RunKind> kinds)
    : catalog_(catalog), kinds_(std::move(kinds)) {}

const std::vector<MeasuredFields::Fields>& MeasuredFields::measured() const {
  std::call_once(once_, [&] { MakeMeasured(); });
  return measured_;
}

void MeasuredFields::MakeMeasured() const {
  for (const RunKind& kind : kinds_) {
    pb::Scenario scenario;
    scenario.mutable_system()->set_nodes(1);
    pb::DType precision = pb::BF16;
    pb::DType_Parse(kind.precision, &precision);
    if (catalog_.Has("engines", kind.software)) {
      scenario.mutable_inference()->set_precision(precision);
      scenario.mutable_inference()->mutable_engine()->set_preset(kind.software);
    } else {
      scenario.mutable_training()->set_precision(precision);
      scenario.mutable_framework()->set_preset(kind.software);
    }
    const auto whole = Unchanged(catalog_, scenario, kind.chip, kind.system);
    if (whole.ok()) measured_.push_back(FieldsOf(*whole));
  }
}

std::optional<MeasuredFields::Range> MeasuredFields::RangeOf(
    const std::string& path) const {
  std::optional<Range> range;
  for (const Fields& fields : measured()) {
    const auto found = fields.find(path);
    if (found == fields.end() || !found->second.number) continue;
    const double value = *found->second.number;
    if (!range) range = Range{value, value};
    range->low = std::min(range->low, value);
    range->high = std::max(range->high, value);
  }
  return range;
}

bool MeasuredFields::IsMeasured(const std::string& path,
                                const std::string& text) const {
  return absl::c_any_of(measured(), [&](const Fields& fields) {
    const auto found = fields.find(path);
    return found != fields.end() && found->second.text == text;
  });
}

std::vector<PresetChange> MeasuredFields::ChangesOf(
    const pb::Scenario& scenario, const std::string& chip,
    const std::string& system) const {
  const auto unchanged = Unchanged(catalog_, scenario, chip, system);
  if (!unchanged.ok()) {
    return {{.path = "system", .value = system, .preset_value = ""}};
  }
  const Fields before = FieldsOf(*unchanged);
  const Fields after = FieldsOf(scenario);
  std::vector<PresetChange> changes;
  for (const auto& [path, field] : after) {
    const auto was = before.find(path);
    if (was != before.end() && was->second.text == field.text) continue;
    PresetChange change{
        .path = path,
        .value = field.text,
        .preset_value = was == before.end() ? "" : was->second.text};
    if (!field.number) {
      change.within = IsMeasured(path, field.text);
      changes.push_back(std::move(change));
      continue;
    }
    const double value = *field.number;
    if (was != before.end() && was->second.number) {
      const double preset = *was->second.number;
      if (value == preset) continue;  // spelled in another unit
      // Nothing is so many times zero.
      if (preset != 0) change.factor = value / preset;
      change.from_zero = preset == 0;
      change.within =
          preset > 0 && value <= preset * kNear && value >= preset / kNear;
    }
    const std::optional<Range> range = RangeOf(path);
    change.within =
        change.within || (range && value >= range->low && value <= range->high);
    // The ratio is worth a word only where each of the two is measured, but not
    // together.
    if (path == kBalance && change.within) continue;
    changes.push_back(std::move(change));
  }
  for (const auto& [path, field] : before) {
    if (after.contains(path) || path == kBalance) continue;
    changes.push_back(
        {.path = path,
         .value = "",
         .preset_value = field.text,
         .within = !measured().empty() &&
                   absl::c_any_of(measured(), [&](const Fields& f) {
                     return !f.contains(path);
                   })});
  }
  const auto distance = [](const PresetChange& change) {
    constexpr double kFurthest = std::numeric_limits<double>::infinity();
    if (change.from_zero) return kFurthest;
    if (!change.factor) return 0.0;
    return *change.factor > 0 ? std::abs(std::log(*change.factor)) : kFurthest;
  };
  absl::c_stable_sort(changes, [&](const auto& a, const auto& b) {
    if (a.within != b.within) return b.within;
    return distance(a) > distance(b);
  });
  return changes;
}

}  // namespace orrery
