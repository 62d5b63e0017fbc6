#include "cli/print/accuracy_text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/format.h"
#include "base/overload.h"

namespace orrery {
namespace {

struct Column {
  std::string title;
  int width;
  bool left = false;
};
using Cells = std::vector<std::string>;

struct TextTable {
  std::vector<Column> columns;
  std::vector<Cells> lines;
};

std::string Markdown(const TextTable& table) {
  Cells titles;
  std::string rule = "|";
  for (const Column& column : table.columns) {
    titles.push_back(column.title);
    rule += "---|";
  }
  std::string text =
      fmt::format("| {} |\n{}\n", absl::StrJoin(titles, " | "), rule);
  for (const Cells& cells : table.lines) {
    text += fmt::format("| {} |\n", absl::StrJoin(cells, " | "));
  }
  return text;
}

std::string Plain(const TextTable& table) {
  const auto line = [&](const auto& cell) {
    std::string text;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      text += i == 0 ? "" : " ";
      text += column.left ? fmt::format("{:<{}}", cell(i), column.width)
                          : fmt::format("{:>{}}", cell(i), column.width);
    }
    absl::StripTrailingAsciiWhitespace(&text);
    return text + "\n";
  };
  std::string text =
      line([&](size_t i) { return std::string_view(table.columns[i].title); });
  for (const Cells& cells : table.lines) {
    text += line([&](size_t i) { return std::string_view(cells[i]); });
  }
  return text;
}

// Beyond this a tenth of a percent is not worth a row of digits.
constexpr double kManyTimes = 1e4;

std::string Percent(double share) {
  return std::abs(share) < kManyTimes ? fmt::format("{:.1f} %", 100 * share)
                                      : fmt::format("{:.1e} %", 100 * share);
}
std::string Percent(const std::optional<double>& share) {
  return share.has_value() ? Percent(*share) : "-";
}
std::string Signed(double share) {
  return (share < 0 ? "" : "+") + Percent(share);
}
// An error that may be as small as rounding.
std::string Relative(double error) {
  constexpr double kPrinted = 5e-4;  // a tenth of a percent, rounded
  return error == 0 || error >= kPrinted ? Percent(error)
                                         : fmt::format("{:.1e}", error);
}
std::string Count(int count) { return fmt::format("{}", count); }
std::string Verdict(const AccuracyGroup& group) {
  return group.met() ? "met" : "missed";
}

std::vector<Column> GroupColumns(Suite suite) {
  switch (suite) {
    case Suite::kKernels:
      return {{"chip", 12, true}, {"kernels", 28, true},
              {"rows", 5},        {"fitted", 7},
              {"median", 8},      {"held out", 9},
              {"mean", 8},        {"p90", 8},
              {"worst", 8},       {"bar", 7},
              {"", 0, true}};
    case Suite::kCollectives:
      return {{"system", 17, true}, {"messages", 15, true},
              {"rows", 5},          {"median", 8},
              {"mean", 8},          {"worst", 9},
              {"bar", 8},           {"", 0, true}};
    case Suite::kTraining:
      return {{"source", 34, true}, {"rows", 5},   {"refused", 7},
              {"mean", 8},          {"median", 8}, {"worst", 8},
              {"bias", 8},          {"order", 6},  {"fit right", 9}};
    case Suite::kInference:
      return {{"source", 34, true}, {"rows", 5},   {"refused", 8},
              {"mean", 8},          {"median", 8}, {"worst", 8},
              {"bias", 8},          {"", 0, true}};
    case Suite::kCost:
      return {{"model", 26, true}, {"case", 28, true}, {"rows", 5},
              {"skipped", 8},      {"median", 9},      {"worst", 9},
              {"bar", 9},          {"", 0, true}};
  }
  CHECK(false) << "no such suite";
  return {};
}

Cells GroupCells(Suite suite, const AccuracyGroup& group) {
  const auto& [level, subject, rank, part] = group.key;
  const ErrorStatistics& e = group.errors;
  switch (suite) {
    case Suite::kKernels:
      return {subject,           part,
              Count(e.rows),     Count(e.fitted),
              Percent(e.median), Percent(e.held_out_median),
              Percent(e.mean),   Percent(e.ninetieth),
              Percent(e.worst),  Percent(group.bars.median),
              Verdict(group)};
    case Suite::kCollectives:
      return {subject,
              part,
              Count(e.rows),
              Percent(e.median),
              Percent(e.mean),
              Percent(e.worst),
              Percent(group.bars.mean ? group.bars.mean : group.bars.median),
              Verdict(group)};
    case Suite::kTraining:
      return {part.empty() ? subject : fmt::format("{}, {}", subject, part),
              Count(e.rows),
              Count(group.refused),
              Percent(e.mean),
              Percent(e.median),
              Percent(e.worst),
              Signed(e.bias),
              group.rank_correlation.has_value()
                  ? fmt::format("{:.2f}", *group.rank_correlation)
                  : "-",
              group.fit.has_value() ? Percent(group.fit->right()) : "-"};
    case Suite::kInference:
      return {part.empty() ? subject : fmt::format("  on {}", part),
              Count(e.rows),
              Count(group.refused),
              Percent(e.mean),
              Percent(e.median),
              Percent(e.worst),
              Signed(e.bias),
              part.empty() ? Verdict(group) : ""};
    case Suite::kCost:
      return {subject,
              part.empty() ? "all" : part,
              Count(e.rows),
              Count(group.refused),
              Relative(e.median),
              Relative(e.worst),
              group.bars.worst ? Relative(*group.bars.worst) : "-",
              group.bars.worst ? Verdict(group) : ""};
  }
  CHECK(false) << "no such suite";
  return {};
}

std::vector<Column> RowColumns(Suite suite) {
  switch (suite) {
    case Suite::kKernels:
      return {{"row", 10, true},   {"chip", 12, true},   {"kernel", 34, true},
              {"measured us", 12}, {"predicted us", 12}, {"error", 10},
              {"", 0, true}};
    case Suite::kCollectives:
      return {{"row", 8, true},
              {"system", 17, true},
              {"collective", 15, true},
              {"chips", 5},
              {"bytes", 12},
              {"measured GB/s", 13},
              {"predicted GB/s", 14},
              {"error", 9},
              {"algorithm", 0, true}};
    case Suite::kTraining:
      return {{"row", 8, true}, {"model", 28, true}, {"plan", 44, true},
              {"measured", 9},  {"predicted", 9},    {"error", 8},
              {"GiB", 8},       {"ours", 8}};
    case Suite::kInference:
      return {{"row", 8, true},   {"model", 14, true}, {"plan", 52, true},
              {"what", 12, true}, {"measured", 12},    {"predicted", 12},
              {"error", 9}};
    case Suite::kCost:
      return {{"row", 6, true},     {"model", 26, true},
              {"inputs", 60, true}, {"quantity", 30, true},
              {"published", 14},    {"ours", 14},
              {"error", 9}};
  }
  CHECK(false) << "no such suite";
  return {};
}

Cells RowCells(const AccuracyRow& row) {
  return std::visit(
      Overload{[&](const MeasuredKernel& facts) -> Cells {
                 return {row.id,
                         facts.chip,
                         facts.kernel,
                         fmt::format("{:.2f}", row.measured * 1e6),
                         fmt::format("{:.2f}", row.predicted * 1e6),
                         Signed(row.error()),
                         row.fitted ? "fitted" : ""};
               },
               [&](const MeasuredCollective& facts) -> Cells {
                 return {row.id,
                         facts.system,
                         std::string(NameOf(facts.kind)),
                         Count(facts.chips),
                         fmt::format("{}", facts.bytes.value()),
                         fmt::format("{:.4g}", row.measured / 1e9),
                         fmt::format("{:.4g}", row.predicted / 1e9),
                         Signed(row.error()),
                         facts.algorithm};
               },
               [&](const MeasuredStep& facts) -> Cells {
                 return {row.id,
                         facts.model,
                         facts.plan,
                         fmt::format("{:.2f} s", row.measured),
                         fmt::format("{:.2f} s", row.predicted),
                         Signed(row.error()),
                         facts.measured_gib.has_value()
                             ? fmt::format("{:.2f}", *facts.measured_gib)
                             : "-",
                         fmt::format("{:.2f}", facts.predicted_gib)};
               },
               [&](const MeasuredRequest& facts) -> Cells {
                 return {row.id,
                         facts.model,
                         facts.plan,
                         facts.quantity,
                         fmt::format("{:.4g} ms", row.measured * 1e3),
                         fmt::format("{:.4g} ms", row.predicted * 1e3),
                         Signed(row.error())};
               },
               [&](const MeasuredCost& facts) -> Cells {
                 return {row.id,
                         facts.model,
                         facts.inputs.substr(0, 60),
                         facts.quantity.substr(0, 30),
                         fmt::format("{:.10g}", row.measured),
                         fmt::format("{:.10g}", row.predicted),
                         Relative(std::abs(row.error()))};
               }},
      row.facts);
}

// The verdict on the whole table, which is also the exit code.
std::string WholeVerdict(const AccuracyTable& table) {
  if (table.rows().empty()) return "no row could be predicted";
  int barred = 0;
  int missed = 0;
  for (const AccuracyGroup& group : table.groups()) {
    const AccuracyBars& bars = group.bars;
    barred += bars.median || bars.mean || bars.worst;
    missed += !group.met();
  }
  if (barred == 0) return "no bars";
  if (missed == 0) return "every bar is met";
  return fmt::format("{} of {} bars missed", missed, barred);
}

// Why rows were refused, each reason once.
std::string ReasonsText(const AccuracyTable& table) {
  std::map<std::string, std::vector<const RefusedRow*>> reasons;
  for (const RefusedRow& refused : table.refused()) {
    reasons[refused.reason].push_back(&refused);
  }
  std::string text;
  for (const auto& [reason, rows] : reasons) {
    text += rows.size() == 1 ? fmt::format("  {}\n", rows[0]->ToString())
                             : fmt::format("  {} rows (the first: {}): {}\n",
                                           rows.size(), rows[0]->id, reason);
  }
  return text;
}

// Every row that was refused. A suite of steps refuses many: each reason once,
// with the number of rows and the first of them.
std::string RefusedText(const AccuracyTable& table, bool each) {
  std::string text;
  constexpr size_t kMostListed = 20;
  if (each || table.refused().size() <= kMostListed ||
      table.suite() != Suite::kTraining) {
    for (const RefusedRow& refused : table.refused()) {
      text += fmt::format("  {}\n", refused.ToString());
    }
    return text;
  }
  struct Refused {
    int rows = 0;
    std::string first;
  };
  std::map<std::string, Refused> reasons;
  for (const RefusedRow& refused : table.refused()) {
    Refused& of_reason = reasons[refused.reason];
    if (of_reason.rows++ == 0) of_reason.first = refused.id;
  }
  for (const auto& [reason, refused] : reasons) {
    text += fmt::format("  {:>4}  (the first: {}) {}\n", refused.rows,
                        refused.first, reason);
  }
  return text;
}

std::string FitText(const AccuracyTable& table) {
  std::string text;
  for (const AccuracyGroup& group : table.groups()) {
    if (!group.fit || !group.key.part.empty()) continue;
    const FitCounts& fit = *group.fit;
    text += fmt::format(
        "\n{}: {} of {} runs fit or not as predicted; {} ran out of memory "
        "that should fit,\n{} finished that should not\n",
        group.key.subject, fit.fits_and_did + fit.does_not_and_did_not,
        fit.total(), fit.fits_but_did_not, fit.does_not_but_did);
  }
  return text;
}

// How far the memory of runs that say so was off, by source: what it counts is
// in validation/README.md.
std::string MemoryText(const AccuracyTable& table) {
  std::map<std::string, std::vector<RowError>> errors;
  const auto add = [&](const std::string& of, std::optional<double> measured,
                       double predicted) {
    if (measured) errors[of].push_back({.error = predicted / *measured - 1});
  };
  for (const AccuracyRow& row : table.rows()) {
    const auto* step = std::get_if<MeasuredStep>(&row.facts);
    if (step == nullptr) continue;
    add(row.source, step->measured_gib, step->predicted_gib);
    add(row.source + ", reserved by the first rank",
        step->measured_reserved_gib, step->predicted_reserved_gib);
  }
  if (errors.empty()) return "";
  TextTable lines{{{"memory", 38, true},
                   {"rows", 5},
                   {"mean", 8},
                   {"median", 8},
                   {"worst", 8},
                   {"bias", 8}},
                  {}};
  for (const auto& [of, list] : errors) {
    const ErrorStatistics e = Summarise(list);
    lines.lines.push_back({of, Count(e.rows), Percent(e.mean),
                           Percent(e.median), Percent(e.worst),
                           Signed(e.bias)});
  }
  return "\n" + Plain(lines);
}

}  // namespace

std::string AccuracyText(const AccuracyTable& table,
                         const AccuracyTextOptions& options) {
  TextTable groups{GroupColumns(table.suite()), {}};
  for (const AccuracyGroup& group : table.groups()) {
    groups.lines.push_back(GroupCells(table.suite(), group));
  }
  TextTable rows{RowColumns(table.suite()), {}};
  if (options.rows) {
    for (const AccuracyRow& row : table.rows()) {
      rows.lines.push_back(RowCells(row));
    }
  }
  if (options.markdown) {
    return Markdown(groups) + (options.rows ? "\n" + Markdown(rows) : "");
  }
  std::string text = options.rows ? Plain(rows) + "\n" : "";
  text += Plain(groups);
  text += FitText(table);
  text += MemoryText(table);
  text +=
      fmt::format("\n{} rows predicted, {} refused; {}\n", table.rows().size(),
                  table.refused().size(), WholeVerdict(table));
  if (table.suite() == Suite::kCost) return text + ReasonsText(table);
  text += RefusedText(table, options.rows);
  return text;
}

std::string ProfileText(const ProfileAccuracy& profiles) {
  TextTable table{{{"", 28, true}, {"median", 8}, {"p90", 8}, {"worst", 8}},
                  {}};
  const auto add = [&](const char* what, const ErrorStatistics& errors) {
    table.lines.push_back({what, Percent(errors.median),
                           Percent(errors.ninetieth), Percent(errors.worst)});
  };
  add("bytes read from the L2", profiles.cache_read);
  add("bytes written to the L2", profiles.cache_written);
  add("bytes read from memory", profiles.memory_read);
  add("time", profiles.time);
  return fmt::format(
      "\nprofiled products on an A100, {} of {} (the others are vectors)\n{}",
      profiles.time.rows, profiles.profiles, Plain(table));
}

}  // namespace orrery
