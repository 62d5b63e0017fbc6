#include "cost/silicon/price_range.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/format.h"
#include "base/random.h"
#include "base/status.h"

namespace orrery {

std::string UnitText(absl::string_view unit) {
  return unit.empty() ? "without a unit" : fmt::format("in {}", unit);
}

namespace {

absl::StatusOr<double> ParseBound(absl::string_view text,
                                  absl::string_view unit,
                                  absl::string_view what,
                                  absl::string_view example) {
  size_t digits = 0;
  while (digits < text.size() &&
         (absl::ascii_isdigit(static_cast<unsigned char>(text[digits])) ||
          absl::string_view(".+-eE").find(text[digits]) !=
              absl::string_view::npos)) {
    // An e belongs to the number only if a digit or a sign follows.
    const bool exponent = text[digits] == 'e' || text[digits] == 'E';
    if (exponent &&
        (digits + 1 >= text.size() ||
         !(absl::ascii_isdigit(static_cast<unsigned char>(text[digits + 1])) ||
           text[digits + 1] == '-' || text[digits + 1] == '+'))) {
      break;
    }
    ++digits;
  }
  double value = 0;
  const absl::string_view rest =
      absl::StripLeadingAsciiWhitespace(text.substr(digits));
  if (!absl::SimpleAtod(text.substr(0, digits), &value) ||
      !std::isfinite(value) || value < 0 || rest != unit) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: must be a number {}, got '{}'; write for example \"{}\"", what,
        UnitText(unit), text,
        !example.empty() ? std::string(example)
        : unit.empty()   ? "12"
                         : fmt::format("12 {}", unit)));
  }
  return value;
}

}  // namespace

absl::string_view UnitOfPrice(absl::string_view text) {
  const size_t blank = text.find(' ');
  return blank == absl::string_view::npos ? "" : text.substr(blank + 1);
}

absl::StatusOr<PriceRange> ParseRange(const pb::Range& proto,
                                      absl::string_view unit,
                                      absl::string_view what,
                                      absl::string_view example) {
  PriceRange range{.unit = std::string(unit), .date = proto.date()};
  const auto bound = [&](const char* name, const std::string& text) {
    return ParseBound(text, unit, fmt::format("{}.{}", what, name), example);
  };
  ASSIGN_OR_RETURN(range.nominal, bound("nominal", proto.nominal()));
  range.low = range.high = range.nominal;
  if (proto.has_low()) {
    ASSIGN_OR_RETURN(range.low, bound("low", proto.low()));
  }
  if (proto.has_high()) {
    ASSIGN_OR_RETURN(range.high, bound("high", proto.high()));
  }
  if (range.low > range.nominal || range.nominal > range.high) {
    return absl::InvalidArgumentError(
        fmt::format("{}: must be low <= nominal <= high, got {} {} {}",
                    std::string(what), range.low, range.nominal, range.high));
  }
  return range;
}

double PriceDraw::At(absl::string_view name, const PriceRange& range) const {
  if (index_ < 0 || range.low == range.high) return range.nominal;
  Rng rng(static_cast<uint64_t>(index_),
          fmt::format("price {}", std::string(name)));
  const double u = rng.Uniform();
  const double width = range.high - range.low;
  const double mode = (range.nominal - range.low) / width;
  return u < mode ? range.low + width * std::sqrt(u * mode)
                  : range.high - width * std::sqrt((1 - u) * (1 - mode));
}

std::vector<Interval> Intervals(
    absl::FunctionRef<std::vector<double>(const PriceDraw&)> evaluate) {
  constexpr double kOutside = 0.05;
  const std::vector<double> nominal = evaluate(PriceDraw::Nominal());
  std::vector<std::vector<double>> drawn(nominal.size());
  for (int i = 0; i < kPriceDraws; ++i) {
    const std::vector<double> values = evaluate(PriceDraw::Sample(i));
    CHECK(values.size() == nominal.size()) << values.size();
    for (size_t j = 0; j < values.size(); ++j) drawn[j].push_back(values[j]);
  }
  std::vector<Interval> result;
  for (size_t j = 0; j < nominal.size(); ++j) {
    std::sort(drawn[j].begin(), drawn[j].end());
    const size_t skipped = static_cast<size_t>(kOutside * kPriceDraws);
    result.push_back(
        {std::min(nominal[j], drawn[j][skipped]), nominal[j],
         std::max(nominal[j], drawn[j][drawn[j].size() - 1 - skipped])});
  }
  return result;
}

}  // namespace orrery
