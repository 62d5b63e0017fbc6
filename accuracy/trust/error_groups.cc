#include "accuracy/trust/error_groups.h"

#include <absl/strings/numbers.h>

#include <algorithm>
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
constexpr absl::string_view kColumns[] = {
    "chip", "system", "software",  "kind",      "precision",    "rows",
    "mean", "bias",   "min_chips", "max_chips", "max_sequence", "max_hidden"};

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
  const auto whole = [](const MeasurementRow& row, absl::string_view column) {
    return static_cast<int64_t>(Number(row, column));
  };
  for (const MeasurementRow& row : table->rows()) {
    groups.push_back({.kind = {.chip = row.Text("chip"),
                               .system = row.Text("system"),
                               .software = row.Text("software"),
                               .experts = row.Text("kind") == kExperts,
                               .precision = row.Text("precision"),
                               .chips = whole(row, "max_chips"),
                               .sequence = whole(row, "max_sequence"),
                               .hidden = whole(row, "max_hidden")},
                      .fewest_chips = whole(row, "min_chips"),
                      .rows = static_cast<int>(Number(row, "rows")),
                      .mean = Number(row, "mean"),
                      .bias = Number(row, "bias")});
  }
  return groups;
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
      const auto [at, is_new] = groups.try_emplace(key);
      ErrorGroup& group = at->second;
      if (is_new) {
        group = {.kind = *kind, .fewest_chips = kind->chips};
      }
      group.kind.chips = std::max(group.kind.chips, kind->chips);
      group.kind.sequence = std::max(group.kind.sequence, kind->sequence);
      group.kind.hidden = std::max(group.kind.hidden, kind->hidden);
      group.fewest_chips = std::min(group.fewest_chips, kind->chips);
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
  std::string text =
      "chip,system,software,kind,precision,rows,mean,bias,min_chips,max_chips,"
      "max_sequence,max_hidden\n";
  for (const auto& [kind, fewest, rows, mean, bias] : groups) {
    text += fmt::format(
        "{},{},{},{},{},{},{:.4f},{:.4f},{},{},{},{}\n", kind.chip, kind.system,
        kind.software, kind.experts ? kExperts : kDense, kind.precision, rows,
        mean, bias, fewest, kind.chips, kind.sequence, kind.hidden);
  }
  return text;
}

}  // namespace orrery
