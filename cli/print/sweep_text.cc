#include "cli/print/sweep_text.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format.h"
#include "cli/print/json.h"

namespace orrery {
namespace {

std::string NumberText(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) {
    return fmt::format("{:.0f}", value);
  }
  return fmt::format("{:.5g}", value);
}

// "near 17 %".
std::string TrustCell(const SweepRow& row) {
  if (!row.trust_error) return row.trust;
  return fmt::format("{} {:.0f} %", row.trust, 100 * *row.trust_error);
}

std::string Table(const Study& study, absl::Span<const SweepRow> rows) {
  std::vector<std::string> header = {"point"};
  for (const StudyAxis& axis : study.axes()) header.push_back(axis.name);
  for (const StudyColumn& column : study.columns()) {
    header.push_back(column.name);
  }
  header.emplace_back("trust");
  std::vector<size_t> widths(header.size());
  std::vector<std::vector<std::string>> cells = {std::move(header)};
  for (const SweepRow& row : rows) {
    std::vector<std::string>& line = cells.emplace_back();
    line.push_back(absl::StrCat(row.point));
    line.insert(line.end(), row.values.begin(), row.values.end());
    for (const double value : row.columns) line.push_back(NumberText(value));
    if (row.problem.empty()) line.push_back(TrustCell(row));
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
    absl::StrAppend(&text, i > 0 ? ", " : "", JsonNumberText(row.columns[i]));
  }
  absl::StrAppend(&text, "], \"trust\": ", JsonString(row.trust));
  if (row.trust_error) {
    absl::StrAppend(&text,
                    ", \"trust_error\": ", JsonNumberText(*row.trust_error));
  }
  return text + "}";
}

std::string SweepText(const Study& study, const SweepSummary& summary,
                      absl::Span<const SweepRow> simulated) {
  std::string text =
      fmt::format("{}\n\n{} points, {} with an answer\n", study.name(),
                  summary.rows(), summary.answered());
  for (const auto& [kind, problem] : summary.problems()) {
    text += problem.count == 1
                ? fmt::format("  {:>12}  {}\n", 1, problem.example)
                : fmt::format("  {:>12}  like point {}: {}\n", problem.count,
                              problem.point, problem.example);
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
