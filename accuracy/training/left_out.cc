#include "accuracy/training/left_out.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/status.h"
#include "catalog/catalog.h"

namespace orrery {
namespace {

constexpr absl::string_view kFitted = "Fitted on ";

std::vector<std::string> FieldsOf(const pb::Source& cited) {
  return absl::StrSplit(cited.covers(), ", ");
}

// What rows of a source ran with, by its errors' facts.
std::vector<std::string> FittedOfRow(const AccuracyRow& row) {
  const std::string& name = std::get<MeasuredStep>(row.facts).kind.software;
  const auto framework = Catalog().Framework(name);
  CHECK(framework.ok()) << framework.status().ToString();
  return FittedOn(*framework, row.source);
}

}  // namespace

std::vector<std::string> FittedOn(const pb::Framework& framework,
                                  absl::string_view source) {
  std::vector<std::string> fields;
  for (const pb::Source& cited : framework.source()) {
    if (!absl::StartsWith(cited.title(), kFitted) ||
        !absl::StrContains(cited.title(), source)) {
      continue;
    }
    for (std::string& field : FieldsOf(cited)) {
      fields.push_back(std::move(field));
    }
  }
  return fields;
}

std::vector<FrameworkFit> FrameworkFits() {
  const Catalog catalog;
  std::vector<FrameworkFit> fits;
  for (const std::string& name : catalog.Names("frameworks")) {
    const auto framework = catalog.Framework(name);
    CHECK(framework.ok()) << framework.status().ToString();
    for (const pb::Source& cited : framework->source()) {
      absl::string_view rows = cited.title();
      if (!absl::ConsumePrefix(&rows, kFitted)) continue;
      fits.push_back({.framework = name,
                      .fields = FieldsOf(cited),
                      .rows = std::string(rows)});
    }
  }
  return fits;
}

absl::StatusOr<ResolvedScenario> WithoutFits(const ResolvedScenario& scenario,
                                             absl::string_view source) {
  pb::Scenario proto = scenario.proto;
  pb::Framework* framework = proto.mutable_framework();
  for (const std::string& name : FittedOn(*framework, source)) {
    const auto* field = framework->GetDescriptor()->FindFieldByName(name);
    CHECK(field != nullptr) << name << " is no field of a framework";
    framework->GetReflection()->ClearField(framework, field);
  }
  return MakeScenario(std::move(proto));
}

absl::StatusOr<std::vector<LeftOutSource>> LeaveTrainingSourcesOut(
    const TrainingSuiteOptions& options) {
  TrainingSuiteOptions fewer = options;
  fewer.leave_out = true;
  ASSIGN_OR_RETURN(const AccuracyTable with,
                   RunTrainingSuite(std::nullopt, options));
  ASSIGN_OR_RETURN(const AccuracyTable without,
                   RunTrainingSuite(std::nullopt, fewer));
  std::map<std::string, LeftOutSource> sources;
  for (const AccuracyRow& row : with.rows()) {
    LeftOutSource& source = sources[row.source];
    if (source.rows == 0) source.fitted = FittedOfRow(row);
    source.source = row.source;
    ++source.rows;
    source.mean += std::abs(row.error());
  }
  for (const AccuracyRow& row : without.rows()) {
    sources[row.source].without += std::abs(row.error());
  }
  std::vector<LeftOutSource> result;
  for (auto& [name, source] : sources) {
    source.mean /= source.rows;
    source.without /= source.rows;
    result.push_back(std::move(source));
  }
  return result;
}

}  // namespace orrery
