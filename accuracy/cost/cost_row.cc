#include "accuracy/cost/cost_row.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <cmath>

#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

// How many characters at the front are a decimal number; no input is negative.
size_t NumberLength(absl::string_view text) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t from = i;
    while (i < text.size() &&
           absl::ascii_isdigit(static_cast<unsigned char>(text[i]))) {
      ++i;
    }
    return i > from;
  };
  bool any = digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    any = digits() || any;
  }
  if (!any) return 0;
  if (i + 1 < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const size_t before = i++;
    if (text[i] == '-' || text[i] == '+') ++i;
    if (!digits()) i = before;
  }
  return i;
}

}  // namespace

std::optional<std::vector<double>> Scan(absl::string_view text,
                                        absl::string_view pattern) {
  std::vector<double> numbers;
  while (!pattern.empty()) {
    if (pattern[0] == '*') {
      for (size_t skip = 0; skip <= text.size(); ++skip) {
        if (auto rest = Scan(text.substr(skip), pattern.substr(1))) {
          numbers.insert(numbers.end(), rest->begin(), rest->end());
          return numbers;
        }
      }
      return std::nullopt;
    }
    if (pattern[0] == '%') {
      const size_t length = NumberLength(text);
      double value = 0;
      if (length == 0 || !absl::SimpleAtod(text.substr(0, length), &value)) {
        return std::nullopt;
      }
      numbers.push_back(value);
      text.remove_prefix(length);
    } else {
      if (text.empty() || text[0] != pattern[0]) return std::nullopt;
      text.remove_prefix(1);
    }
    pattern.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return numbers;
}

CostInputs::CostInputs(absl::string_view text) : text_(text) {
  for (absl::string_view field : absl::StrSplit(text, ';')) {
    fields_.emplace_back(absl::StripAsciiWhitespace(field));
  }
}

std::optional<std::string> CostInputs::Find(absl::string_view key) const {
  for (const std::string& field : fields_) {
    const size_t equals = field.find('=');
    if (equals != std::string::npos &&
        absl::string_view(field).substr(0, equals) == key) {
      return field.substr(equals + 1);
    }
  }
  return std::nullopt;
}

bool CostInputs::HasWord(absl::string_view word) const {
  return absl::StrContains(text_, word);
}

absl::StatusOr<std::string> CostInputs::Text(absl::string_view key) const {
  if (auto found = Find(key)) return *found;
  return absl::InvalidArgumentError(
      fmt::format("inputs have no '{}='", std::string(key)));
}

absl::StatusOr<double> CostInputs::Number(absl::string_view key) const {
  ASSIGN_OR_RETURN(const std::string text, Text(key));
  if (const auto numbers = Scan(text, "%*")) return numbers->front();
  return absl::InvalidArgumentError(fmt::format(
      "inputs: '{}' must be a number, got '{}'", std::string(key), text));
}

std::optional<std::vector<double>> CostInputs::FindNumbers(
    absl::string_view pattern) const {
  for (const std::string& field : fields_) {
    if (auto numbers = Scan(field, pattern)) return numbers;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<double>> CostInputs::Numbers(
    absl::string_view pattern) const {
  if (auto numbers = FindNumbers(pattern)) return *numbers;
  return absl::InvalidArgumentError(
      fmt::format("inputs have nothing like '{}'", std::string(pattern)));
}

absl::StatusOr<int> CountOf(double value, absl::string_view what) {
  constexpr double kMost = 20000;
  if (!(value >= 1 && value <= kMost)) {
    return absl::InvalidArgumentError(
        fmt::format("inputs: '{}' must be 1 .. {}", std::string(what), kMost));
  }
  return static_cast<int>(value);
}

absl::StatusOr<CostRow> ReadCostRow(const MeasurementRow& row) {
  CostRow result{.id = row.id(),
                 .line = row.line(),
                 .model = row.Text("source_model"),
                 .kase = row.Text("case"),
                 .inputs = CostInputs(row.Text("inputs")),
                 .quantity = row.Text("quantity"),
                 .expected_text = row.Text("expected"),
                 .unit = row.Text("unit")};
  ASSIGN_OR_RETURN(result.expected, row.Positive("expected"));
  return result;
}

double RoundedLike(double value, absl::string_view printed) {
  const size_t exponent = printed.find_first_of("eE");
  const absl::string_view mantissa = printed.substr(0, exponent);
  const size_t dot = mantissa.find('.');
  int decimals = dot == absl::string_view::npos
                     ? 0
                     : static_cast<int>(mantissa.size() - dot - 1);
  if (exponent != absl::string_view::npos) {
    int power = 0;
    if (absl::SimpleAtoi(printed.substr(exponent + 1), &power)) {
      decimals -= power;
    }
  }
  const double unit = std::pow(10.0, -decimals);
  return std::round(value / unit) * unit;
}

}  // namespace orrery
