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
// A row without layers or heads is refused.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "base/csv.h"
#include "cli/scenario.h"

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
