#pragma once
// PassPurpose: why a batch goes through the model, and what follows from it.
//
// Training; the prefill of prompts, whole or in chunks; decoding; or chunks of
// prompts and decoding sequences in one batch, as engines with continuous
// batching run them (vLLM, TensorRT-LLM). A batch is a list of groups of
// sequences alike. Whatever depends on the purpose is decided here and nowhere
// else:
//
//   Trains(PassPurpose::kPrefill);                             // false
//   AbsorbsLatent(PassPurpose::kMixed, {.cached = 1000});      // true
//   LogitsPerSequence(PassPurpose::kPrefill, {.queries = 512});  // 1
#include <cstdint>

namespace orrery {

enum class PassPurpose : uint8_t { kTraining, kPrefill, kDecode, kMixed };

// `count` sequences, each with `queries` new tokens after `cached` tokens whose
// keys and values are in the cache already.
struct SequenceGroup {
  int64_t count = 1;
  int64_t queries = 1;
  int64_t cached = 0;
  friend bool operator==(const SequenceGroup&, const SequenceGroup&) = default;
};

// New tokens that a sequence decodes at once at the most: one, and drafts of it
// to be verified. Engines tell decoding from a chunk of a prompt by the number
// of new tokens too, so that the short end of a prompt counts as decoding.
inline constexpr int64_t kMostDecoded = 8;

// Gradients follow: tensors are kept for them, there is a loss, and dropout.
constexpr bool Trains(PassPurpose purpose) {
  return purpose == PassPurpose::kTraining;
}

// New keys and values go to a cache, from which attention reads.
constexpr bool WritesCache(PassPurpose purpose) { return !Trains(purpose); }

// Whether a group of the batch is decoding.
constexpr bool Decodes(PassPurpose purpose, const SequenceGroup& group) {
  switch (purpose) {
    case PassPurpose::kTraining:
    case PassPurpose::kPrefill:
      return false;
    case PassPurpose::kDecode:
      return true;
    case PassPurpose::kMixed:
      return group.cached > 0 && group.queries <= kMostDecoded;
  }
  return false;
}

// Latent attention in the compressed space, which spares memory traffic;
// otherwise the latents are expanded to heads, which spares arithmetic
// (DeepSeek-V2, arXiv 2405.04434, section 2.1).
constexpr bool AbsorbsLatent(PassPurpose purpose, const SequenceGroup& group) {
  return Decodes(purpose, group);
}

// Positions of a sequence whose logits are needed: all to learn from, all to
// verify drafts, the last one of a prompt or of a chunk of it.
constexpr int64_t LogitsPerSequence(PassPurpose purpose,
                                    const SequenceGroup& group) {
  return Trains(purpose) || Decodes(purpose, group) ? group.queries : 1;
}

}  // namespace orrery
