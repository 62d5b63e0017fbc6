#include "accuracy/training/training_trust.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <variant>

#include "accuracy/table/measurement_table.h"
#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

constexpr char kDense[] = "dense";
constexpr char kExperts[] = "experts";
// Below this a mean error has no sign worth saying.
constexpr double kSigned = 0.02;

struct Errors {
  double rows = 0;
  double mean = 0;  // times rows
  double bias = 0;  // times rows
};

std::string Sentence(const Errors& errors, const std::string& kind,
                     const std::string& where) {
  const double mean = errors.mean / errors.rows;
  const double bias = errors.bias / errors.rows;
  std::string text = fmt::format(
      "{:.0f} measured steps of {} {} were {:.0f} % off on the mean",
      errors.rows, kind, where, 100 * mean);
  if (std::abs(bias) >= kSigned) {
    text += fmt::format(", {:.0f} % too {}", 100 * std::abs(bias),
                        bias < 0 ? "fast" : "slow");
  }
  return text;
}

// A run of the sweep that is not of its group of one node.
bool IsOnSharedFabric(const AccuracyRow& row) {
  return row.source == "hf_sweep" &&
         std::none_of(row.groups.begin(), row.groups.end(),
                      [](const GroupKey& key) { return !key.part.empty(); });
}

}  // namespace

std::string TrustText(std::string_view chip, std::string_view framework,
                      bool experts) {
  const auto table = MeasurementTable::Open(
      std::nullopt, "training_errors.csv",
      {"chip", "framework", "kind", "rows", "mean", "bias"});
  CHECK(table.ok()) << table.status().ToString();
  Errors exact, alike, other;
  for (const MeasurementRow& row : table->rows()) {
    if (row.Text("chip") != chip) continue;
    const bool kind = row.Text("kind") == (experts ? kExperts : kDense);
    const double rows = std::stod(row.Text("rows"));
    const auto add = [&](Errors& to) {
      to.rows += rows;
      to.mean += rows * std::stod(row.Text("mean"));
      to.bias += rows * std::stod(row.Text("bias"));
    };
    if (kind && row.Text("framework") == framework) add(exact);
    add(kind ? alike : other);
  }
  const std::string models = experts ? "mixtures of experts" : "dense models";
  if (exact.rows > 0) {
    return Sentence(exact, models,
                    fmt::format("on {} with {}", chip, framework));
  }
  if (alike.rows > 0) {
    return Sentence(alike, models,
                    fmt::format("on {} with other frameworks", chip));
  }
  if (other.rows > 0) {
    return Sentence(other, experts ? "dense models" : "mixtures of experts",
                    fmt::format("on {}, and none of {},", chip, models));
  }
  return fmt::format("no measured step on {}", chip);
}

std::string TrainingErrorsCsv(const AccuracyTable& table) {
  std::map<std::tuple<std::string, std::string, std::string>, Errors> kinds;
  for (const AccuracyRow& row : table.rows()) {
    if (IsOnSharedFabric(row)) continue;
    const auto& step = std::get<MeasuredStep>(row.facts);
    Errors& errors =
        kinds[{step.chip, step.framework, step.experts ? kExperts : kDense}];
    errors.rows += 1;
    errors.mean += std::abs(row.error());
    errors.bias += row.error();
  }
  std::string text = "chip,framework,kind,rows,mean,bias\n";
  for (const auto& [key, errors] : kinds) {
    const auto& [chip, framework, kind] = key;
    text += fmt::format("{},{},{},{:.0f},{:.4f},{:.4f}\n", chip, framework,
                        kind, errors.rows, errors.mean / errors.rows,
                        errors.bias / errors.rows);
  }
  return text;
}

}  // namespace orrery
