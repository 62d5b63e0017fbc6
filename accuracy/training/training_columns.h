#pragma once
// TrainingColumns: what a row of a training table says, as numbers and choices.
//
// A column that is set is honoured, or the row is refused with the column's
// name. What a row does not say is filled in by one rule per framework
// (training_rules.h), never by a constant for one row:
//  - vp: Megatron-LM with a pipeline interleaves; the smallest number above one
//    that divides a stage's layers. Others: one.
//  - sharding, seq_parallel: as the framework is started in the published run's
//    recipe (training_frameworks.csv). kv_heads: as many as heads. cp, ep: 1.
//  - recompute: none; so is what "the recipe" is said to decide, since recipes
//    of flash attention recompute nothing. Of alternatives the first.
//  - precision: fp16, or bf16 in a sweep.
//  - micro_batch: searched for (training_row.h).
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "accuracy/table/measurement_table.h"
#include "accuracy/training/training_rules.h"
#include "proto/training.pb.h"
#include "topology/machine/dtype.h"

namespace orrery {

struct TrainingColumns {
  static absl::StatusOr<TrainingColumns> Read(const MeasurementRow& row,
                                              const FrameworkRule& framework);

  // Of the model; the vocabulary is that of the row.
  int layers = 0, hidden = 0, heads = 0, kv_heads = 0, width = 0;
  int vocabulary = 0;
  int sequence = 0, global_batch = 0;
  std::optional<int> micro_batch;
  int chips = 0;
  std::optional<int> chips_per_node;
  int tensor = 1, context = 1, pipeline = 1, expert = 1, data = 1;
  int virtual_stages = 1;
  // Chips are in so many parts that only hosts join.
  int slices = 1;
  bool sequence_parallel = false;
  pb::Training::Sharding sharding = pb::Training::ZERO_0;
  // Ranks that share one copy of the state; unset: all.
  std::optional<int> sharding_group;
  pb::Training::Recompute recompute = pb::Training::RECOMPUTE_NONE;
  // Layers of each stage that are recomputed; unset: all.
  std::optional<int> recompute_layers;
  std::vector<pb::Training::Module> modules;
  DType precision = DType::kFp16;
  // Gradients as they are reduced, where the row's precision says so.
  std::optional<DType> gradient;
};

}  // namespace orrery
