#pragma once
// A published training run as a scenario.
//
// What a row does not say is filled in by one rule for all rows, never by a
// constant for one:
//  - pieces per rank (vp): Megatron-LM with a pipeline interleaves; the
//    smallest number above one that divides a stage's layers. Others: one.
//  - layers that do not divide: if layers + 2 do, the embedding and the head
//    count as layers; else the first stages have one more.
//  - attention with the score matrix in memory (the runs are from before flash
//    attention), gradients in FP32, what the model preset of the family says.
//  - what overlaps follows the Megatron-LM of the row's year. Until 2022 a rank
//    waits for every pipeline transfer (NVIDIA/Megatron-LM issues 167 and 420)
//    and reduces gradients when all are there (--overlap-grad-reduce is of
//    2023, issue 558). In 2021, and in Megatron-DeepSpeed, which is a fork of
//    that year, the all-reduce of an input's gradient comes after the weights'
//    gradients, and these are added to the FP32 sum by a kernel of their own
//    (bigscience-workshop/Megatron-DeepSpeed, megatron/mpu/layers.py). A row
//    without a readable date counts as later.
// A row without layers or heads is refused.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "base/csv.h"
#include "run/scenario.h"

namespace orrery {

struct TrainingRow {
  std::string id;
  std::string source;
  std::string model;
  std::string plan;  // "TP 8 PP 8 v 3 DP 1, selective", for people
  double measured_s = 0;
  std::optional<double> memory_gib;
  bool selective = false;  // recomputation of the attention core only
  ResolvedScenario scenario;
};

// The error says what is missing or wrong.
absl::StatusOr<TrainingRow> ReadTrainingRow(const CsvTable::Row& row);

}  // namespace orrery
