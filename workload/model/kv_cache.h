#pragma once
// Size of the key-value cache of one sequence.
//
// Per token and layer: key and value of every key-value head, or for MLA one
// latent and one rotary key that serve all heads (DeepSeek-V2, arXiv
// 2405.04434, section 2.1). A windowed layer holds at most its window.
//
//   KvCacheBytesPerToken(llama3_70b, 16)      // 327 680 B
//   KvCacheBytes(gpt_oss_20b, tokens, 8)      // FP8 cache of one sequence
#include <cstdint>

#include "base/units.h"
#include "workload/model/model.h"

namespace orrery {

// Cache elements of one token in one layer on one of `tensor` ranks, which
// split the key-value heads; what cannot be split, a head or the latent, every
// rank has.
int64_t KvCacheElementsPerTokenAndLayer(const Model& model, int tensor = 1);

// Bytes of one token in one layer with elements of `bits` bits, rounded up to
// whole bytes.
Bytes KvCacheBytesPerTokenAndLayer(const Model& model, int bits);

// Bytes of one token in all layers of the main model.
Bytes KvCacheBytesPerToken(const Model& model, int bits);

// Bytes `layer` holds for a sequence of `tokens`: of all of them, or of the
// window. Requires: 0 <= tokens.
Bytes KvCacheLayerBytes(const Model& model, int layer, int64_t tokens,
                        int bits);

// Bytes of a whole sequence in all layers of the main model.
Bytes KvCacheBytes(const Model& model, int64_t tokens, int bits);

}  // namespace orrery
