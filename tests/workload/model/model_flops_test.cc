#include "workload/model/model_flops.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "catalog/catalog.h"
#include "tests/workload/model/layer_lists.h"
#include "tests/workload/model/models.h"
#include "workload/model/layer.h"
#include "workload/model/parameters.h"

namespace orrery {
namespace {

// 72 B s L h^2 (1 + s/6h + V/12Lh): Narayanan et al., SC'21.
double Formula(const Model& model, double batch, double s) {
  const double h = model.hidden();
  const double layers = model.layers();
  return 72 * batch * s * layers * h * h *
         (1 + s / (6 * h) + model.vocabulary() / (12 * layers * h));
}

struct MfuCase {
  const char* model;
  int chips;
  int batch;
  double seconds;
  double published;
};

// Korthikanti et al. (arXiv 2205.05198), table 5: model FLOPs over time and the
// 312 TFLOP/s peak of an A100.
TEST(ModelFlops, GiveThePublishedUtilisations) {
  constexpr double kPeak = 312e12;
  constexpr double kPoints = 0.002;
  for (const MfuCase& c : {MfuCase{"gpt_22b", 8, 4, 1.10, 0.415},
                           MfuCase{"gpt3_175b", 64, 64, 13.75, 0.514},
                           MfuCase{"gpt_530b", 280, 280, 37.83, 0.560},
                           MfuCase{"gpt_1t", 512, 512, 71.49, 0.563}}) {
    const Model model = Preset(c.model);
    const double flops =
        TrainingModelFlops(model, c.batch, 2048, AttentionCount::kFull).value();
    EXPECT_NEAR(flops / Formula(model, c.batch, 2048), 1, 1e-12) << c.model;
    EXPECT_NEAR(flops / (c.seconds * c.chips * kPeak), c.published, kPoints)
        << c.model;
  }
}

// The op lists, written the other way round, must agree with the closed form.
double SumOfOps(const Model& model, int64_t s, bool causal) {
  const LayerShape shape{.groups = {{.queries = s}}, .causal = causal};
  double sum = 0;
  const auto add = [&](const LayerOps& ops) {
    sum += SumModelFlops(ops.forward).value() +
           SumModelFlops(ops.input_gradient).value() +
           SumModelFlops(ops.weight_gradient).value();
  };
  for (int layer = 0; layer < model.layers(); ++layer) {
    add(BuildLayer(model, layer, shape));
  }
  add(BuildEmbedding(model, shape));
  add(BuildHead(model, shape));
  for (int module = 0; module < model.mtp_modules(); ++module) {
    add(BuildPredictionInput(model, shape));
    add(BuildLayer(model, model.layers() + module, shape));
    add(BuildHead(model, shape));
  }
  return sum;
}

TEST(ModelFlops, AreTheSumOverTheOpsForEveryModelOfTheCatalogue) {
  const Catalog catalog;
  for (const std::string& name : catalog.Names("models")) {
    const Model model = Preset(name);
    for (const bool causal : {false, true}) {
      // A window narrows the full square only in the closed form.
      if (!causal && model.attention().window.has_value()) continue;
      const double closed = TrainingModelFlops(model, 1, 2048,
                                               causal ? AttentionCount::kCausal
                                                      : AttentionCount::kFull)
                                .value();
      EXPECT_NEAR(SumOfOps(model, 2048, causal) / closed, 1, 1e-12) << name;
    }
  }
}

// 6 N D + 12 L h s D: N are the weights of matrix products, so without the
// embedding table, norms and biases.
TEST(ModelFlops, AreSixNDPlusAttention) {
  const Model model = Preset("llama3_8b");
  const ParameterCount count = TotalParameters(model);
  const double matrices =
      static_cast<double>(count.attention + count.mlp + count.head);
  const double tokens = 4096;
  const double expected =
      6 * matrices * tokens + 12.0 * 32 * 4096 * 4096 * tokens;
  EXPECT_NEAR(
      TrainingModelFlops(model, 1, 4096, AttentionCount::kFull).value() /
          expected,
      1, 1e-12);
}

// A mixture computes with its active parameters. DeepSeek-V3 activates 37B per
// token (arXiv 2412.19437); 2 FLOP each forward, and attention on top.
TEST(ModelFlops, OfAMixtureFollowTheActiveParameters) {
  const Model model = Preset("deepseek_v3");
  const ParameterCount active = ActiveParameters(model);
  const double matrices =
      static_cast<double>(active.attention + active.mlp + active.router +
                          active.experts + active.shared_experts + active.head);
  const double per_token =
      ForwardModelFlops(model, 1, 1, AttentionCount::kCausal).value();
  // Norms and the router's bias are counted as parameters, not as products.
  EXPECT_NEAR(per_token / (2 * matrices), 1, 1e-3);
  EXPECT_NEAR(per_token / 2, 37e9, 0.03 * 37e9);
}

// 32 one-hot rows over a vocabulary of 256, times a table of 256 x 64; its
// gradient is the transpose times 32 rows of gradients. As a lookup it has no
// FLOPs, and no model FLOPs either way.
TEST(LayerEnds, AnEmbeddingMayBeAProduct) {
  const Model model = MakeModel(kSmallDense, "vocabulary: 256");
  LayerShape shape{.groups = {{.queries = 32}}};
  const LayerOps lookup = BuildEmbedding(model, shape);
  EXPECT_EQ(SumMatrixFlops(lookup.forward), Flops(0));
  shape.embeds_by_product = true;
  const LayerOps product = BuildEmbedding(model, shape);
  EXPECT_EQ(std::get<Gemm>(product.forward[0].op()->work),
            (Gemm{.m = 32, .n = 64, .k = 256}));
  EXPECT_EQ(std::get<Gemm>(product.weight_gradient[0].op()->work),
            (Gemm{.m = 256,
                  .n = 64,
                  .k = 32,
                  .output = DType::kFp32,
                  .accumulate = true}));
  EXPECT_EQ(SumModelFlops(product.forward), Flops(0));
}

// 32 x 256 logits of 2 bytes: a cast (2 read, 4 written), the maximum (4), the
// difference and the exponential (4 + 4 each), the sum (4) and the quotient
// (4 + 4) make 38 bytes each; the gradient in place and its cast 14.
TEST(LayerEnds, ALossInPartsGoesOverItsLogitsAgainAndAgain) {
  const Model model = MakeModel(kSmallDense, "vocabulary: 256");
  LayerShape shape{.groups = {{.queries = 32}}};
  shape.separate_loss = true;
  shape.loss_in_parts = true;
  const LayerOps head = BuildHead(model, shape);
  const auto bytes = [](const std::vector<LayerStep>& steps) {
    Bytes sum;
    for (const LayerStep& step : steps) {
      const Op* op = step.op();
      if (op == nullptr ||
          (op->name != OpName::kLoss && op->name != OpName::kQuantize)) {
        continue;
      }
      const auto& work = std::get<Pointwise>(op->work);
      sum += work.read + work.written;
    }
    return sum;
  };
  EXPECT_EQ(bytes(head.forward), Bytes(38 * 32 * 256));
  EXPECT_EQ(bytes(head.input_gradient), Bytes(14 * 32 * 256));
}

}  // namespace
}  // namespace orrery
