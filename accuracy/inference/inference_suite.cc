#include "accuracy/inference/inference_suite.h"

#include <set>
#include <utility>
#include <vector>

#include "accuracy/inference/inference_row.h"
#include "accuracy/trust/run_kind_of.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/status.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/requests/offline_run.h"
#include "run/requests/steady_state.h"

namespace orrery {
namespace {

// Of every source; of the Llama 2 figures, mean and worst as well.
constexpr double kMedianBar = 0.12;
constexpr char kBarSource[] = "nemo_llama2";
constexpr double kMeanBar = 0.05;
constexpr double kWorstBar = 0.12;

GroupKey SourceOf(const MeasurementRow& row) {
  return {.subject = row.Text("source_id"), .part = ""};
}

struct Prediction {
  double measured = 0;
  double predicted = 0;
};

// Seconds; of a rate, of its tokens.
absl::StatusOr<Prediction> Predict(const InferenceRow& row) {
  const InferencePlan& plan = *row.scenario.inference();
  if (row.quantity == InferenceQuantity::kOutputRate) {
    if (row.requests > 0) {
      ASSIGN_OR_RETURN(const OfflineRun run,
                       RunOffline(row.scenario, row.requests));
      return Prediction{1 / row.measured_rate, 1 / run.output_tokens_per_s};
    }
    ASSIGN_OR_RETURN(const SteadyState state, RunSteadyState(row.scenario));
    return Prediction{1 / row.measured_rate, 1 / state.output_tokens_per_s};
  }
  ASSIGN_OR_RETURN(const PhaseGrounds grounds,
                   PhaseGrounds::Make(row.scenario));
  const TrainingGround on = grounds.of(PassPurpose::kDecode);
  if (row.quantity == InferenceQuantity::kEndToEnd) {
    ASSIGN_OR_RETURN(const InferenceRun run, RunInference(on, on, plan, {}));
    return Prediction{row.measured_s, ToSeconds(run.end_to_end)};
  }
  ASSIGN_OR_RETURN(InferenceSimulator simulator,
                   InferenceSimulator::Create(on, plan));
  if (row.quantity == InferenceQuantity::kPerToken) {
    const int64_t steps = DecodeSteps(plan);
    ASSIGN_OR_RETURN(
        const Duration step,
        simulator.StepTime(
            DecodePass(plan, CachedInStep(plan, (steps - 1) / 2)), {}));
    return Prediction{row.measured_s, ToSeconds(step)};
  }
  double prefill = row.quantity == InferenceQuantity::kFirstToken
                       ? ToSeconds(plan.engine().request_overhead)
                       : 0;
  ASSIGN_OR_RETURN(const Duration time,
                   simulator.PrefillTime(PrefillPasses(plan), {}));
  prefill += ToSeconds(time);
  if (row.quantity == InferenceQuantity::kFirstToken) {
    if (plan.engine().first_token_by_decode) {
      ASSIGN_OR_RETURN(
          const Duration step,
          simulator.StepTime(DecodePass(plan, CachedInStep(plan, 0)), {}));
      prefill += ToSeconds(step);
    }
    return Prediction{row.measured_s, prefill};
  }
  const double tokens = static_cast<double>(plan.batch()) * plan.prompt();
  return Prediction{tokens / row.measured_rate, prefill};
}

absl::StatusOr<AccuracyRow> PredictRow(const MeasurementRow& row,
                                       const InferenceRules& rules) {
  ASSIGN_OR_RETURN(InferenceRow read, ReadInferenceRow(row, rules));
  ASSIGN_OR_RETURN(const Prediction prediction, Predict(read));
  RunKind kind = KindOf(read.scenario.proto);
  // How many requests ran at a time is not known where they came and went.
  if (read.quantity == InferenceQuantity::kOutputRate) {
    kind.sizes[static_cast<size_t>(RunScale::kBatch)] = 0;
  }
  return AccuracyRow{
      .id = row.id(),
      .line = row.line(),
      .source = row.Text("source_id"),
      .measured = prediction.measured,
      .predicted = prediction.predicted,
      .groups = {SourceOf(row),
                 {.subject = row.Text("source_id"),
                  .rank = 1,
                  .part = read.scenario.system.chip().name()}},
      .facts = MeasuredRequest{.model = std::move(read.model),
                               .plan = std::move(read.plan),
                               .quantity = std::string(Name(read.quantity)),
                               .kind = std::move(kind)}};
}

}  // namespace

AccuracyTable PredictInference(const MeasurementTable& table,
                               const InferenceRules& rules) {
  const std::vector<MeasurementRow>& rows = table.rows();
  std::vector<absl::StatusOr<AccuracyRow>> predicted(rows.size());
  InParallel(rows.size(),
             [&](size_t i) { predicted[i] = PredictRow(rows[i], rules); });
  AccuracyTable::Parts parts{.suite = Suite::kInference,
                             .origin = table.origin(),
                             .rows = {},
                             .refused = {}};
  for (const RefusedRow& row : table.malformed()) {
    parts.refused.push_back({row});
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (predicted[i].ok()) {
      parts.bars[SourceOf(rows[i])] = {.median = kMedianBar};
      parts.rows.push_back(*std::move(predicted[i]));
    } else {
      parts.refused.push_back(
          {rows[i].Refused(predicted[i].status()), {SourceOf(rows[i])}});
    }
  }
  const GroupKey llama{.subject = kBarSource, .part = ""};
  if (parts.bars.contains(llama)) {
    parts.bars[llama] = {
        .median = kMedianBar, .mean = kMeanBar, .worst = kWorstBar};
  }
  return AccuracyTable(std::move(parts));
}

absl::StatusOr<AccuracyTable> RunHeldOutInference() {
  ASSIGN_OR_RETURN(
      const MeasurementTable table,
      MeasurementTable::Open(std::nullopt, "inference_held_out.csv", {}));
  ASSIGN_OR_RETURN(const InferenceRules rules, OpenInferenceRules());
  return PredictInference(table, rules);
}

absl::StatusOr<AccuracyTable> RunInferenceSuite(
    const std::optional<std::string>& file) {
  ASSIGN_OR_RETURN(const MeasurementTable table, OpenInferenceTable(file));
  ASSIGN_OR_RETURN(const InferenceRules rules, OpenInferenceRules());
  return PredictInference(table, rules);
}

}  // namespace orrery
