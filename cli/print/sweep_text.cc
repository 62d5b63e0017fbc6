#include "cli/print/sweep_text.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/csv.h"
#include "base/format.h"
#include "base/status.h"
#include "cli/print/json.h"

namespace orrery {
namespace {

std::string NumberText(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) {
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{:.5g}", value);
}

std::string Table(const Study& study, absl::Span<const SweepRow> rows) {
  std::vector<std::string> header = {"point"};
  for (const StudyAxis& axis : study.axes()) header.push_back(axis.name);
  for (const StudyColumn& column : study.columns()) {
    header.push_back(column.name);
  }
  std::vector<size_t> widths(header.size());
  std::vector<std::vector<std::string>> cells = {std::move(header)};
  for (const SweepRow& row : rows) {
    std::vector<std::string>& line = cells.emplace_back();
    line.push_back(absl::StrCat(row.point));
    line.insert(line.end(), row.values.begin(), row.values.end());
    for (const double value : row.columns) line.push_back(NumberText(value));
    if (!row.problem.empty()) line.push_back(row.problem);
  }
  for (const auto& line : cells) {
    for (size_t i = 0; i < std::min(line.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) {
      const size_t width = i < widths.size() ? widths[i] : 0;
      absl::StrAppend(&text, "  ",
                      std::string(width - std::min(width, line[i].size()), ' '),
                      line[i]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string SweepHeader(const Study& study) {
  std::vector<std::string> names = {"point"};
  for (const StudyAxis& axis : study.axes()) {
    names.push_back(CsvField(axis.name));
  }
  names.emplace_back("problem");
  for (const StudyColumn& column : study.columns()) {
    names.push_back(CsvField(column.name));
  }
  return absl::StrJoin(names, ",");
}

std::string SweepRecord(const SweepRow& row) {
  std::string record = absl::StrCat(row.point);
  for (const std::string& value : row.values) {
    absl::StrAppend(&record, ",", CsvField(value));
  }
  absl::StrAppend(&record, ",", CsvField(row.problem));
  for (const double value : row.columns) {
    record += fmt::format(",{}", value);
  }
  return record;
}

std::string SweepJson(const SweepRow& row) {
  std::string text = absl::StrCat("{\"point\": ", row.point, ", \"values\": [");
  for (size_t i = 0; i < row.values.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", JsonString(row.values[i]));
  }
  if (!row.problem.empty()) {
    return absl::StrCat(text, "], \"problem\": ", JsonString(row.problem), "}");
  }
  text += "], \"columns\": [";
  for (size_t i = 0; i < row.columns.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", JsonNumber(row.columns[i]));
  }
  return text + "]}";
}

absl::StatusOr<SweepRow> ParseSweepRecord(const Study& study,
                                          const std::string& record) {
  // The parser wants a header; its names do not matter here.
  const size_t axes = study.axes().size();
  const size_t columns = study.columns().size();
  std::string header = "c0";
  for (size_t i = 1; i < 2 + axes + columns; ++i) {
    absl::StrAppend(&header, ",c", i);
  }
  ASSIGN_OR_RETURN(const CsvTable table,
                   CsvTable::Parse(absl::StrCat(header, "\n", record, "\n")));
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is no row of this study", record.substr(0, 100)));
  };
  if (table.rows().size() != 1) return bad();
  const CsvTable::Row& fields = table.rows()[0];
  const auto text = [&](size_t i) {
    return fields.Get(absl::StrCat("c", i)).value_or("");
  };
  SweepRow row;
  if (!absl::SimpleAtoi(text(0), &row.point)) return bad();
  for (size_t i = 0; i < axes; ++i) row.values.push_back(text(1 + i));
  row.problem = text(1 + axes);
  if (!row.problem.empty()) return row;
  for (size_t i = 0; i < columns; ++i) {
    double value = 0;
    if (!absl::SimpleAtod(text(2 + axes + i), &value)) return bad();
    row.columns.push_back(value);
  }
  return row;
}

std::string SweepText(const Study& study, const SweepSummary& summary,
                      absl::Span<const SweepRow> simulated) {
  std::string text =
      fmt::format("{}\n\n{} points, {} with an answer\n", study.name(),
                  summary.rows(), summary.answered());
  for (const auto& [kind, problem] : summary.problems()) {
    text += fmt::format("  {:>12}  {}\n", problem.count,
                        problem.count == 1 ? problem.example : kind);
  }
  if (summary.answered() == 0) return text;
  const StudyObjective& first = study.objectives()[0];
  text += fmt::format("\nbest by {} ({} is better)\n", first.expression.text(),
                      first.maximize ? "more" : "less");
  text += Table(study, summary.best());
  if (!simulated.empty()) {
    text += "\nthe same, simulated\n" + Table(study, simulated);
  }
  if (study.objectives().size() > 1) {
    text += fmt::format(
        "\nPareto front: {} points that are not beaten in every objective\n",
        summary.front().size());
    text += Table(study, summary.front());
  }
  return text;
}

}  // namespace orrery
