#include "workload/model/kv_cache.h"

#include <algorithm>

#include "base/check.h"

namespace orrery {

int64_t KvCacheElementsPerTokenAndLayer(const Model& model, int tensor) {
  const Attention& a = model.attention();
  if (a.is_latent()) return int64_t{a.kv_rank} + a.rope_dimension;
  const int64_t kv_heads = std::max(1, a.kv_heads / tensor);
  return kv_heads * (a.score_head_dimension() + a.value_head_dimension);
}

Bytes KvCacheBytesPerTokenAndLayer(const Model& model, int bits) {
  CHECK(bits > 0) << bits;
  return Bytes((KvCacheElementsPerTokenAndLayer(model) * bits + 7) / 8);
}

Bytes KvCacheBytesPerToken(const Model& model, int bits) {
  return KvCacheBytesPerTokenAndLayer(model, bits) * model.layers();
}

Bytes KvCacheLayerBytes(const Model& model, int layer, int64_t tokens,
                        int bits) {
  CHECK(tokens >= 0) << tokens;
  const std::optional<int> window = model.Window(layer);
  const int64_t held = window ? std::min<int64_t>(tokens, *window) : tokens;
  return KvCacheBytesPerTokenAndLayer(model, bits) * held;
}

Bytes KvCacheBytes(const Model& model, int64_t tokens, int bits) {
  Bytes sum;
  for (int layer = 0; layer < model.layers(); ++layer) {
    sum += KvCacheLayerBytes(model, layer, tokens, bits);
  }
  return sum;
}

}  // namespace orrery
