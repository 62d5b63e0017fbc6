#include "base/units_text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/strip.h>
#include <absl/types/span.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/excerpt.h"
#include "base/status.h"

namespace orrery {
namespace {

struct Prefix {
  absl::string_view text;
  double scale;
};

constexpr std::array<Prefix, 8> kDecimal = {{{"", 1},
                                             {"k", 1e3},
                                             {"M", 1e6},
                                             {"G", 1e9},
                                             {"T", 1e12},
                                             {"P", 1e15},
                                             {"E", 1e18},
                                             {"Z", 1e21}}};
constexpr std::array<Prefix, 6> kBinary = {{{"", 1},
                                            {"Ki", 0x1p10},
                                            {"Mi", 0x1p20},
                                            {"Gi", 0x1p30},
                                            {"Ti", 0x1p40},
                                            {"Pi", 0x1p50}}};
constexpr std::array<Prefix, 12> kSmall = {{{"p", 1e-12},
                                            {"n", 1e-9},
                                            {"u", 1e-6},
                                            {"m", 1e-3},
                                            {"", 1},
                                            {"k", 1e3},
                                            {"M", 1e6},
                                            {"G", 1e9},
                                            {"T", 1e12},
                                            {"P", 1e15},
                                            {"E", 1e18},
                                            {"Z", 1e21}}};

// One unit a quantity may be written in, with the prefixes it takes.
struct Unit {
  absl::string_view text;
  double scale;
  absl::Span<const Prefix> prefixes;
};

// Far beyond any machine, and such that products and quotients of a few of them
// are still numbers.
constexpr double kMost = 1e30;
constexpr double kLeast = 1e-30;

absl::Status Refuse(absl::string_view text, absl::string_view what,
                    absl::string_view example) {
  return absl::InvalidArgumentError(
      fmt::format("'{}' is not {}; write for example \"{}\"", Excerpt(text),
                  std::string(what), std::string(example)));
}

// The leading decimal number of `text`, which it is stripped of.
template <class Real>
std::optional<Real> ConsumeNumber(absl::string_view* text) {
  Real value = 0;
  const char* begin = text->data();
  const char* end = begin + text->size();
  // from_chars would also read "inf", "nan" and a sign.
  if (begin == end ||
      !(absl::ascii_isdigit(static_cast<unsigned char>(*begin)) ||
        *begin == '.')) {
    return std::nullopt;
  }
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(rest - begin));
  return value;
}

std::optional<double> UnitScale(absl::string_view text,
                                absl::Span<const Unit> units) {
  for (const Unit& unit : units) {
    absl::string_view rest = text;
    if (!absl::ConsumeSuffix(&rest, unit.text)) continue;
    if (rest == "K") rest = "k";
    for (const Prefix& prefix : unit.prefixes) {
      if (rest == prefix.text) return unit.scale * prefix.scale;
    }
  }
  return std::nullopt;
}

absl::StatusOr<double> Parse(absl::string_view text,
                             absl::Span<const Unit> units,
                             absl::string_view what,
                             absl::string_view example) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  const std::optional<double> number = ConsumeNumber<double>(&rest);
  if (!number) return Refuse(text, what, example);
  const std::optional<double> scale =
      UnitScale(absl::StripLeadingAsciiWhitespace(rest), units);
  if (!scale) return Refuse(text, what, example);
  // Dividing by a whole number rounds once where a factor such as 1e-6, which
  // no double holds exactly, would round twice.
  const double value =
      *scale < 1 ? *number / std::round(1 / *scale) : *number * *scale;
  if (value > kMost || (value > 0 && value < kLeast)) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is {} beyond anything real; write for example \"{}\"",
                    Excerpt(text), std::string(what), std::string(example)));
  }
  return value;
}

std::string Digits(double value, int digits) {
  return digits == kExact ? fmt::format("{}", value)
                          : fmt::format("{:.{}g}", value, digits);
}

double Scaled(double value, double scale) {
  return scale < 1 ? value * std::round(1 / scale) : value / scale;
}

// `value` with the largest prefix that leaves at least 1 in front of it.
std::string Format(double value, absl::string_view unit,
                   absl::Span<const Prefix> prefixes, int digits) {
  const Prefix* best = nullptr;
  for (const Prefix& prefix : prefixes) {
    if (best == nullptr || Scaled(value, prefix.scale) >= 1) best = &prefix;
    if (value == 0 && prefix.scale == 1) best = &prefix;
  }
  // Rounded to few digits, 999.96 MB must read 1 GB, not 1e+03 MB.
  if (digits != kExact && best + 1 != prefixes.data() + prefixes.size()) {
    const double shown =
        std::stod(fmt::format("{:.{}g}", Scaled(value, best->scale), digits));
    if (shown * best->scale >= (best + 1)->scale * (1 - 1e-12)) ++best;
  }
  double shown = Scaled(value, best->scale);
  // Exactly means exactly: if the prefix costs a bit, do without it.
  const double back = best->scale < 1 ? shown / std::round(1 / best->scale)
                                      : shown * best->scale;
  absl::string_view prefix = best->text;
  if (digits == kExact && back != value) {
    shown = value;
    prefix = "";
  }
  if (digits != kExact && digits < 4 && shown >= 100) digits = 4;
  return fmt::format("{} {}{}", Digits(shown, digits), std::string(prefix),
                     std::string(unit));
}

constexpr Unit kByteUnits[] = {{"B", 1, kBinary}, {"B", 1, kDecimal}};
constexpr Unit kByteRateUnits[] = {{"B/s", 1, kBinary},
                                   {"B/s", 1, kDecimal},
                                   {"b/s", 0.125, kDecimal},
                                   {"bit/s", 0.125, kDecimal}};
constexpr Unit kFlopUnits[] = {{"FLOP", 1, kDecimal}, {"FLOPs", 1, kDecimal}};
constexpr Unit kFlopRateUnits[] = {{"FLOP/s", 1, kDecimal},
                                   {"FLOPS", 1, kDecimal}};
constexpr Unit kOpRateUnits[] = {{"op/s", 1, kDecimal}, {"OP/s", 1, kDecimal}};
constexpr Unit kHertzUnits[] = {{"Hz", 1, kDecimal}};
constexpr Unit kJouleUnits[] = {{"Wh", 3600, kDecimal}, {"J", 1, kSmall}};
constexpr Unit kWattUnits[] = {{"W", 1, kSmall}};
constexpr Unit kAreaUnits[] = {
    {"mm2", 1, absl::Span<const Prefix>(kDecimal.data(), 1)}};
constexpr Prefix kTimePrefixes[] = {
    {"p", 1e-12},       {"n", 1e-9}, {"u", 1e-6}, {"\xC2\xB5", 1e-6},
    {"\xCE\xBC", 1e-6}, {"m", 1e-3}, {"", 1}};
constexpr Prefix kShownTimePrefixes[] = {
    {"p", 1e-12}, {"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"", 1}};
constexpr Prefix kNoPrefix[] = {{"", 1}};
constexpr Unit kTimeUnits[] = {{"s", 1, kTimePrefixes},
                               {"min", 60, kNoPrefix},
                               {"h", 3600, kNoPrefix},
                               {"d", 86400, kNoPrefix}};
constexpr Unit kCountUnits[] = {{"", 1, kDecimal}, {"B", 1e9, kNoPrefix}};

template <class Q>
absl::StatusOr<Q> ParseReal(absl::string_view text,
                            absl::Span<const Unit> units,
                            absl::string_view what, absl::string_view example) {
  ASSIGN_OR_RETURN(const double value, Parse(text, units, what, example));
  return Q(value);
}

}  // namespace

absl::StatusOr<Duration> ParseDuration(absl::string_view text) {
  // A double holds picoseconds exactly up to about two hours only, hence the
  // longer mantissa here.
  ASSIGN_OR_RETURN(const double seconds,
                   Parse(text, kTimeUnits, "a time", "1.5 us"));
  if (seconds >= kMaxSeconds) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is longer than the 104 days that can be simulated",
                    std::string(text)));
  }
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  const long double number = *ConsumeNumber<long double>(&rest);
  const double scale =
      *UnitScale(absl::StripLeadingAsciiWhitespace(rest), kTimeUnits);
  const long double picoseconds = number * std::round(scale * 1e12);
  if (picoseconds <= 0) return Duration(0);
  return std::max(Duration(1), Duration(std::llroundl(picoseconds)));
}

absl::StatusOr<Bytes> ParseBytes(absl::string_view text) {
  ASSIGN_OR_RETURN(const double value,
                   Parse(text, kByteUnits, "a number of bytes", "80 GB"));
  if (value >= 0x1p63) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' is more than the 9.2 EB that can be counted", std::string(text)));
  }
  // "17.28 TB" is whole, though its product of two doubles is off by one ulp.
  const double whole = std::round(value);
  if (std::abs(value - whole) >
      value * std::numeric_limits<double>::epsilon()) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not a whole number of bytes", std::string(text)));
  }
  return Bytes(static_cast<int64_t>(whole));
}

absl::StatusOr<BytesPerSecond> ParseBytesPerSecond(absl::string_view text) {
  return ParseReal<BytesPerSecond>(text, kByteRateUnits, "a bandwidth",
                                   "3.35 TB/s");
}
absl::StatusOr<Flops> ParseFlops(absl::string_view text) {
  return ParseReal<Flops>(text, kFlopUnits, "a number of FLOPs", "2 TFLOP");
}
absl::StatusOr<FlopsPerSecond> ParseFlopsPerSecond(absl::string_view text) {
  return ParseReal<FlopsPerSecond>(text, kFlopRateUnits, "a rate of FLOPs",
                                   "989.4 TFLOP/s");
}
absl::StatusOr<OpsPerSecond> ParseOpsPerSecond(absl::string_view text) {
  return ParseReal<OpsPerSecond>(text, kOpRateUnits, "a rate of operations",
                                 "3.9 Top/s");
}
absl::StatusOr<Hertz> ParseHertz(absl::string_view text) {
  return ParseReal<Hertz>(text, kHertzUnits, "a frequency", "1.41 GHz");
}
absl::StatusOr<Joules> ParseJoules(absl::string_view text) {
  return ParseReal<Joules>(text, kJouleUnits, "an energy", "4.5 pJ");
}
absl::StatusOr<Watts> ParseWatts(absl::string_view text) {
  return ParseReal<Watts>(text, kWattUnits, "a power", "700 W");
}
absl::StatusOr<SquareMillimetres> ParseSquareMillimetres(
    absl::string_view text) {
  return ParseReal<SquareMillimetres>(text, kAreaUnits, "an area", "814 mm2");
}

absl::StatusOr<Dollars> ParseDollars(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&rest, "$")) {
    return Refuse(text, "a price", "$25000");
  }
  const absl::StatusOr<double> value =
      Parse(rest, kCountUnits, "a price", "$25000");
  if (!value.ok()) return Refuse(text, "a price", "$25000");
  return Dollars(*value);
}

absl::StatusOr<DollarsPerHour> ParseDollarsPerHour(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumeSuffix(&rest, "/h")) {
    return Refuse(text, "a price per hour", "$2.10/h");
  }
  const absl::StatusOr<Dollars> value = ParseDollars(rest);
  if (!value.ok()) return Refuse(text, "a price per hour", "$2.10/h");
  return DollarsPerHour(value->value());
}

std::string ToText(Duration value, int digits) {
  if (value < Duration(0)) return "-" + ToText(-value, digits);
  if (digits != kExact) {
    return Format(ToSeconds(value), "s", kShownTimePrefixes, digits);
  }
  // Exact from the integer: the largest unit that divides it well enough to
  // print few digits is found by the same rule as for every other quantity.
  static constexpr std::pair<int64_t, const char*> kUnits[] = {
      {1'000'000'000'000, "s"},
      {1'000'000'000, "ms"},
      {1'000'000, "us"},
      {1'000, "ns"}};
  for (const auto& [picoseconds, unit] : kUnits) {
    if (value.count() < picoseconds) continue;
    const int64_t whole = value.count() / picoseconds;
    const int64_t rest = value.count() % picoseconds;
    if (rest == 0) return fmt::format("{} {}", whole, unit);
    std::string fraction =
        fmt::format("{}", picoseconds + rest).substr(1);  // leading zeros kept
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return fmt::format("{}.{} {}", whole, fraction, unit);
  }
  return fmt::format("{} ps", value.count());
}

std::string ToText(Bytes value, int digits) {
  if (value < Bytes(0)) return "-" + ToText(-value, digits);
  if (digits == kExact && value.value() % 1000 != 0) {
    return fmt::format("{} B", value.value());
  }
  return Format(static_cast<double>(value.value()), "B", kDecimal, digits);
}
std::string ToBinaryText(Bytes value, int digits) {
  if (value < Bytes(0)) return "-" + ToBinaryText(-value, digits);
  if (digits == kExact && value.value() % 1024 != 0) {
    return fmt::format("{} B", value.value());
  }
  return Format(static_cast<double>(value.value()), "B", kBinary, digits);
}
std::string ToText(BytesPerSecond value, int digits) {
  return Format(value.value(), "B/s", kDecimal, digits);
}
std::string ToText(Flops value, int digits) {
  return Format(value.value(), "FLOP", kDecimal, digits);
}
std::string ToText(FlopsPerSecond value, int digits) {
  return Format(value.value(), "FLOP/s", kDecimal, digits);
}
std::string ToText(OpsPerSecond value, int digits) {
  return Format(value.value(), "op/s", kDecimal, digits);
}
std::string ToText(Hertz value, int digits) {
  return Format(value.value(), "Hz", kDecimal, digits);
}
std::string ToText(Joules value, int digits) {
  return Format(value.value(), "J", kSmall, digits);
}
std::string ToText(Watts value, int digits) {
  return Format(value.value(), "W", kSmall, digits);
}
std::string ToText(SquareMillimetres value, int digits) {
  return Format(value.value(), "mm2", absl::MakeConstSpan(kNoPrefix), digits);
}
std::string ToText(Dollars value, int digits) {
  if (value.value() < 0) return "-" + ToText(-value, digits);
  return "$" + Digits(value.value(), digits);
}
std::string ToText(DollarsPerHour value, int digits) {
  return ToText(Dollars(value.value()), digits) + "/h";
}

std::string SecondsText(double seconds) {
  if (seconds >= kMaxSeconds) return fmt::format("{:.4g} s", seconds);
  return ToText(FromSeconds(seconds), 4);
}

std::string SignedSecondsText(double seconds) {
  return (seconds < 0 ? "-" : "+") + SecondsText(std::abs(seconds));
}

std::string BytesText(int64_t bytes) { return ToBinaryText(Bytes(bytes), 4); }

}  // namespace orrery
