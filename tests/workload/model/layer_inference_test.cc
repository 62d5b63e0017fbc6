// Layers as inference engines run them: chunks of prompts, decoding, both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/workload/model/layer_lists.h"
#include "tests/workload/model/models.h"
#include "workload/model/layer.h"

namespace orrery {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Three chunks of 512 tokens after 1024, and 61 decoding sequences.
LayerShape ChunksAndDecoding() {
  return {.purpose = PassPurpose::kMixed,
          .groups = {{.count = 3, .queries = 512, .cached = 1024},
                     {.count = 40, .queries = 1, .cached = 1000},
                     {.count = 21, .queries = 1, .cached = 3000}}};
}

const FusedAttention& CoreOf(const Op& op) {
  return std::get<FusedAttention>(op.work);
}

double AttentionFlops(const LayerOps& ops) {
  double sum = 0;
  for (const Op& op : OpsNamed(ops.forward, OpName::kAttention)) {
    sum += MatrixFlops(op).value();
  }
  return sum;
}

// Llama 3 8B: 32 heads, 8 of keys and values, 128 wide. Per sequence queries
// and outputs of 32 x 128 x 2 bytes and a log-sum of 4 bytes per head; per key
// it sees 2 x 8 x 128 x 2 = 4096 bytes.
//   keys: 32 x 1001 + 16 x 3001 = 80 048
TEST(Decode, ReadsTheCacheOfEveryGroup) {
  const Model model = Preset("llama3_8b");
  const LayerOps ops = BuildLayer(model, 0,
                                  {.purpose = PassPurpose::kDecode,
                                   .groups = {{.count = 32, .cached = 1000},
                                              {.count = 16, .cached = 3000}}});
  const std::vector<Op> cores = OpsNamed(ops.forward, OpName::kAttention);
  ASSERT_EQ(cores.size(), 2u);
  EXPECT_EQ(CoreOf(cores[0]).batch, 32);
  EXPECT_EQ(CoreOf(cores[0]).keys, 1001);
  EXPECT_EQ(CoreOf(cores[1]).batch, 16);
  EXPECT_EQ(CoreOf(cores[1]).keys, 3001);
  const int64_t keys = 32 * 1001 + 16 * 3001;
  EXPECT_EQ(CompulsoryBytes(cores[0]) + CompulsoryBytes(cores[1]),
            Bytes(keys * 4096 + 48 * (2 * 32 * 128 * 2 + 32 * 4)));
  // Scores and values: 2 x 2 x 32 x 128 FLOP per key.
  EXPECT_EQ(AttentionFlops(ops), 4.0 * 32 * 128 * static_cast<double>(keys));
  // The products see 48 tokens, the cache gets as many.
  EXPECT_EQ(std::get<Gemm>(OpsNamed(ops.forward, OpName::kMlpUp)[0].work).m,
            48);
  const Op write = OpsNamed(ops.forward, OpName::kCacheWrite).at(0);
  EXPECT_EQ(std::get<Pointwise>(write.work).written, Bytes(48 * 4096));
}

TEST(MixedBatch, HasOneProductOverAllTokensAndAttentionByGroup) {
  const Model model = Preset("llama3_8b");
  const LayerShape shape = ChunksAndDecoding();
  const int64_t rows = 3 * 512 + 61;
  EXPECT_EQ(shape.tokens(), rows);
  const LayerOps ops = BuildLayer(model, 0, shape);
  int products = 0;
  for (const LayerStep& step : ops.forward) {
    const auto* product = std::get_if<Gemm>(&step.op()->work);
    if (product == nullptr) continue;
    EXPECT_EQ(product->m, rows) << Name(step.op()->name);
    ++products;
  }
  EXPECT_EQ(products, 4);
  // Queries of a chunk see 1025 .. 1536 keys, 512 x 1280.5 pairs.
  EXPECT_EQ(AttentionFlops(ops),
            4.0 * 32 * 128 * (3 * 512 * 1280.5 + 40 * 1001 + 21 * 3001));
  const Op write = OpsNamed(ops.forward, OpName::kCacheWrite).at(0);
  EXPECT_EQ(std::get<Pointwise>(write.work).written, Bytes(rows * 4096));
}

// Queries of a prompt in chunks see the keys they see in the whole.
TEST(ChunkedPrefill, HasTheFlopsOfThePromptAsAWhole) {
  const Model model = Preset("llama3_8b");
  const auto flops = [&](int64_t queries, int64_t cached) {
    const LayerOps ops =
        BuildLayer(model, 0,
                   {.purpose = PassPurpose::kPrefill,
                    .groups = {{.queries = queries, .cached = cached}}});
    return SumMatrixFlops(ops.forward).value();
  };
  double chunks = 0;
  for (int64_t done = 0; done < 2048; done += 512) chunks += flops(512, done);
  EXPECT_EQ(chunks, flops(2048, 0));
}

TEST(ChunkedPrefill, OverContextRanksConservesAttention) {
  const Model model = Preset("llama3_8b");
  LayerShape shape{.purpose = PassPurpose::kPrefill,
                   .groups = {{.count = 2, .queries = 1024, .cached = 4096},
                              {.count = 1, .queries = 512, .cached = 0}}};
  const double one = AttentionFlops(BuildLayer(model, 0, shape));
  shape.context = 4;
  for (const ContextMethod method :
       {ContextMethod::kRing, ContextMethod::kAllGather,
        ContextMethod::kUlysses}) {
    shape.context_method = method;
    EXPECT_DOUBLE_EQ(4 * AttentionFlops(BuildLayer(model, 0, shape)), one);
  }
}

// Keys and values of every token, cached ones included, reach a rank whose
// scores are written to memory: 2 (s + p) h_kv e, or the c - 1 blocks of them
// that are elsewhere.
TEST(ChunkedPrefill, OverContextRanksBringsUnfusedAttentionItsKeys) {
  const Model model = Preset("llama3_8b");  // h_kv 1024
  LayerShape shape{.purpose = PassPurpose::kPrefill,
                   .groups = {{.queries = 1024, .cached = 4096}},
                   .context = 4,
                   .attention = AttentionKernel::kUnfused};
  const auto brought = [&](ContextMethod method) {
    shape.context_method = method;
    int64_t bytes = 0;
    for (const LayerStep& step : BuildLayer(model, 0, shape).forward) {
      const Exchange* e = step.exchange();
      if (e != nullptr) bytes += e->bytes.value() * e->steps;
    }
    return bytes;
  };
  const int64_t all = 2 * (1024 + 4096) * 1024 * 2;
  EXPECT_EQ(brought(ContextMethod::kAllGather), all);
  EXPECT_EQ(brought(ContextMethod::kRing), all / 4 * 3);
  // The rank's tokens: queries, keys, values; then the output.
  EXPECT_EQ(brought(ContextMethod::kUlysses),
            1024 / 4 * (2 * 4096 + 2 * 1024) * 2);
}

TEST(ContextRanks, MustDivideTheTokensOfEveryGroup) {
  const Model model = MakeModel(kSmallDense);
  LayerShape shape{.purpose = PassPurpose::kPrefill,
                   .groups = {{.queries = 64}, {.queries = 30}},
                   .context = 4};
  EXPECT_DEATH(BuildLayer(model, 0, shape), "30 after 0 tokens over 4");
  shape.groups = {{.queries = 64, .cached = 9}};
  EXPECT_DEATH(BuildLayer(model, 0, shape), "64 after 9 tokens over 4");
}

TEST(Training, HasNoCache) {
  const Model model = MakeModel(kSmallDense);
  EXPECT_DEATH(BuildLayer(model, 0, {.groups = {{.queries = 4, .cached = 4}}}),
               "training has no cache");
}

TEST(Inference, BuildsNoGradientsAndKeepsNothing) {
  for (const char* name : {"llama3_8b", "deepseek_v3", "gpt_22b"}) {
    const Model model = Preset(name);
    for (const PassPurpose purpose :
         {PassPurpose::kPrefill, PassPurpose::kDecode, PassPurpose::kMixed}) {
      LayerShape shape = ChunksAndDecoding();
      shape.purpose = purpose;
      shape.tensor = 2;
      shape.expert_tensor = 2;
      for (const LayerOps& ops : {BuildEmbedding(model, shape),
                                  BuildLayer(model, model.layers() - 1, shape),
                                  BuildHead(model, shape)}) {
        EXPECT_THAT(ops.forward, Not(IsEmpty()));
        EXPECT_THAT(ops.input_gradient, IsEmpty());
        EXPECT_THAT(ops.weight_gradient, IsEmpty());
        EXPECT_THAT(ops.kept, IsEmpty());
        EXPECT_THAT(Words(ops.forward), Each(Not("dropout")));
      }
    }
  }
}

// DeepSeek-V3: 128 heads, latent 512, rotary 64, heads of 128 (192 with the
// rotary part). Compressed: 576 + 512 per pair and head, one latent for all;
// expanded: 192 + 128, keys and values of every head.
TEST(LatentAttention, DecodesInTheCompressedSpace) {
  const Model model = Preset("deepseek_v3");
  const LayerOps ops = BuildLayer(model, 0,
                                  {.purpose = PassPurpose::kDecode,
                                   .groups = {{.count = 16, .cached = 1023}},
                                   .cache = DType::kFp8});
  EXPECT_THAT(Words(ops.forward), Not(Contains("key_value_up")));
  const std::vector<Op> cores = OpsNamed(ops.forward, OpName::kAttention);
  ASSERT_EQ(cores.size(), 1u);
  EXPECT_EQ(CoreOf(cores[0]).kv_heads, 1);
  EXPECT_EQ(CoreOf(cores[0]).head_dimension, 512 + 64);
  EXPECT_EQ(CoreOf(cores[0]).value_dimension, 512);
  EXPECT_EQ(CoreOf(cores[0]).cache, DType::kFp8);
  EXPECT_EQ(AttentionFlops(ops), 16.0 * 1024 * 2 * 128 * (576 + 512));
  // Queries to the latent space, values out of it: a product per head.
  EXPECT_EQ(
      std::get<Gemm>(OpsNamed(ops.forward, OpName::kQueryAbsorb).at(0).work),
      (Gemm{.m = 16, .n = 512, .k = 128, .batch = 128}));
  EXPECT_EQ(
      std::get<Gemm>(OpsNamed(ops.forward, OpName::kValueAbsorb).at(0).work),
      (Gemm{.m = 16, .n = 128, .k = 512, .batch = 128}));
}

TEST(LatentAttention, ExpandsThePromptAndWhatItHasInTheCache) {
  const Model model = Preset("deepseek_v3");
  const LayerOps ops =
      BuildLayer(model, 0,
                 {.purpose = PassPurpose::kPrefill,
                  .groups = {{.count = 2, .queries = 512, .cached = 1024}},
                  .cache = DType::kFp8});
  EXPECT_THAT(Words(ops.forward), Not(Contains("query_absorb")));
  EXPECT_THAT(Words(ops.forward), Not(Contains("value_absorb")));
  EXPECT_EQ(
      std::get<Gemm>(OpsNamed(ops.forward, OpName::kKeyValueUp).at(0).work),
      (Gemm{.m = 2 * (512 + 1024), .n = 128 * (128 + 128), .k = 512}));
  EXPECT_EQ(
      std::get<Gemm>(OpsNamed(ops.forward, OpName::kQueryUp).at(0).work).m,
      2 * 512);
  const std::vector<Op> cores = OpsNamed(ops.forward, OpName::kAttention);
  ASSERT_EQ(cores.size(), 1u);
  EXPECT_EQ(CoreOf(cores[0]).kv_heads, 128);
  // What was expanded has the format of the activations.
  EXPECT_EQ(CoreOf(cores[0]).cache, DType::kBf16);
  EXPECT_EQ(AttentionFlops(ops), 2.0 * 512 * 1280.5 * 2 * 128 * (192 + 128));
}

TEST(LatentAttention, OfAMixedBatchTakesBothForms) {
  const Model model = Preset("deepseek_v3");
  const LayerOps ops = BuildLayer(model, 0, ChunksAndDecoding());
  const auto rows = [&](OpName name) {
    return std::get<Gemm>(OpsNamed(ops.forward, name).at(0).work).m;
  };
  EXPECT_EQ(rows(OpName::kQueryUp), 3 * 512 + 61);
  EXPECT_EQ(rows(OpName::kKeyValueUp), 3 * (512 + 1024));
  EXPECT_EQ(rows(OpName::kQueryAbsorb), 61);
  EXPECT_EQ(rows(OpName::kValueAbsorb), 61);
  const std::vector<Op> cores = OpsNamed(ops.forward, OpName::kAttention);
  ASSERT_EQ(cores.size(), 3u);
  EXPECT_FALSE(CoreOf(cores[0]).shared_key_value);
  EXPECT_TRUE(CoreOf(cores[1]).shared_key_value);
  EXPECT_TRUE(CoreOf(cores[2]).shared_key_value);
}

// 8 heads, 8 wide: 4 x 8 x 8 FLOP per pair. Layer 0 looks back at 10 keys:
//   a token after 99:   10             of 100
//   4 tokens after 8:   9 + 10 + 10 + 10   of 9 + 10 + 11 + 12
TEST(SlidingWindow, CountsTheCachedTokensInIt) {
  const Model model =
      MakeModel(kSmallDense, "attention { window: 10 global_every: 2 }");
  const auto pairs = [&](int layer, const SequenceGroup& group) {
    const LayerOps ops = BuildLayer(
        model, layer, {.purpose = PassPurpose::kMixed, .groups = {group}});
    return AttentionFlops(ops) / (4 * 8 * 8);
  };
  EXPECT_EQ(pairs(0, {.queries = 1, .cached = 99}), 10);
  EXPECT_EQ(pairs(1, {.queries = 1, .cached = 99}), 100);
  EXPECT_EQ(pairs(0, {.queries = 4, .cached = 8}), 39);
  EXPECT_EQ(pairs(1, {.queries = 4, .cached = 8}), 42);
  EXPECT_EQ(pairs(0, {.count = 3, .queries = 4, .cached = 8}), 3 * 39);
}

// DeepSeek-V3 chooses 8 of 256 experts: 256 (1 - (1 - 1/32)^tokens) are active,
// 163.3 for 32 tokens, whatever groups they come in; a chunk wakes them all.
TEST(Experts, OfASmallBatchAreNotAllActive) {
  const Model model = Preset("deepseek_v3");
  const auto active = [&](const std::vector<SequenceGroup>& groups) {
    const LayerOps ops = BuildLayer(
        model, 10, {.purpose = PassPurpose::kMixed, .groups = groups});
    return std::get<GroupedGemm>(
               OpsNamed(ops.forward, OpName::kExpertUp).at(0).work)
        .active;
  };
  // (31/32)^32 = 0.36206
  constexpr double kDigits = 0.01;
  EXPECT_NEAR(active({{.count = 32, .cached = 1000}}), 163.31, kDigits);
  EXPECT_DOUBLE_EQ(
      active({{.count = 12, .cached = 1000}, {.count = 20, .cached = 3000}}),
      active({{.count = 32, .cached = 1000}}));
  EXPECT_NEAR(active({{.count = 32, .cached = 1000}, {.queries = 2048}}), 256,
              kDigits);
}

TEST(Head, OfInferenceSeesThePositionsToSample) {
  const Model model = MakeModel(kSmallDense);
  const auto rows = [&](const LayerShape& shape) {
    const LayerOps ops = BuildHead(model, shape);
    EXPECT_THAT(Words(ops.forward), ElementsAre("norm", "head", "sample"));
    const Gemm product = std::get<Gemm>(ops.forward[1].op()->work);
    EXPECT_EQ(product.n, 1000);
    return product.m;
  };
  // The last position of each of three prompts.
  EXPECT_EQ(rows({.purpose = PassPurpose::kPrefill,
                  .groups = {{.count = 3, .queries = 100}}}),
            3);
  // Of three chunks and 61 decoding sequences.
  EXPECT_EQ(rows(ChunksAndDecoding()), 64);
  // A token and three drafts of each of 5 sequences.
  EXPECT_EQ(rows({.purpose = PassPurpose::kDecode,
                  .groups = {{.count = 5, .queries = 4, .cached = 100}}}),
            20);
}

// 3 positions x 1000 logits x 2 bytes.
TEST(Head, OfInferenceGathersTheVocabulary) {
  const Model model = MakeModel(kSmallDense);
  const LayerOps ops = BuildHead(model, {.purpose = PassPurpose::kPrefill,
                                         .groups = {{.count = 3, .queries = 9}},
                                         .tensor = 2});
  EXPECT_THAT(Words(ops.forward),
              ElementsAre("norm", "head", "all_gather tensor", "sample"));
  EXPECT_EQ(ops.forward[2].exchange()->bytes, Bytes(3 * 1000 * 2));
}

// On each of two ranks the whole vocabulary: nothing to sum or to gather.
TEST(Head, ThatIsWholeOnEveryRankIsNotExchanged) {
  const Model model = MakeModel(kSmallDense);
  LayerShape shape{.purpose = PassPurpose::kDecode,
                   .groups = {{.count = 3, .queries = 1, .cached = 9}},
                   .tensor = 2,
                   .weight = DType::kInt8,
                   .whole_ends = true};
  LayerOps ops = BuildHead(model, shape);
  EXPECT_THAT(Words(ops.forward), ElementsAre("norm", "head", "sample"));
  EXPECT_EQ(std::get<Gemm>(ops.forward[1].op()->work).n, 1000);
  EXPECT_EQ(std::get<Gemm>(ops.forward[1].op()->work).weight, std::nullopt);
  EXPECT_THAT(Words(BuildEmbedding(model, shape).forward),
              Not(Contains("all_reduce tensor")));
  shape.narrow_head = true;
  ops = BuildHead(model, shape);
  EXPECT_EQ(std::get<Gemm>(ops.forward[1].op()->work).weight, DType::kInt8);
}

// Gate and up one by one: two products of half the width, the same arithmetic.
TEST(Decode, GateAndUpMayBeProductsOfTheirOwn) {
  const Model model = Preset("llama3_8b");
  LayerShape shape{.purpose = PassPurpose::kDecode,
                   .groups = {{.count = 4, .cached = 100}}};
  const auto up = [&] {
    return OpsNamed(BuildLayer(model, 0, shape).forward, OpName::kMlpUp);
  };
  const std::vector<Op> together = up();
  shape.gate_apart = true;
  const std::vector<Op> apart = up();
  ASSERT_EQ(together.size(), 1u);
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(std::get<Gemm>(together[0].work).n, 2 * 14336);
  EXPECT_EQ(std::get<Gemm>(apart[0].work).n, 14336);
  EXPECT_EQ(apart[0], apart[1]);
}

}  // namespace
}  // namespace orrery
