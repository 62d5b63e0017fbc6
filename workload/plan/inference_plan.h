#pragma once
// InferencePlan: a static batch of requests, prefill then decode, split over a
// machine.
//
// Immutable and valid for the model and the system it was made with, like
// TrainingPlan. With separate pools the two phases run on different chips with
// degrees of their own, or on machines of their own; otherwise both phases have
// the same.
#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <optional>

#include "topology/machine/dtype.h"
#include "topology/machine/system.h"
#include "workload/model/layer.h"
#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
#include "workload/plan/engine_profile.h"
#include "workload/plan/parallel_layout.h"

namespace orrery {

namespace pb {
class Inference;
}  // namespace pb

// Tokens guessed ahead and verified together.
struct Speculation {
  int drafts = 0;
  // Chance that a draft is right if those before it were.
  double acceptance = 0;
  // The model's own prediction modules guess; otherwise somebody else, at the
  // cost of this share of a step for each draft.
  bool prediction_module = false;
  double draft_cost = 0;

  // Tokens that a sequence gets per step on the mean: one, and of the drafts
  // those before the first wrong one, a + a^2 + ... (Leviathan et al., arXiv
  // 2211.17192, equation 1).
  double TokensPerStep() const;
  friend bool operator==(const Speculation&, const Speculation&) = default;
};

class InferencePlan {
 public:
  // `prefill`: the machine of the prefill pool, if not `system`.
  static absl::StatusOr<InferencePlan> FromProto(
      const pb::Inference& proto, const Model& model, const System& system,
      const System* prefill = nullptr);

  // Sequences, over all replicas.
  int batch() const { return batch_; }
  // Tokens per sequence.
  int prompt() const { return prompt_; }
  int output() const { return output_; }
  // How each phase is split over its chips.
  const ParallelLayout& prefill() const { return prefill_; }
  const ParallelLayout& decode() const { return decode_; }
  const ParallelLayout& layout(PassPurpose purpose) const {
    return purpose == PassPurpose::kDecode ? decode_ : prefill_;
  }
  bool disaggregated() const { return disaggregated_; }
  // Sequences that one prefill takes, over all replicas: all of the batch,
  // unless pools are separate.
  int prefill_batch() const { return prefill_batch_; }
  // Of products, of stored weights where narrower, and of the cache.
  DType precision() const { return precision_; }
  std::optional<DType> weight() const { return weight_; }
  DType stored_weight() const { return weight_.value_or(precision_); }
  // Weights that share a scale and a zero; 0: as the format has it.
  int weight_group() const { return weight_group_; }
  // Embedding and head are whole on the ranks of a tensor group.
  bool WholeEnds(const Degrees& degrees) const {
    return engine_.whole_ends && !degrees.sequence_parallel;
  }
  DType kv_precision() const { return kv_precision_; }
  DType dispatch_precision() const { return dispatch_precision_; }
  // What passes between kernels.
  DType activation() const {
    return Bits(precision_) < 16 ? DType::kBf16 : precision_;
  }
  // Tokens of a prompt that one step processes.
  int prefill_chunk() const { return prefill_chunk_; }
  // Sequences that decode beside a chunk, over all replicas.
  int decode_beside() const { return decode_beside_; }
  // Tokens per block of the paged cache.
  int kv_block() const { return engine_.kv_block; }
  const EngineProfile& engine() const { return engine_; }
  // Host time to start collectives in a phase.
  CollectiveLaunches collective_launches(PassPurpose purpose) const {
    const OnNode& on_node =
        purpose == PassPurpose::kDecode ? decode_on_node_ : prefill_on_node_;
    CollectiveLaunches launches;
    for (size_t i = 0; i < kExchangeGroups; ++i) {
      launches[i] = engine_.CollectiveLaunch(on_node[i]);
    }
    return launches;
  }
  int micro_batches() const { return micro_batches_; }
  bool overlap_halves() const { return overlap_halves_; }
  int redundant_experts() const { return redundant_experts_; }
  ContextMethod context_method() const { return context_method_; }
  const std::optional<Speculation>& speculation() const { return speculation_; }
  // New tokens of a sequence in a decode step.
  int queries() const { return 1 + (speculation_ ? speculation_->drafts : 0); }
  // Tokens of a sequence at its end.
  int64_t context() const { return int64_t{prompt_} + output_; }

 private:
  friend class InferencePlanReader;
  InferencePlan() = default;

  int batch_ = 0;
  int prompt_ = 0;
  int output_ = 0;
  ParallelLayout prefill_;
  ParallelLayout decode_;
  bool disaggregated_ = false;
  int prefill_batch_ = 0;
  DType precision_{};
  std::optional<DType> weight_;
  int weight_group_ = 0;
  DType kv_precision_{};
  DType dispatch_precision_{};
  int prefill_chunk_ = 0;
  int decode_beside_ = 0;
  EngineProfile engine_;
  // Of each kind of group, how many members are on a node with a member.
  using OnNode = std::array<int, kExchangeGroups>;
  OnNode prefill_on_node_{};
  OnNode decode_on_node_{};
  int micro_batches_ = 1;
  bool overlap_halves_ = false;
  int redundant_experts_ = 0;
  ContextMethod context_method_ = ContextMethod::kRing;
  std::optional<Speculation> speculation_;
};

}  // namespace orrery
