#include "topology/machine/field_reader.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units_text.h"
#include "proto/enum_names.h"

namespace orrery {
namespace {

// How one type of quantity is read, and how it might be written.
template <class Q>
struct Grammar;
template <>
struct Grammar<Duration> {
  static constexpr auto kParse = ParseDuration;
  static constexpr const char* kExample = "1.5 us";
};
template <>
struct Grammar<Bytes> {
  static constexpr auto kParse = ParseBytes;
  static constexpr const char* kExample = "80 GB";
};
template <>
struct Grammar<BytesPerSecond> {
  static constexpr auto kParse = ParseBytesPerSecond;
  static constexpr const char* kExample = "3.35 TB/s";
};
template <>
struct Grammar<FlopsPerSecond> {
  static constexpr auto kParse = ParseFlopsPerSecond;
  static constexpr const char* kExample = "989.4 TFLOP/s";
};
template <>
struct Grammar<OpsPerSecond> {
  static constexpr auto kParse = ParseOpsPerSecond;
  static constexpr const char* kExample = "3.9 Top/s";
};
template <>
struct Grammar<Hertz> {
  static constexpr auto kParse = ParseHertz;
  static constexpr const char* kExample = "1.41 GHz";
};
template <>
struct Grammar<Watts> {
  static constexpr auto kParse = ParseWatts;
  static constexpr const char* kExample = "700 W";
};
template <>
struct Grammar<SquareMillimetres> {
  static constexpr auto kParse = ParseSquareMillimetres;
  static constexpr const char* kExample = "814 mm2";
};

}  // namespace

FieldReader::FieldReader(const google::protobuf::Message& message,
                         std::string path, Violations* violations)
    : message_(&message), path_(std::move(path)), violations_(violations) {}

const google::protobuf::FieldDescriptor& FieldReader::Field(
    std::string_view name) const {
  const auto* field =
      message_->GetDescriptor()->FindFieldByName(std::string(name));
  CHECK(field != nullptr) << message_->GetDescriptor()->full_name()
                          << " has no field " << name;
  return *field;
}

bool FieldReader::Has(std::string_view name) const {
  return message_->GetReflection()->HasField(*message_, &Field(name));
}

void FieldReader::Refuse(std::string_view name, std::string_view why) const {
  violations_->Add(fmt::format("{}.{}: {}", path_, name, why));
}

bool FieldReader::IsRefused(std::string_view name) const {
  const std::string start = fmt::format("{}.{}: ", path_, name);
  return std::any_of(
      violations_->messages().begin(), violations_->messages().end(),
      [&](const std::string& m) { return m.starts_with(start); });
}

bool FieldReader::CheckSet(std::string_view name,
                           std::string_view remedy) const {
  if (Has(name)) return true;
  Refuse(name, fmt::format("not set; {}", remedy));
  return false;
}

template <class Q>
std::optional<Q> FieldReader::Parsed(std::string_view name,
                                     bool zero_is_legal) const {
  const std::string text =
      message_->GetReflection()->GetString(*message_, &Field(name));
  const absl::StatusOr<Q> value = Grammar<Q>::kParse(text);
  if (!value.ok()) {
    Refuse(name, std::string(value.status().message()));
    return std::nullopt;
  }
  if (*value == Q(0) && !zero_is_legal) {
    Refuse(name, fmt::format("'{}' must be positive", text));
    return std::nullopt;
  }
  return *value;
}

template <class Q>
Q FieldReader::Positive(std::string_view name) const {
  if (!Has(name)) {
    Refuse(name, fmt::format("not set; write for example \"{}\"",
                             Grammar<Q>::kExample));
    return Q(0);
  }
  return Parsed<Q>(name, /*zero_is_legal=*/false).value_or(Q(0));
}

template <class Q>
Q FieldReader::NonNegative(std::string_view name) const {
  if (!Has(name)) {
    Refuse(name, fmt::format("not set; write for example \"{}\"",
                             Grammar<Q>::kExample));
    return Q(0);
  }
  return Parsed<Q>(name, /*zero_is_legal=*/true).value_or(Q(0));
}

template <class Q>
std::optional<Q> FieldReader::OptionalPositive(std::string_view name) const {
  if (!Has(name)) return std::nullopt;
  return Parsed<Q>(name, /*zero_is_legal=*/false);
}

#define ORRERY_READS(Q)                                                        \
  template Q FieldReader::Positive<Q>(std::string_view) const;                 \
  template Q FieldReader::NonNegative<Q>(std::string_view) const;              \
  template std::optional<Q> FieldReader::OptionalPositive<Q>(std::string_view) \
      const
ORRERY_READS(Duration);
ORRERY_READS(Bytes);
ORRERY_READS(BytesPerSecond);
ORRERY_READS(FlopsPerSecond);
ORRERY_READS(OpsPerSecond);
ORRERY_READS(Hertz);
ORRERY_READS(Watts);
ORRERY_READS(SquareMillimetres);
#undef ORRERY_READS

int FieldReader::Count(std::string_view name, int low, int high) const {
  // Plans are read by the million: no words before there is something to say.
  const std::optional<int> value = OptionalCount(name, low, high);
  if (value) return *value;
  Refuse(name,
         fmt::format("not set; write a whole number from {} to {}", low, high));
  return low;
}

std::optional<int> FieldReader::OptionalCount(std::string_view name, int low,
                                              int high) const {
  const auto* reflection = message_->GetReflection();
  const auto& field = Field(name);
  if (!reflection->HasField(*message_, &field)) return std::nullopt;
  const int value = reflection->GetInt32(*message_, &field);
  if (value >= low && value <= high) return value;
  Refuse(name, fmt::format("{} is not between {} and {}", value, low, high));
  return std::clamp(value, low, high);
}

std::vector<int> FieldReader::Counts(std::string_view name, int low,
                                     int high) const {
  const auto* reflection = message_->GetReflection();
  const auto& field = Field(name);
  std::vector<int> values;
  for (int i = 0; i < reflection->FieldSize(*message_, &field); ++i) {
    const int value = reflection->GetRepeatedInt32(*message_, &field, i);
    if (value < low || value > high) {
      Refuse(fmt::format("{}[{}]", name, i),
             fmt::format("{} is not between {} and {}", value, low, high));
    }
    values.push_back(value);
  }
  return values;
}

double FieldReader::Real(std::string_view name, double low, double high) const {
  const std::optional<double> value = OptionalReal(name, low, high);
  if (value) return *value;
  Refuse(name, fmt::format("not set; write a number from {} to {}", low, high));
  return low;
}

std::optional<double> FieldReader::OptionalReal(std::string_view name,
                                                double low, double high) const {
  if (!Has(name)) return std::nullopt;
  const double value =
      message_->GetReflection()->GetDouble(*message_, &Field(name));
  if (value >= low && value <= high) return value;  // not so for NaN
  Refuse(name, fmt::format("{} is not between {} and {}", value, low, high));
  return low;
}

double FieldReader::Efficiency(std::string_view name) const {
  if (!CheckSet(name, "write a number above 0 and at most 1")) return 1;
  const double value =
      message_->GetReflection()->GetDouble(*message_, &Field(name));
  // Below it sums of times lose their meaning, and nothing is that bad.
  constexpr double kWorst = 1e-9;
  if (value >= kWorst && value <= 1) return value;  // not so for NaN
  Refuse(name, fmt::format("{} is not above 0 and at most 1", value));
  return 1;
}

double FieldReader::Share(std::string_view name) const {
  return Real(name, 0, 1);
}

std::string FieldReader::Text(std::string_view name) const {
  if (!CheckSet(name, fmt::format("write {}: \"mine\"", name))) return "";
  std::string text = OptionalText(name);
  if (text.empty()) Refuse(name, "must not be empty");
  return text;
}

std::string FieldReader::OptionalText(std::string_view name) const {
  return message_->GetReflection()->GetString(*message_, &Field(name));
}

std::vector<std::string> FieldReader::Texts(std::string_view name) const {
  const auto& field = Field(name);
  const google::protobuf::Reflection& reflection = *message_->GetReflection();
  std::vector<std::string> texts;
  for (int i = 0; i < reflection.FieldSize(*message_, &field); ++i) {
    texts.push_back(reflection.GetRepeatedString(*message_, &field, i));
  }
  return texts;
}

bool FieldReader::Flag(std::string_view name) const {
  return message_->GetReflection()->GetBool(*message_, &Field(name));
}

int FieldReader::EnumNumber(std::string_view name) const {
  const auto& field = Field(name);
  const int number = message_->GetReflection()->GetEnumValue(*message_, &field);
  if (number == 0) {
    Refuse(name, fmt::format("{}; write one of {}",
                             Has(name) ? field.enum_type()->value(0)->name()
                                       : "not set",
                             EnumNames(*field.enum_type())));
  }
  return number;
}

std::optional<FieldReader> FieldReader::Required(std::string_view name) const {
  if (!Has(name)) {
    std::string fields;
    const google::protobuf::Descriptor& type = *Field(name).message_type();
    for (int i = 0; i < type.field_count(); ++i) {
      fields += (i > 0 ? ", " : "") + type.field(i)->name();
    }
    Refuse(name, fmt::format("not set; write {} {{ ... }} with its fields: {}",
                             name, fields));
  }
  return Optional(name);
}

std::optional<FieldReader> FieldReader::Optional(std::string_view name) const {
  if (!Has(name)) return std::nullopt;
  return FieldReader(
      message_->GetReflection()->GetMessage(*message_, &Field(name)),
      fmt::format("{}.{}", path_, name), violations_);
}

std::vector<FieldReader> FieldReader::Each(std::string_view name) const {
  const auto* reflection = message_->GetReflection();
  const auto& field = Field(name);
  std::vector<FieldReader> readers;
  for (int i = 0; i < reflection->FieldSize(*message_, &field); ++i) {
    readers.emplace_back(reflection->GetRepeatedMessage(*message_, &field, i),
                         fmt::format("{}.{}[{}]", path_, name, i), violations_);
  }
  return readers;
}

}  // namespace orrery
