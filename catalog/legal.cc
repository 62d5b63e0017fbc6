#include "catalog/legal.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/excerpt.h"
#include "base/format.h"
#include "base/units_text.h"
#include "base/utf8.h"
#include "proto/enum_names.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;
using Type = gp::FieldDescriptor::CppType;
using Unit = pb::Legal::Unit;

// Units of the rows of a price list; which of them a row has is for those to
// check who look it up.
constexpr std::string_view kPriceUnits[] = {
    "",       "USD",     "USD/GB", "USD/chip", "USD/mm2", "USD/kW-month",
    "GB",     "USD/kWh", "GB/s",   "/cm2",     "/year",   "g/kWh",
    "pJ/bit", "years"};

// A number and, after a blank, its unit: "17500 USD", "0.1 /cm2".
std::optional<double> NumberOfPrice(const std::string& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view unit =
      end < text.size() ? std::string_view(text).substr(end + 1) : "";
  if (std::find(std::begin(kPriceUnits), std::end(kPriceUnits), unit) ==
      std::end(kPriceUnits)) {
    return std::nullopt;
  }
  double value = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + end, value);
  if (error != std::errc() || rest != text.data() + end) return std::nullopt;
  return value;
}

template <class Q>
std::optional<double> InUnit(absl::StatusOr<Q> parsed) {
  if (!parsed.ok()) return std::nullopt;
  return static_cast<double>(parsed->value());
}

// The text as a number of its unit; nothing if it is not one.
std::optional<double> ValueOf(const std::string& text, Unit unit) {
  switch (unit) {
    case pb::Legal::NUMBER: {
      double value = 0;
      if (!absl::SimpleAtod(text, &value)) return std::nullopt;
      return value;
    }
    case pb::Legal::SECONDS: {
      const absl::StatusOr<Duration> time = ParseDuration(text);
      if (!time.ok()) return std::nullopt;
      return static_cast<double>(time->count()) * 1e-12;
    }
    case pb::Legal::BYTES:
      return InUnit(ParseBytes(text));
    case pb::Legal::BYTES_PER_SECOND:
      return InUnit(ParseBytesPerSecond(text));
    case pb::Legal::FLOP_PER_SECOND:
      return InUnit(ParseFlopsPerSecond(text));
    case pb::Legal::OP_PER_SECOND:
      return InUnit(ParseOpsPerSecond(text));
    case pb::Legal::HERTZ:
      return InUnit(ParseHertz(text));
    case pb::Legal::WATTS:
      return InUnit(ParseWatts(text));
    case pb::Legal::SQUARE_MILLIMETRES:
      return InUnit(ParseSquareMillimetres(text));
    case pb::Legal::DOLLARS:
      return InUnit(ParseDollars(text));
    case pb::Legal::DOLLARS_PER_HOUR:
      return InUnit(ParseDollarsPerHour(text));
    case pb::Legal::PRICE:
      return NumberOfPrice(text);
    case pb::Legal::LETTERS:
      return static_cast<double>(text.size());
  }
  return std::nullopt;
}

const char* NounOf(Unit unit, bool whole) {
  switch (unit) {
    case pb::Legal::NUMBER:
      return whole ? "a whole number" : "a number";
    case pb::Legal::SECONDS:
      return "a time";
    case pb::Legal::BYTES:
      return "a number of bytes";
    case pb::Legal::BYTES_PER_SECOND:
      return "a bandwidth";
    case pb::Legal::FLOP_PER_SECOND:
      return "a rate of FLOPs";
    case pb::Legal::OP_PER_SECOND:
      return "a rate of operations";
    case pb::Legal::HERTZ:
      return "a frequency";
    case pb::Legal::WATTS:
      return "a power";
    case pb::Legal::SQUARE_MILLIMETRES:
      return "an area";
    case pb::Legal::DOLLARS:
      return "a price";
    case pb::Legal::DOLLARS_PER_HOUR:
      return "a price per hour";
    case pb::Legal::PRICE:
      return "a number with the unit of its row, such as USD or /cm2,";
    case pb::Legal::LETTERS:
      return "a text";
  }
  return "";
}

// A quantity as values are compared with it.
struct LegalRange {
  pb::Legal said;
  double least = 0;
  double most = 0;
};

using Ranges = std::array<LegalRange, pb::Quantity_ARRAYSIZE>;

Ranges ReadRanges() {
  Ranges ranges;
  const gp::EnumDescriptor& type = *pb::Quantity_descriptor();
  for (int i = 0; i < type.value_count(); ++i) {
    const gp::EnumValueDescriptor& value = *type.value(i);
    if (value.number() == 0) continue;
    LegalRange& range = ranges[static_cast<size_t>(value.number())];
    range.said = value.options().GetExtension(pb::legal);
    // The length of a text is a plain number itself.
    const Unit unit = range.said.unit() == pb::Legal::LETTERS
                          ? pb::Legal::NUMBER
                          : range.said.unit();
    const auto least = ValueOf(range.said.least(), unit);
    const auto most = ValueOf(range.said.most(), unit);
    CHECK(least && most && *least < *most) << value.name();
    range.least = *least;
    range.most = *most;
  }
  return ranges;
}

const LegalRange& RangeOf(const gp::FieldDescriptor& field) {
  static const Ranges* const ranges = new Ranges(ReadRanges());
  const pb::Quantity quantity = field.options().GetExtension(pb::quantity);
  CHECK(quantity != pb::QUANTITY_UNSPECIFIED)
      << field.full_name() << " does not say which quantity it holds";
  return (*ranges)[static_cast<size_t>(quantity)];
}

bool IsWhole(const gp::FieldDescriptor& field) {
  return field.cpp_type() != Type::CPPTYPE_DOUBLE;
}

bool IsOneLine(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

constexpr size_t kShown = 80;

std::string Shown(const std::string& text) {
  return fmt::format("'{}{}'", Excerpt(text, kShown),
                     text.size() > kShown ? "..." : "");
}

class LegalReader {
 public:
  explicit LegalReader(Violations* violations) : violations_(*violations) {}

  void Read(const gp::Message& message, const std::string& path) {
    const gp::Reflection& r = *message.GetReflection();
    std::vector<const gp::FieldDescriptor*> fields;
    r.ListFields(message, &fields);
    for (const gp::FieldDescriptor* field : fields) {
      const int size = field->is_repeated() ? r.FieldSize(message, field) : 1;
      for (int i = 0; i < size; ++i) ReadEntry(message, *field, i, path);
    }
  }

 private:
  // Words only for what is wrong: most values are not.
  void ReadEntry(const gp::Message& message, const gp::FieldDescriptor& field,
                 int i, const std::string& path) {
    const gp::Reflection& r = *message.GetReflection();
    const bool list = field.is_repeated();
    switch (field.cpp_type()) {
      case Type::CPPTYPE_MESSAGE:
        return Read(list ? r.GetRepeatedMessage(message, &field, i)
                         : r.GetMessage(message, &field),
                    Path(path, field, i));
      case Type::CPPTYPE_STRING:
        return ReadText(list ? r.GetRepeatedString(message, &field, i)
                             : r.GetString(message, &field),
                        field, i, path);
      case Type::CPPTYPE_DOUBLE:
        return ReadNumber(list ? r.GetRepeatedDouble(message, &field, i)
                               : r.GetDouble(message, &field),
                          field, i, path);
      case Type::CPPTYPE_INT32:
        return ReadNumber(list ? r.GetRepeatedInt32(message, &field, i)
                               : r.GetInt32(message, &field),
                          field, i, path);
      case Type::CPPTYPE_ENUM: {
        const gp::EnumValueDescriptor* value =
            list ? r.GetRepeatedEnum(message, &field, i)
                 : r.GetEnum(message, &field);
        if (value->number() != 0) return;
        violations_.Add(
            fmt::format("{}: must be one of {}, not {}", Path(path, field, i),
                        EnumNames(*field.enum_type()), value->name()));
        return;
      }
      case Type::CPPTYPE_BOOL:
        return;
      default:
        CHECK(false) << field.full_name() << " is of a kind no input has";
    }
  }

  void ReadNumber(double value, const gp::FieldDescriptor& field, int i,
                  const std::string& path) {
    if (IsLegal(field, value)) return;
    violations_.Add(fmt::format("{}: must be {}, got {}; write for example {}",
                                Path(path, field, i), LegalValues(field), value,
                                RangeOf(field).said.example()));
  }

  void ReadText(const std::string& text, const gp::FieldDescriptor& field,
                int i, const std::string& path) {
    const LegalRange& range = RangeOf(field);
    const std::optional<double> value = ValueOf(text, range.said.unit());
    const bool letters = range.said.unit() == pb::Legal::LETTERS;
    if (FirstNotUtf8(text)) {
      return violations_.Add(
          fmt::format("{}: {} is not UTF-8; write it in UTF-8",
                      Path(path, field, i), Shown(text)));
    }
    if (value && *value >= range.least && *value <= range.most &&
        (!letters || range.least == 0 || IsOneLine(text))) {
      return;
    }
    violations_.Add(fmt::format(
        "{}: must be {}, got {}{}", Path(path, field, i), LegalValues(field),
        Shown(text),
        letters
            ? std::string("; write it, or leave the field out")
            : fmt::format("; write for example \"{}\"", range.said.example())));
  }

  static std::string Path(const std::string& path,
                          const gp::FieldDescriptor& field, int i) {
    return fmt::format("{}{}{}{}", path, path.empty() ? "" : ".", field.name(),
                       field.is_repeated() ? fmt::format("[{}]", i) : "");
  }

  Violations& violations_;
};

}  // namespace

void CheckLegal(const gp::Message& message, const std::string& path,
                Violations* violations) {
  LegalReader(violations).Read(message, path);
}

absl::Status CheckLegal(const gp::Message& message, const std::string& path) {
  Violations violations;
  CheckLegal(message, path, &violations);
  return violations.ToStatus();
}

bool IsLegal(const gp::FieldDescriptor& field, double value) {
  const LegalRange& range = RangeOf(field);
  return value >= range.least && value <= range.most;  // not so for NaN
}

std::string LegalValues(const gp::FieldDescriptor& field) {
  const pb::Legal& said = RangeOf(field).said;
  if (said.unit() == pb::Legal::LETTERS) {
    return fmt::format("a {} of {} to {} letters",
                       said.least() == "0" ? "text" : "line of text",
                       said.least(), said.most());
  }
  return fmt::format("{} from {} to {}", NounOf(said.unit(), IsWhole(field)),
                     said.least(), said.most());
}

}  // namespace orrery
