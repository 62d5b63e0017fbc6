#pragma once
// A published training run as a scenario.
//
// A row needs layers, hidden, heads, ffn, vocab, seq_len, global_batch, tp, pp,
// num_gpus, a model of a family we know, a framework we know (or none: the
// chip's default), and either `system` (a preset) or hardware and interconnect
// of one. What it says is honoured or the row is refused with the column
// (training_columns.h); what it leaves open follows from its framework
// (training_rules.h). Besides:
//  - the measured time is step_time_s, else follows from tokens_per_s_per_gpu,
//    else from tflops_per_gpu with the FLOPs that tflops_kind says were
//    counted;
//  - layers that do not divide over stages: if layers + 2 do, the embedding and
//    the head count as layers; else by cost (catalog/layer_split.h);
//  - an unpublished micro-batch is the power of two whose closed form is
//    fastest among those that fit;
//  - runs of a pipeline before its authors mended it (after_pp_fix) have no
//    time, but a memory;
//  - runs of a sweep that measured less than 433 GB/s for an all-reduce within
//    a node (allreduce_intranode_GBps) are of a campaign whose hosts compared
//    calls before they made them, and whose nanotron gathers tokens again
//    instead of keeping them; those without the column are of it if
//    after_pp_fix is True;
//  - DeepSeek-V3 has its prediction module unless the notes say "w/o MTP".
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/table/measurement_table.h"
#include "accuracy/training/counted_memory.h"
#include "accuracy/training/training_rules.h"
#include "run/scenario.h"

namespace orrery {

struct TrainingRow {
  std::string model;
  std::string plan;  // "TP 8 PP 8 v 3 DP 1 b 4, selective", for people
  // Rows alike but for the plan have the same.
  std::string plan_set;
  // Nothing for a run that did not finish.
  std::optional<double> measured_s;
  // Why the time of a run that finished says nothing of its plan.
  std::optional<absl::Status> no_time;
  // Whether the run finished or ran out of memory, if the table is about that.
  std::optional<bool> finished;
  std::optional<double> memory_gib = std::nullopt;
  CountedMemory counted = CountedMemory::kTensors;  // by `memory_gib`
  std::optional<double> reserved_gib = std::nullopt;
  bool selective = false;  // recomputation of the attention core only
  ResolvedScenario scenario;
};

// The user's file if there is one, else validation/training.csv.
absl::StatusOr<MeasurementTable> OpenTrainingTable(
    const std::optional<std::string>& file);
// validation/training_hf_sweep.csv.
absl::StatusOr<MeasurementTable> OpenTrainingSweep();

// The error says which column is missing or wrong.
absl::StatusOr<TrainingRow> ReadTrainingRow(const MeasurementRow& row,
                                            const TrainingRules& rules);

}  // namespace orrery
