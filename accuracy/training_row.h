#pragma once
// A published training run as a scenario.
//
// A column that is set is honoured, or the row is refused with the column's
// name. A row needs layers, hidden, heads, ffn, vocab, seq_len, global_batch,
// micro_batch, tp, pp, num_gpus, gpus_per_node, step_time_s, a model of a
// family we know, and either `system` (a preset) or hardware and interconnect
// of one (validation/training_systems.csv). Experts cannot be described.
//
// What a row does not say is filled in by one rule for all rows, never by a
// constant for one:
//  - pieces per rank (vp): Megatron-LM with a pipeline interleaves; the
//    smallest number above one that divides a stage's layers. Others: one.
//  - layers that do not divide: if layers + 2 do, the embedding and the head
//    count as layers; else the first stages have one more.
//  - kv_heads: as many as heads. cp: 1. sharding, recompute, seq_parallel:
//    none. precision: fp16.
//  - attention with the score matrix in memory (the runs are from before flash
//    attention), but for rows with cp above 1, which flash attention brought;
//    gradients in FP32, what the model preset of the family says.
//  - what overlaps follows the Megatron-LM of the row's year. Until 2022 a rank
//    waits for every pipeline transfer (NVIDIA/Megatron-LM issues 167 and 420)
//    and reduces gradients when all are there (--overlap-grad-reduce is of
//    2023, issue 558). In 2021, and in Megatron-DeepSpeed, which is a fork of
//    that year, the all-reduce of an input's gradient comes after the weights'
//    gradients, and these are added to the FP32 sum by a kernel of their own
//    (bigscience-workshop/Megatron-DeepSpeed, megatron/mpu/layers.py). A row
//    without a readable date counts as later.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/measurement_table.h"
#include "run/scenario.h"

namespace orrery {

struct TrainingRow {
  std::string model;
  std::string plan;  // "TP 8 PP 8 v 3 DP 1 b 4, selective", for people
  double measured_s = 0;
  std::optional<double> memory_gib;
  bool selective = false;  // recomputation of the attention core only
  ResolvedScenario scenario;
};

// The user's file if there is one, else validation/training.csv.
absl::StatusOr<MeasurementTable> OpenTrainingTable(
    const std::optional<std::string>& file);
// Which preset stands for which hardware (training_systems.csv).
absl::StatusOr<MeasurementTable> OpenTrainingSystems();

// The error says which column is missing or wrong.
absl::StatusOr<TrainingRow> ReadTrainingRow(const MeasurementRow& row,
                                            const MeasurementTable& systems);

}  // namespace orrery
