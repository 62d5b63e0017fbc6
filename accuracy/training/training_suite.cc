#include "accuracy/training/training_suite.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/match.h>
#include <absl/types/span.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/training/counted_memory.h"
#include "accuracy/training/left_out.h"
#include "accuracy/training/machine_pool.h"
#include "accuracy/training/training_row.h"
#include "accuracy/trust/run_kind_of.h"
#include "base/parallel.h"
#include "base/status.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/training_run.h"
#include "workload/plan/memory.h"

namespace orrery {
namespace {

// The source of a sweep's rows, which have no column for it.
constexpr char kSweep[] = "hf_sweep";
constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string SourceOf(const MeasurementRow& row) {
  return row.Has("status") ? kSweep : row.Text("source_id");
}

std::vector<GroupKey> KnownGroups(const MeasurementRow& row) {
  std::vector<GroupKey> groups = {{.level = 1, .subject = SourceOf(row)}};
  if (row.Has("status") && row.Text("num_gpus") == "8") {
    groups.push_back(
        {.level = 1, .subject = kSweep, .rank = 1, .part = "one node"});
  }
  return groups;
}

std::vector<GroupKey> GroupsOf(const MeasurementRow& row,
                               const TrainingRow& read) {
  std::vector<GroupKey> groups = KnownGroups(row);
  if (groups[0].subject == kSweep) return groups;
  groups.push_back(read.scenario.model.moe()
                       ? GroupKey{.subject = "mixtures of experts", .rank = 1}
                       : GroupKey{.subject = "dense models", .rank = 0});
  if (groups[0].subject == "korthikanti22" && read.selective) {
    groups.push_back({.level = 1,
                      .subject = groups[0].subject,
                      .rank = 1,
                      .part = "selective rows"});
  }
  return groups;
}

struct Predicted {
  std::optional<absl::Status> no_time;
  std::optional<AccuracyRow> row = std::nullopt;
  std::optional<AccuracyFit> fit = std::nullopt;
};

// What is predicted of a row's scenario.
struct Prediction {
  double step_s = 0;
  Bytes tensors;  // at their peak
  // By the allocator of the first rank, which is the one that frameworks
  // report (nanotron's log_throughput).
  Bytes first_held;
  Bytes needed;  // by the rank that needs most, with what libraries keep
};

// `timed`: there is a time to compare with.
absl::StatusOr<Prediction> Simulated(const ResolvedScenario& scenario,
                                     bool timed, MachinePool& machines) {
  ASSIGN_OR_RETURN(std::unique_ptr<PooledMachine> machine,
                   machines.Take(scenario));
  RETURN_IF_ERROR(EstimateScenario(scenario, DimensionSet::All()).status());
  const TrainingGround on{scenario.model, scenario.system, scenario.kernels,
                          machine->network};
  const TrainingPlan& plan = *scenario.training();
  // DualPipe weaves its passes task by task: merged kernels weave them
  // otherwise.
  const RunOptions options{
      .fold_nearly = true,
      .checked = false,
      .planner = &machine->planner,
      .breakdown = false,
      .detail = plan.schedule() == PipelineSchedule::kDualPipe};
  PeriodicStep step;
  if (timed) {
    ASSIGN_OR_RETURN(step, RunPeriodically(on, plan, options));
  } else {
    ASSIGN_OR_RETURN(step.memory, RunForMemory(on, plan, options));
  }
  machines.Return(std::move(machine));
  const MemoryPeak& first = step.memory.stages.front();
  return Prediction{
      .step_s = ToSeconds(step.time),
      .tensors = step.memory.peak.total,
      .first_held = AllocatorBytes(
          plan, first.total,
          first.by_kind[static_cast<size_t>(MemoryKind::kActivations)]),
      .needed = MemoryNeeded(scenario, step.memory)};
}

absl::StatusOr<Prediction> OnPaper(const ResolvedScenario& scenario) {
  ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
  const Bytes kept = scenario.kernels.reserved_memory();
  return Prediction{.step_s = estimate.step_s(),
                    .tensors = estimate.peak - kept,
                    .first_held = estimate.first_held,
                    .needed = estimate.reserved};
}

// Of it what the row's figure counts.
absl::StatusOr<Bytes> Counted(const TrainingRow& row,
                              const Prediction& prediction) {
  switch (row.counted) {
    case CountedMemory::kTensors:
      return prediction.tensors;
    case CountedMemory::kLayers: {
      ASSIGN_OR_RETURN(const Bytes ends, BytesOfEnds(row.scenario));
      return prediction.tensors - ends;
    }
    case CountedMemory::kReserved:
      return prediction.needed - row.scenario.kernels.reserved_memory();
    case CountedMemory::kDevice:
      return prediction.needed;
  }
  return prediction.tensors;
}

// No allocator holds more than the device has beside what libraries keep.
Bytes Held(const TrainingRow& row, const Prediction& prediction) {
  const ResolvedScenario& scenario = row.scenario;
  Bytes room =
      MemoryCapacity(scenario.system) - scenario.kernels.reserved_memory();
  if (const TrainingPlan* plan = scenario.training()) {
    room -= GroupBufferBytes(*plan, Placement(plan->layout()));
  }
  return std::min(prediction.first_held, room);
}

absl::StatusOr<TrainingRow> ReadRow(const MeasurementRow& row,
                                    const TrainingRules& rules,
                                    const TrainingSuiteOptions& options) {
  ASSIGN_OR_RETURN(TrainingRow read, ReadTrainingRow(row, rules));
  if (options.leave_out) {
    ASSIGN_OR_RETURN(read.scenario, WithoutFits(read.scenario, SourceOf(row)));
  }
  return read;
}

// For each row the first one that asks for the same: runs are published more
// than once.
std::vector<size_t> FirstAlike(
    absl::Span<const absl::StatusOr<TrainingRow>> rows) {
  absl::flat_hash_map<std::pair<bool, std::string>, size_t> firsts;
  std::vector<size_t> first(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    first[i] = i;
    if (!rows[i].ok()) continue;
    pb::Scenario asked = rows[i]->scenario.proto;
    asked.clear_name();
    first[i] =
        firsts
            .try_emplace(
                {rows[i]->measured_s.has_value(), asked.SerializeAsString()}, i)
            .first->second;
  }
  return first;
}

absl::StatusOr<Predicted> Compare(const MeasurementRow& row, TrainingRow read,
                                  const Prediction& prediction) {
  const std::vector<GroupKey> groups = GroupsOf(row, read);
  const auto gib = [](Bytes bytes) {
    return static_cast<double>(bytes.value()) / kGiB;
  };
  Predicted result{.no_time = read.finished.value_or(true) ? read.no_time
                                                           : std::nullopt};
  if (read.finished) {
    result.fit = AccuracyFit{
        .fits = prediction.needed <= MemoryCapacity(read.scenario.system),
        .finished = *read.finished,
        .groups = groups};
  }
  if (!read.measured_s) return result;
  ASSIGN_OR_RETURN(const Bytes counted, Counted(read, prediction));
  result.row = AccuracyRow{
      .id = row.id(),
      .line = row.line(),
      .source = groups[0].subject,
      .measured = *read.measured_s,
      .predicted = prediction.step_s,
      .groups = groups,
      .facts =
          MeasuredStep{.model = std::move(read.model),
                       .plan = std::move(read.plan),
                       .kind = KindOf(read.scenario.proto),
                       .measured_gib = read.memory_gib,
                       .predicted_gib = gib(counted),
                       .measured_reserved_gib = read.reserved_gib,
                       .predicted_reserved_gib = gib(Held(read, prediction))},
      .choice_set = read.plan_set};
  return result;
}

}  // namespace

AccuracyTable PredictTraining(const std::vector<MeasurementTable>& tables,
                              const TrainingRules& rules,
                              const TrainingSuiteOptions& options) {
  std::vector<const MeasurementRow*> rows;
  AccuracyTable::Parts parts{
      .suite = Suite::kTraining, .origin = "", .rows = {}, .refused = {}};
  for (const MeasurementTable& table : tables) {
    parts.origin += (parts.origin.empty() ? "" : ", ") + table.origin();
    for (const RefusedRow& row : table.malformed()) {
      parts.refused.push_back({row});
    }
    for (const MeasurementRow& row : table.rows()) rows.push_back(&row);
  }
  std::vector<absl::StatusOr<TrainingRow>> read(rows.size());
  InParallel(rows.size(),
             [&](size_t i) { read[i] = ReadRow(*rows[i], rules, options); });
  const std::vector<size_t> first = FirstAlike(read);
  MachinePool machines;
  std::vector<absl::StatusOr<Prediction>> predictions(rows.size());
  InParallel(rows.size(), [&](size_t i) {
    if (!read[i].ok() || first[i] != i) return;
    const ResolvedScenario& scenario = read[i]->scenario;
    predictions[i] =
        options.closed_form
            ? OnPaper(scenario)
            : Simulated(scenario, read[i]->measured_s.has_value(), machines);
  });
  std::vector<absl::StatusOr<Predicted>> predicted(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const absl::StatusOr<Prediction>& prediction = predictions[first[i]];
    if (!read[i].ok()) {
      predicted[i] = read[i].status();
    } else if (!prediction.ok()) {
      predicted[i] = prediction.status();
    } else {
      predicted[i] = Compare(*rows[i], *std::move(read[i]), *prediction);
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!predicted[i].ok()) {
      parts.refused.push_back(
          {rows[i]->Refused(predicted[i].status()), KnownGroups(*rows[i])});
      continue;
    }
    if (predicted[i]->no_time) {
      parts.refused.push_back(
          {rows[i]->Refused(*predicted[i]->no_time), KnownGroups(*rows[i])});
    }
    if (predicted[i]->row) parts.rows.push_back(*std::move(predicted[i]->row));
    if (predicted[i]->fit) parts.fits.push_back(*std::move(predicted[i]->fit));
  }
  parts.bars[{.level = 1, .subject = "korthikanti22"}] = {.mean = 0.036,
                                                          .worst = 0.089};
  return AccuracyTable(std::move(parts));
}

absl::StatusOr<AccuracyTable> RunTrainingSuite(
    const std::optional<std::string>& file,
    const TrainingSuiteOptions& options) {
  ASSIGN_OR_RETURN(const TrainingRules rules, TrainingRules::Open());
  std::vector<MeasurementTable> tables;
  ASSIGN_OR_RETURN(MeasurementTable table, OpenTrainingTable(file));
  tables.push_back(std::move(table));
  if (!file) {
    ASSIGN_OR_RETURN(MeasurementTable sweep, OpenTrainingSweep());
    tables.push_back(std::move(sweep));
  }
  return PredictTraining(tables, rules, options);
}

}  // namespace orrery
