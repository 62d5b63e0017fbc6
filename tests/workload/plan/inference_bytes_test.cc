// Bytes of caches and weights by hand, for every kind of attention and every
// format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"
#include "workload/model/kv_cache.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

using Sets = std::vector<std::string>;

Model Preset(const std::string& name) {
  const absl::StatusOr<pb::Model> proto = Catalog().Model(name);
  EXPECT_THAT(proto, IsOk());
  const absl::StatusOr<Model> model = Model::FromProto(*proto);
  EXPECT_THAT(model, IsOk());
  return *model;
}

// One chip that holds all of a model, so that nothing is split.
ResolvedScenario Alone(const std::string& model, Sets sets) {
  Sets all = {"model.preset=" + model,       "system.chips_per_node=1",
              "inference.parallel.tensor=1", "inference.batch=1",
              "inference.prompt=16",         "inference.output=2",
              "inference.precision=BF16",    "inference.kv_block=1"};
  all.insert(all.end(), sets.begin(), sets.end());
  absl::StatusOr<ResolvedScenario> scenario =
      ScenarioWith("llama3_70b_fp8_serving", all);
  EXPECT_THAT(scenario, IsOk());
  return *std::move(scenario);
}

int64_t Weights(const std::string& model, const Sets& sets) {
  const ResolvedScenario s = Alone(model, sets);
  return MemoryOf(s.model, *s.inference(), Bytes(0)).weights.value();
}

// Keys and values of every key-value head, or one latent and one rotary key.
//   Llama 2 7B    MHA 32 x 128   2 x 32 x 128 x 2 = 16 384 x 32 layers
//   Llama 2 70B   GQA  8 x 128   2 x  8 x 128 x 2 =  4 096 x 80
//   Llama 3 8B    GQA  8 x 128                       4 096 x 32
//   Llama 3 405B  GQA  8 x 128                       4 096 x 126
//   GPT-3 175B    MHA 96 x 128   2 x 96 x 128 x 2 = 49 152 x 96
//   Gemma 2B      MQA  1 x 256   2 x  1 x 256 x 2 =  1 024 x 18
//   DeepSeek-V3   MLA 512 + 64      (512 + 64) x 2 =  1 152 x 61
TEST(CacheBytes, OfAToken) {
  const std::tuple<const char*, int64_t, int> rows[] = {
      {"llama2_7b", 16384, 32},   {"llama2_70b", 4096, 80},
      {"llama3_70b", 4096, 80},   {"llama3_8b", 4096, 32},
      {"llama3_405b", 4096, 126}, {"gpt3_175b", 49152, 96},
      {"gemma_2b", 1024, 18},     {"deepseek_v3", 1152, 61}};
  for (const auto& [name, per_layer, layers] : rows) {
    const Model model = Preset(name);
    EXPECT_EQ(KvCacheBytesPerTokenAndLayer(model, 16), Bytes(per_layer))
        << name;
    EXPECT_EQ(KvCacheBytesPerToken(model, 16), Bytes(per_layer * layers))
        << name;
  }
}

// Llama 2 7B: 8192 elements per layer and token, 32 layers.
TEST(CacheBytes, InEveryFormat) {
  for (const auto& [format, bytes] :
       {std::pair{"BF16", 2.0}, std::pair{"FP8", 1.0}, std::pair{"INT8", 1.0},
        std::pair{"INT4", 0.5}, std::pair{"FP4", 0.5}}) {
    const ResolvedScenario s =
        Alone("llama2_7b", {std::string("inference.kv_precision=") + format});
    const InferencePlan& plan = *s.inference();
    const std::vector<Stage> stages = CutStages(s.model, plan.decode());
    EXPECT_EQ(StageCache(s.model, plan, plan.decode(), stages[0], 100),
              Bytes(static_cast<int64_t>(100 * 32 * 8192 * bytes)))
        << format;
  }
}

// gpt-oss 20B: 24 layers, every other with a window of 128; 8 heads of 64:
// 2 x 8 x 64 x 2 = 2048 B. At 1000 tokens 12 x 128 + 12 x 1000. Its sinks are a
// logit per head and no keys: they are parameters and nothing in the cache.
TEST(CacheBytes, OfWindowsAndSinks) {
  const Model model = Preset("gpt_oss_20b");
  EXPECT_EQ(KvCacheBytes(model, 1000, 16), Bytes(2048 * 12 * (128 + 1000)));
  EXPECT_EQ(KvCacheBytes(model, 100, 16), Bytes(2048 * 24 * 100));
}

// Llama 2 7B. A layer: 4 x 4096^2 + 3 x 4096 x 11 008 = 202 375 168 weights and
// two norms of 4096; embedding, head of 32 000 x 4096 and the last norm.
TEST(WeightBytes, OfMultiHeadAttentionInEveryFormat) {
  const int64_t layer = 4 * int64_t{4096} * 4096 + 3 * int64_t{4096} * 11008;
  ASSERT_EQ(layer, 202375168);
  const int64_t wide = 2 * (2 * int64_t{32000} * 4096 + (32 * 2 + 1) * 4096);
  EXPECT_EQ(Weights("llama2_7b", {}), 32 * layer * 2 + wide);
  EXPECT_EQ(Weights("llama2_7b", {"inference.precision=FP8"}),
            32 * layer + wide);
  EXPECT_EQ(Weights("llama2_7b", {"inference.weight_precision=INT8"}),
            32 * layer + wide);
  // A scale of 16 bits and a zero of 4 for each 128: 4 + 20 / 128 bits.
  EXPECT_EQ(Weights("llama2_7b", {"inference.weight_precision=INT4"}),
            32 * (layer * (4 * 128 + 20) / 128 / 8) + wide);
  // A scale of 8 bits for each 32 (MXFP4): 4.25 bits.
  EXPECT_EQ(Weights("llama2_7b", {"inference.weight_precision=FP4"}),
            32 * (layer * (4 * 32 + 8) / 32 / 8) + wide);
}

// Gemma 2B: a layer has 2048 x (8 + 2 x 1) x 256 for queries, keys and values,
// 8 x 256 x 2048 back, 3 x 2048 x 16 384; the embedding of 256 128 x 2048 is
// the head too.
TEST(WeightBytes, OfOneKeyValueHeadAndATiedHead) {
  const int64_t layer = int64_t{2048} * 10 * 256 + int64_t{8} * 256 * 2048 +
                        3 * int64_t{2048} * 16384;
  EXPECT_EQ(Weights("gemma_2b", {}),
            2 * (18 * (layer + 2 * 2048) + int64_t{256128} * 2048 + 2048));
}

// DeepSeek-V3 in FP8. Attention of a layer: 7168 x 1536 + 1536 x 128 x 192 +
// 7168 x 576 + 512 x 128 x 256 + 128 x 128 x 7168 and norms of 1536 + 512
// inside it. Three layers of 3 x 7168 x 18 432; in 58 256 experts and one
// shared of 3 x 7168 x 2048. In 16 bits: routers of 256 x 7168 + 256, norms of
// 2 x 7168, embedding and head of 129 280 x 7168, the last norm.
TEST(WeightBytes, OfLatentAttentionAndExperts) {
  const int64_t attention = int64_t{7168} * 1536 + int64_t{1536} * 128 * 192 +
                            int64_t{7168} * 576 + int64_t{512} * 128 * 256 +
                            int64_t{128} * 128 * 7168 + 1536 + 512;
  const int64_t expert = 3 * int64_t{7168} * 2048;
  const int64_t narrow =
      61 * attention + 3 * (3 * int64_t{7168} * 18432) + 58 * 257 * expert;
  const int64_t wide = 58 * (256 * int64_t{7168} + 256) + 61 * 2 * 7168 +
                       2 * int64_t{129280} * 7168 + 7168;
  EXPECT_EQ(Weights("deepseek_v3", {"inference.precision=FP8"}),
            narrow + 2 * wide);
}

}  // namespace
}  // namespace orrery
