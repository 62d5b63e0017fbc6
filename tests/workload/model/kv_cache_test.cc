#include "workload/model/kv_cache.h"

#include <gtest/gtest.h>

#include "tests/workload/model/models.h"

namespace orrery {
namespace {

// Keys and values of 2 heads of 8: 32 elements.
TEST(KvCache, GroupedQueriesStoreTheirKeyValueHeads) {
  const Model model = MakeModel(kSmallDense);
  EXPECT_EQ(KvCacheElementsPerTokenAndLayer(model), 32);
  EXPECT_EQ(KvCacheBytesPerTokenAndLayer(model, 16), Bytes(64));
  EXPECT_EQ(KvCacheBytesPerTokenAndLayer(model, 8), Bytes(32));
  EXPECT_EQ(KvCacheBytesPerToken(model, 16), Bytes(4 * 64));
  EXPECT_EQ(KvCacheBytes(model, 100, 16), Bytes(100 * 4 * 64));
}

// Two ranks have a head each; four cannot split it further. A latent serves all
// heads, so every rank has it.
TEST(KvCache, TensorRanksSplitHeadsButNoHeadAndNoLatent) {
  const Model model = MakeModel(kSmallDense);
  EXPECT_EQ(KvCacheElementsPerTokenAndLayer(model, 2), 16);
  EXPECT_EQ(KvCacheElementsPerTokenAndLayer(model, 4), 16);
  EXPECT_EQ(KvCacheElementsPerTokenAndLayer(MakeModel(kSmallMixture), 4), 40);
}

// One latent of 32 and one rotary key of 8 for all heads.
TEST(KvCache, LatentAttentionStoresOneLatent) {
  const Model model = MakeModel(kSmallMixture);
  EXPECT_EQ(KvCacheBytesPerTokenAndLayer(model, 16), Bytes(2 * (32 + 8)));
}

// Llama-3 8B: 2 * 8 * 128 * 2 bytes = 4 096 per layer, 131 072 per token.
TEST(KvCache, LlamaEightBillion) {
  const Model model = MakeModel(
      kSmallDense,
      "layers: 32 attention { heads: 32 kv_heads: 8 head_dimension: 128 }");
  EXPECT_EQ(KvCacheBytesPerTokenAndLayer(model, 16), Bytes(4096));
  EXPECT_EQ(KvCacheBytesPerToken(model, 16), Bytes(131'072));
}

// Layers 0 and 2 hold 10 of 100 tokens, layers 1 and 3 all of them.
TEST(KvCache, WindowedLayersHoldTheirWindow) {
  const Model model =
      MakeModel(kSmallDense, "attention { window: 10 global_every: 2 }");
  EXPECT_EQ(KvCacheLayerBytes(model, 0, 100, 16), Bytes(10 * 64));
  EXPECT_EQ(KvCacheLayerBytes(model, 1, 100, 16), Bytes(100 * 64));
  EXPECT_EQ(KvCacheBytes(model, 100, 16), Bytes((10 + 100) * 2 * 64));
  EXPECT_EQ(KvCacheBytes(model, 5, 16), Bytes(5 * 4 * 64));
}

TEST(KvCache, HalfBytesRoundUpToWholeOnes) {
  const Model model = MakeModel(
      kSmallDense, "attention { head_dimension: 7 value_head_dimension: 6 }");
  // 2 * (7 + 6) = 26 elements of 4 bits = 13 bytes.
  EXPECT_EQ(KvCacheBytesPerTokenAndLayer(model, 4), Bytes(13));
}

}  // namespace
}  // namespace orrery
