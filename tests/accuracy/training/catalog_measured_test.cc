// Scenarios of the catalogue that repeat a published run say what was measured,
// and the suites hold the same runs.
#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "accuracy/inference/inference_row.h"
#include "accuracy/training/training_row.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/requests/scenario_report.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// A plan that is not a guess was run by somebody.
bool RepeatsARun(const pb::Scenario& scenario) {
  return absl::c_any_of(scenario.source(), [](const pb::Source& source) {
    if (source.estimate()) return false;
    const std::vector<std::string> covers =
        absl::StrSplit(source.covers(), ", ");
    return absl::c_any_of(covers, [](const std::string& field) {
      return field == "training" || field == "inference" ||
             field == "parallel" || field == "schedule";
    });
  });
}

const MeasurementRow* FindRow(const MeasurementTable& table,
                              const std::string& id) {
  const auto found = absl::c_find_if(
      table.rows(), [&](const auto& row) { return row.id() == id; });
  return found == table.rows().end() ? nullptr : &*found;
}

// The column of a suite's row that holds a quantity of the report, and what one
// of its unit is in the report's.
struct Column {
  const char* quantity;
  const char* column;
  double (*to_report)(double);
};
constexpr Column kColumns[] = {
    {"step_time_s", "step_time_s", [](double v) { return v; }},
    {"model_tflops_per_chip", "tflops_per_gpu", [](double v) { return v; }},
    {"tokens_per_s_per_chip", "tokens_per_s_per_gpu",
     [](double v) { return v; }},
    {"inference.end_to_end_s", "e2e_latency_ms",
     [](double v) { return v / 1e3; }},
    {"inference.decode_tokens_per_s_per_chip", "out_tok_s_per_gpu",
     [](double v) { return v; }},
    {"inference.tokens_per_s_per_user", "tpot_ms",
     [](double v) { return 1e3 / v; }}};

class CatalogRuns : public testing::TestWithParam<std::string> {};

TEST_P(CatalogRuns, SayWhatWasMeasured) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario scenario,
                       Catalog().Scenario(GetParam()));
  EXPECT_EQ(scenario.measured_size() > 0, RepeatsARun(scenario));
  for (const pb::MeasuredValue& value : scenario.measured()) {
    EXPECT_FALSE(value.source().empty());
    ASSERT_OK_AND_ASSIGN(const MeasurementTable table,
                         value.suite() == "training"
                             ? OpenTrainingTable(std::nullopt)
                             : OpenInferenceTable(std::nullopt));
    const MeasurementRow* row = FindRow(table, value.row());
    ASSERT_NE(row, nullptr) << value.row();
    const auto* column = absl::c_find_if(kColumns, [&](const Column& each) {
      return value.report_field() == each.quantity;
    });
    ASSERT_NE(column, std::end(kColumns)) << value.report_field();
    ASSERT_OK_AND_ASSIGN(const double in_row, row->Positive(column->column));
    EXPECT_NEAR(value.value() / column->to_report(in_row), 1, 1e-3);
  }
}

// The suite predicts the run as the scenario does: by the closed form, to the
// last digits.
TEST_P(CatalogRuns, AreTheRunsOfTheirRows) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                       ResolveScenario(Catalog(), GetParam(), {}));
  // Of a service that runs at another load no row can be the scenario.
  if (proto.measured_size() != 1) return;
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(proto));
  ASSERT_OK_AND_ASSIGN(const pb::Report report, EstimateReport(scenario));
  const pb::MeasuredValue& value = proto.measured(0);
  std::optional<ResolvedScenario> of_row;
  if (value.suite() == "training") {
    ASSERT_OK_AND_ASSIGN(const MeasurementTable table,
                         OpenTrainingTable(std::nullopt));
    ASSERT_OK_AND_ASSIGN(const TrainingRules rules, TrainingRules::Open());
    ASSERT_OK_AND_ASSIGN(TrainingRow row,
                         ReadTrainingRow(*FindRow(table, value.row()), rules));
    of_row.emplace(std::move(row.scenario));
  } else {
    ASSERT_OK_AND_ASSIGN(const MeasurementTable table,
                         OpenInferenceTable(std::nullopt));
    ASSERT_OK_AND_ASSIGN(const InferenceRules rules, OpenInferenceRules());
    ASSERT_OK_AND_ASSIGN(InferenceRow row,
                         ReadInferenceRow(*FindRow(table, value.row()), rules));
    of_row.emplace(std::move(row.scenario));
  }
  ASSERT_OK_AND_ASSIGN(const pb::Report expected, EstimateReport(*of_row));
  EXPECT_NEAR(report.step_time_s() / expected.step_time_s(), 1, 1e-9);
  EXPECT_NEAR(report.inference().end_to_end_s(),
              expected.inference().end_to_end_s(),
              1e-9 * expected.inference().end_to_end_s());
}

// A changed scenario is another run: nothing was measured of it. Prices are no
// part of the run.
TEST(Measured, BelongsToTheScenarioAsItStands) {
  const auto measured = [](const char* set) {
    return ResolveScenario(Catalog(), "megatron_22b_full", {set})
        .value()
        .measured_size();
  };
  EXPECT_EQ(measured("cost.rent=$2/h"), 1);
  EXPECT_EQ(measured("training.micro_batch=2"), 0);
  EXPECT_EQ(measured("system.preset=dgx_h100_ib400"), 0);
  // What is typed as measured is of the scenario as typed.
  EXPECT_EQ(measured("measured[0].value=2"), 1);
  EXPECT_EQ(measured("measured=[{value: 1}, {value: 2}]"), 2);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, CatalogRuns,
                         testing::ValuesIn(Catalog().Names("scenarios")),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace orrery
