#pragma once
// InferencePlan: a static batch of requests, prefill then decode, split over a
// machine.
//
// Immutable and valid for the model and the system it was made with, like
// TrainingPlan. With separate pools the two phases run on different chips with
// degrees of their own; otherwise both phases have the same.
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>

#include "topology/machine/dtype.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/parallel_layout.h"

namespace orrery {

namespace pb {
class Inference;
}  // namespace pb

class InferencePlan {
 public:
  static absl::StatusOr<InferencePlan> FromProto(const pb::Inference& proto,
                                                 const Model& model,
                                                 const System& system);

  // Sequences, over all replicas.
  int batch() const { return batch_; }
  // Tokens per sequence.
  int prompt() const { return prompt_; }
  int output() const { return output_; }
  // How each phase is split over its chips.
  const ParallelLayout& prefill() const { return prefill_; }
  const ParallelLayout& decode() const { return decode_; }
  bool disaggregated() const { return disaggregated_; }
  DType precision() const { return precision_; }
  DType kv_precision() const { return kv_precision_; }
  // Tokens of a prompt that one step processes.
  int prefill_chunk() const { return prefill_chunk_; }
  bool graph_launch() const { return graph_launch_; }
  // Tokens per block of the paged cache.
  int kv_block() const { return kv_block_; }

 private:
  InferencePlan() = default;

  int batch_ = 0;
  int prompt_ = 0;
  int output_ = 0;
  ParallelLayout prefill_;
  ParallelLayout decode_;
  bool disaggregated_ = false;
  DType precision_{};
  DType kv_precision_{};
  int prefill_chunk_ = 0;
  bool graph_launch_ = false;
  int kv_block_ = 0;
};

}  // namespace orrery
