#pragma once
// Model FLOPs: what a step must compute, whatever the plan.
//
// The closed form, written from the literature and independent of the op lists,
// so that either can test the other: 2 FLOP per weight that a token meets in a
// matrix product, plus attention; backward twice forward; nothing that is
// recomputed. For a GPT block it is 72 B s L h^2 (1 + s/6h + V/12Lh)
// (Narayanan et al., SC'21, without its recomputation term).
//
// Published figures differ in whether causal attention counts in full or half;
// say which.
#include <cstdint>

#include "base/units.h"
#include "workload/model/model.h"

namespace orrery {

enum class AttentionCount : uint8_t {
  kFull,    // every query with every key
  kCausal,  // exactly the pairs a causal mask leaves: s (s + 1) / 2
};

// Forward of `sequences` sequences of `length` tokens through the main model,
// logits of every position included.
Flops ForwardModelFlops(const Model& model, double sequences, int64_t length,
                        AttentionCount count);

// Forward and backward: three times forward. Multi-token-prediction modules are
// included, with a head each.
Flops TrainingModelFlops(const Model& model, double sequences, int64_t length,
                         AttentionCount count);

}  // namespace orrery
