#include "accuracy/table/measurement_table.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "accuracy/table/column_types.h"
#include "accuracy/table/validation_data.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

constexpr double kMost = 1e15;
// Of what a table says, in messages.
constexpr size_t kLongestId = 40;
constexpr size_t kLongestValue = 80;

std::string LineName(int line) { return fmt::format("line {}", line); }

// "'chip' or 'hardware'".
std::string Quoted(absl::string_view alternatives) {
  return fmt::format("'{}'",
                     absl::StrReplaceAll(alternatives, {{"|", "' or '"}}));
}

bool HasOneOf(const CsvTable& table, absl::string_view alternatives) {
  const std::vector<absl::string_view> columns =
      absl::StrSplit(alternatives, '|');
  return std::any_of(
      columns.begin(), columns.end(),
      [&](absl::string_view column) { return table.HasColumn(column); });
}

// What a suite looks at, or has for people: the columns of its tables, which
// share the beginning of their names, and what is needed.
std::set<std::string> KnownColumns(absl::string_view name,
                                   absl::Span<const absl::string_view> needed) {
  std::set<std::string> known;
  for (const EmbeddedFile& file : ValidationFiles()) {
    if (!absl::StartsWith(file.name, name.substr(0, name.find('.')))) continue;
    const absl::StatusOr<CsvTable> csv = CsvTable::Parse(file.text);
    if (csv.ok()) known.insert(csv->columns().begin(), csv->columns().end());
  }
  for (const absl::string_view columns : needed) {
    for (const absl::string_view column : absl::StrSplit(columns, '|')) {
      known.emplace(column);
    }
  }
  return known;
}

// A column that nobody looks at would be a row that says one thing and is
// predicted as another.
absl::Status CheckColumns(const CsvTable& csv, const std::string& origin,
                          const std::set<std::string>& known) {
  std::vector<std::string> unknown;
  for (const std::string& column : csv.columns()) {
    if (known.contains(column)) continue;
    unknown.push_back(Quoted(column.substr(0, kLongestValue)));
  }
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: line 1: nothing is known of column {}; the columns are {} (remarks "
      "go into 'notes')",
      origin, absl::StrJoin(unknown, ", "), absl::StrJoin(known, ", ")));
}

}  // namespace

std::string RefusedRow::ToString() const {
  const std::string place = LineName(line);
  return id == place ? fmt::format("{}: {}", place, reason)
                     : fmt::format("{} ({}): {}", place, id, reason);
}

MeasurementRow::MeasurementRow(const CsvTable::Row& row)
    : row_(&row),
      id_(row.Get("id").value_or(LineName(row.line())).substr(0, kLongestId)) {}

std::string MeasurementRow::Text(absl::string_view column) const {
  return Get(column).value_or("");
}

std::string MeasurementRow::Name(absl::string_view column) const {
  const std::string text = Text(column);
  return text.substr(0, text.find(" ("));
}

absl::StatusOr<double> MeasurementRow::Positive(
    absl::string_view column) const {
  const std::optional<double> value = row_->Number(column);
  if (value.has_value() && *value > 0 && *value < kMost) return *value;
  return Wrong(column, "a positive number");
}

absl::StatusOr<int64_t> MeasurementRow::Whole(absl::string_view column,
                                              int64_t low, int64_t high) const {
  const std::optional<double> value = row_->Number(column);
  if (value.has_value() && *value >= static_cast<double>(low) &&
      *value <= static_cast<double>(high) && *value == std::floor(*value)) {
    return static_cast<int64_t>(*value);
  }
  return Wrong(column, fmt::format("a whole number from {} to {}", low, high));
}

absl::StatusOr<DType> MeasurementRow::Format(absl::string_view column) const {
  const std::string name = Name(column);
  if (absl::StartsWith(name, "fp8")) return DType::kFp8;
  if (name == "bf16" || name == "bfloat16" || name == "fp16/bf16") {
    return DType::kBf16;
  }
  if (name == "fp16") return DType::kFp16;
  if (name == "fp4" || name == "nvfp4") return DType::kFp4;
  if (name == "int8") return DType::kInt8;
  if (name == "int4") return DType::kInt4;
  if (name == "fp32") return DType::kFp32;
  if (name == "fp64") return DType::kFp64;
  return Wrong(column, "bf16, fp16, fp8, fp4, int8, int4, fp32 or fp64");
}

absl::Status MeasurementRow::Wrong(absl::string_view column,
                                   absl::string_view what) const {
  const std::optional<std::string> value = Get(column);
  return absl::InvalidArgumentError(
      fmt::format("column '{}' must be {}, {}", column, what,
                  value.has_value()
                      ? fmt::format("got '{}'", value->substr(0, kLongestValue))
                      : "but is empty"));
}

RefusedRow MeasurementRow::Refused(const absl::Status& why) const {
  return {line(), id_, absl::StrReplaceAll(why.message(), {{"\n", "; "}})};
}

MeasurementTable::MeasurementTable(CsvTable csv, std::string origin)
    : csv_(std::move(csv)), origin_(std::move(origin)) {
  for (const CsvTable::Row& row : csv_.rows()) {
    MeasurementRow measurement(row);
    if (row.whole()) {
      rows_.push_back(std::move(measurement));
    } else {
      malformed_.push_back(measurement.Refused(absl::InvalidArgumentError(
          fmt::format("the row has {} field{}, the header has {}", row.size(),
                      row.size() == 1 ? "" : "s", csv_.columns().size()))));
    }
  }
}

absl::StatusOr<MeasurementTable> MeasurementTable::Parse(
    absl::string_view text, std::string origin,
    absl::Span<const absl::string_view> needed) {
  absl::StatusOr<CsvTable> csv = CsvTable::Parse(text);
  if (!csv.ok()) return Annotate(csv.status(), origin);
  std::vector<std::string> missing;
  for (const absl::string_view column : needed) {
    if (!HasOneOf(*csv, column)) missing.push_back(Quoted(column));
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: line 1: the table has no column {} (validation/README.md says "
        "what a table holds)",
        origin, absl::StrJoin(missing, ", ")));
  }
  if (csv->rows().empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the table has a header, but no rows", origin));
  }
  return MeasurementTable(*std::move(csv), std::move(origin));
}

absl::StatusOr<MeasurementTable> MeasurementTable::Open(
    const std::optional<std::string>& file, absl::string_view name,
    absl::Span<const absl::string_view> needed) {
  if (!file.has_value()) {
    return Parse(ValidationText(name), fmt::format("validation/{}", name),
                 needed);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(*file));
  ASSIGN_OR_RETURN(MeasurementTable table, Parse(text, *file, needed));
  RETURN_IF_ERROR(CheckColumns(table.csv_, *file, KnownColumns(name, needed)));
  absl::flat_hash_map<std::string, int> lines;  // by id
  std::erase_if(table.rows_, [&](const MeasurementRow& row) {
    absl::Status wrong = CheckColumnTypes(table.csv_, *row.row_);
    const std::optional<std::string> id = row.Get("id");
    if (wrong.ok() && id) {
      const auto [first, is_new] = lines.try_emplace(*id, row.line());
      if (!is_new) {
        wrong = absl::InvalidArgumentError(
            fmt::format("column 'id' must be of this row alone, but {} has the "
                        "same; write another",
                        LineName(first->second)));
      }
    }
    if (!wrong.ok()) table.malformed_.push_back(row.Refused(wrong));
    return !wrong.ok();
  });
  return table;
}

}  // namespace orrery
