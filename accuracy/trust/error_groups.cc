#include "accuracy/trust/error_groups.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <variant>

#include "accuracy/table/measurement_table.h"
#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

constexpr char kDense[] = "dense";
constexpr char kExperts[] = "experts";
constexpr absl::string_view kColumns[] = {"chip", "system",    "software",
                                          "kind", "precision", "rows",
                                          "mean", "bias",      "schedules"};
// The columns "min_chips" and "max_chips", and so on, by RunScale.
constexpr std::array<absl::string_view, kRunSizes> kSizeColumns = {
    "chips",      "sequence", "hidden", "layers",  "mlp_width",
    "vocabulary", "window",   "batch",  "experts", "expert_width"};

double Number(const MeasurementRow& row, absl::string_view column) {
  double value = 0;
  CHECK(absl::SimpleAtod(row.Text(column), &value))
      << column << ": " << row.Text(column);
  return value;
}

std::vector<ErrorGroup> Read(absl::string_view name) {
  const auto table = MeasurementTable::Open(std::nullopt, name, kColumns);
  CHECK(table.ok()) << table.status().ToString();
  std::vector<ErrorGroup> groups;
  for (const MeasurementRow& row : table->rows()) {
    ErrorGroup& group = groups.emplace_back(ErrorGroup{
        .kind = {.chip = row.Text("chip"),
                 .system = row.Text("system"),
                 .software = row.Text("software"),
                 .experts = row.Text("kind") == kExperts,
                 .precision = row.Text("precision")},
        .schedules =
            absl::StrSplit(row.Text("schedules"), ' ', absl::SkipEmpty()),
        .rows = static_cast<int>(Number(row, "rows")),
        .mean = Number(row, "mean"),
        .bias = Number(row, "bias")});
    for (size_t i = 0; i < kRunSizes; ++i) {
      const std::string column(kSizeColumns[i]);
      group.least[i] = static_cast<int64_t>(Number(row, "min_" + column));
      group.most[i] = static_cast<int64_t>(Number(row, "max_" + column));
    }
  }
  return groups;
}

// Widens the ranges of `group` to those of `least`, `most` and `schedules`.
void Widen(ErrorGroup& group, const RunSizes& least, const RunSizes& most,
           const std::set<std::string>& schedules) {
  for (size_t i = 0; i < kRunSizes; ++i) {
    if (most[i] == 0) continue;
    group.least[i] =
        group.most[i] == 0 ? least[i] : std::min(group.least[i], least[i]);
    group.most[i] = std::max(group.most[i], most[i]);
  }
  group.schedules.insert(schedules.begin(), schedules.end());
}

// A run of the sweep that is not of its group of one node.
bool IsOnSharedFabric(const AccuracyRow& row) {
  return row.source == "hf_sweep" &&
         std::none_of(row.groups.begin(), row.groups.end(),
                      [](const GroupKey& key) { return !key.part.empty(); });
}

const RunKind* RowKind(const AccuracyRow& row) {
  if (const auto* step = std::get_if<MeasuredStep>(&row.facts)) {
    return &step->kind;
  }
  if (const auto* request = std::get_if<MeasuredRequest>(&row.facts)) {
    return &request->kind;
  }
  return nullptr;
}

}  // namespace

const std::vector<ErrorGroup>& TrainingErrors() {
  static const auto* groups =
      new std::vector<ErrorGroup>(Read("training_errors.csv"));
  return *groups;
}

const std::vector<ErrorGroup>& InferenceErrors() {
  static const auto* groups =
      new std::vector<ErrorGroup>(Read("inference_errors.csv"));
  return *groups;
}

ErrorGroup Pool(absl::Span<const ErrorGroup* const> groups) {
  ErrorGroup pool;
  for (const ErrorGroup* group : groups) {
    pool.rows += group->rows;
    pool.mean += group->rows * group->mean;
    pool.bias += group->rows * group->bias;
    Widen(pool, group->least, group->most, group->schedules);
  }
  if (pool.rows > 0) {
    pool.mean /= pool.rows;
    pool.bias /= pool.rows;
  }
  return pool;
}

std::vector<ErrorGroup> GroupErrors(
    absl::Span<const AccuracyTable* const> tables) {
  using Key =
      std::tuple<std::string, std::string, std::string, bool, std::string>;
  std::map<Key, ErrorGroup> groups;  // mean and bias times rows
  for (const AccuracyTable* table : tables) {
    for (const AccuracyRow& row : table->rows()) {
      const RunKind* kind = RowKind(row);
      if (kind == nullptr || IsOnSharedFabric(row)) continue;
      const Key key{kind->chip, kind->system, kind->software, kind->experts,
                    kind->precision};
      ErrorGroup& group = groups[key];
      group.kind = *kind;
      group.kind.schedule.clear();
      group.kind.sizes = {};
      Widen(group, kind->sizes, kind->sizes,
            kind->schedule.empty() ? std::set<std::string>{}
                                   : std::set{kind->schedule});
      ++group.rows;
      group.mean += std::abs(row.error());
      group.bias += row.error();
    }
  }
  std::vector<ErrorGroup> list;
  for (auto& [key, group] : groups) {
    group.mean /= group.rows;
    group.bias /= group.rows;
    list.push_back(std::move(group));
  }
  return list;
}

std::string ErrorsCsv(absl::Span<const ErrorGroup> groups) {
  std::string text = absl::StrJoin(kColumns, ",");
  for (const absl::string_view column : kSizeColumns) {
    text += fmt::format(",min_{0},max_{0}", column);
  }
  text += "\n";
  for (const ErrorGroup& group : groups) {
    const RunKind& kind = group.kind;
    text += fmt::format("{},{},{},{},{},{},{:.4f},{:.4f},{}", kind.chip,
                        kind.system, kind.software,
                        kind.experts ? kExperts : kDense, kind.precision,
                        group.rows, group.mean, group.bias,
                        absl::StrJoin(group.schedules, " "));
    for (size_t i = 0; i < kRunSizes; ++i) {
      text += fmt::format(",{},{}", group.least[i], group.most[i]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace orrery
