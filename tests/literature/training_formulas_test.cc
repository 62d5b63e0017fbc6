// What the simulator and the closed form share, held against formulas of the
// literature: a mistake in a shared value would pass their comparison.
//
// Written here as the papers print them, from a model's dimensions alone.
#include <absl/strings/str_join.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/format.h"
#include "tests/workload/lowering/stepped.h"
#include "workload/plan/memory.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

// A GPT block as the papers have it: MLP of 4h, as many key heads as heads,
// biases, learned positions, tied embedding.
constexpr int kLayers = 12;
constexpr int kHidden = 1024;
constexpr int kVocabulary = 51200;
constexpr int kSequence = 2048;
constexpr char kGpt[] =
    "name: 'gpt' layers: 12 hidden: 1024 vocabulary: 51200 "
    "tied_embedding: true "
    "attention { kind: MHA heads: 16 kv_heads: 16 head_dimension: 64 "
    "qkv_bias: true output_bias: true } "
    "mlp { width: 4096 activation: GELU } linear_bias: true "
    "norm: LAYER_NORM position: LEARNED learned_positions: 2048 dropout: true";

PlacedProgram LowerGpt(const std::string& plan, const char* model = kGpt,
                       const Framework& framework = {}) {
  const TrainingCase c = MakeCase(
      fmt::format("sequence: {} attention_kernel: UNFUSED {}", kSequence, plan),
      1, model, framework);
  auto placed = LowerTraining(c.model, c.plan, SimpleTime, {.fold = true});
  CHECK(placed.ok()) << placed.status().ToString();
  return *std::move(placed);
}

struct StepFlops {
  double executed = 0;
  double recomputed = 0;
};
StepFlops FlopsOf(const PlacedProgram& placed) {
  StepFlops sum;
  for (const RoleWork& work : placed.work) {
    const auto ranks = static_cast<double>(work.ranks);
    sum.executed += work.passes.flops.value() * ranks;
    sum.recomputed += work.passes.recomputed.value() * ranks;
  }
  return sum;
}

// Sums of products of doubles.
constexpr double kRounding = 1e-9;

// Megatron-LM checkpoints the layers of a transformer block: what is computed
// again, and started again by the host, is all of a layer and nothing of the
// embedding or the head.
TEST(Literature, OnlyLayersAreComputedAgain) {
  const TrainingCase c = MakeCase(
      fmt::format("sequence: {} global_batch: 8 recompute: RECOMPUTE_FULL",
                  kSequence),
      1, kGpt);
  const LayerShape shape = ShapeOf(c.plan);
  const LayerOps layer = BuildLayer(c.model, 0, shape);
  EXPECT_EQ(RecomputedSteps(layer, c.plan), layer.forward);
  EXPECT_TRUE(RecomputedSteps(BuildEmbedding(c.model, shape), c.plan).empty());
  EXPECT_TRUE(RecomputedSteps(BuildHead(c.model, shape), c.plan).empty());
}

// Narayanan et al., SC'21, equation 3 and appendix: with activation
// recomputation a step of batch B takes
//   F = 96 B s l h^2 (1 + s / (6 h) + V / (16 l h)),
// of which the layers are done four times (forward, again, twice that
// backward) and the logits, 6 B s h V, three times: they are not repeated.
TEST(Literature, AStepWithFullRecomputationTakesTheFlopsOfNarayanan) {
  const double b = 16, s = kSequence, l = kLayers, h = kHidden, v = kVocabulary;
  for (const char* split :
       {"", "parallel { tensor: 4 }", "parallel { pipeline: 4 }",
        "parallel { tensor: 2 context: 2 pipeline: 2 } context_method: "
        "CONTEXT_ALL_GATHER",
        "parallel { pipeline: 4 } schedule: ZB_H1"}) {
    SCOPED_TRACE(split);
    const std::string plan = fmt::format("global_batch: 16 {}", split);
    const StepFlops none = FlopsOf(LowerGpt(plan));
    const StepFlops full =
        FlopsOf(LowerGpt(plan + " recompute: RECOMPUTE_FULL"));
    // Context ranks skip the blocks above the diagonal.
    const double whole =
        std::string(split).find("context") == std::string::npos
            ? 96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h))
            : full.executed;
    EXPECT_NEAR(full.executed / whole, 1, kRounding);
    // One of the four times through the layers.
    const double logits = 6 * b * s * h * v;
    EXPECT_NEAR(full.recomputed / ((whole - logits) / 4), 1, kRounding);
    EXPECT_EQ(none.recomputed, 0);
    EXPECT_NEAR((full.executed - none.executed) / full.recomputed, 1,
                kRounding);
  }
}

// Korthikanti et al., 2205.05198, section 5: selective recomputation repeats
// the two products of attention, 4 B s^2 h a layer.
TEST(Literature, SelectiveRecomputationRepeatsTheAttentionCore) {
  const double b = 16, s = kSequence, l = kLayers, h = kHidden;
  const StepFlops flops =
      FlopsOf(LowerGpt("global_batch: 16 recompute: RECOMPUTE_SELECTIVE"));
  EXPECT_NEAR(flops.recomputed / (4 * b * s * s * h * l), 1, kRounding);
}

// Korthikanti et al., table 2 and section 4.3, per layer and micro-batch of b
// sequences, in bytes: all s b h (34 + 5 a s / h), full recomputation 2 s b h.
// Outside of the layers: dropout of the embedding s b h; on the last stage the
// final norm 2 s b h, the input of the logits 2 s b h and the logits in 32 bits
// 4 s b v: these are kept whatever is recomputed in layers.
TEST(Literature, KeptActivationsAreThoseOfKorthikanti) {
  const int64_t b = 2, s = kSequence, h = kHidden, a = 16, v = kVocabulary;
  const int64_t all = s * b * h * 34 + 5 * a * s * s * b;
  const int64_t ends = s * b * h * (1 + 2 + 2) + 4 * s * b * v;
  const auto peak = [&](const std::string& recompute) {
    const TrainingCase c = MakeCase(
        fmt::format("sequence: {} attention_kernel: UNFUSED micro_batch: 2 "
                    "global_batch: 16 recompute: {}",
                    kSequence, recompute),
        1, kGpt);
    const LayerShape shape = ShapeOf(c.plan);
    int64_t sum =
        kLayers * KeptBytes(BuildLayer(c.model, 0, shape), c.plan).value();
    sum += KeptBytes(BuildEmbedding(c.model, shape), c.plan).value();
    sum += KeptBytes(BuildHead(c.model, shape), c.plan).value();
    return sum;
  };
  EXPECT_EQ(peak("RECOMPUTE_NONE"), kLayers * all + ends);
  EXPECT_EQ(peak("RECOMPUTE_FULL"), kLayers * 2 * s * b * h + ends);
  EXPECT_EQ(peak("RECOMPUTE_SELECTIVE"), kLayers * 34 * s * b * h + ends);
}

// Calls of one rank by slot and kind: how many, and their bytes.
struct Traffic {
  int calls = 0;
  int64_t bytes = 0;
};
std::map<std::string, Traffic> TrafficOf(const PlacedProgram& placed) {
  const Role& role = placed.program.role_of(RankId(0));
  std::map<std::string, Traffic> sum;
  for (const RoleSlot& slot : role.slots()) {
    for (const TaskId task : slot.sequence) {
      const Communication& what = role.communication(role.task(task));
      Traffic& traffic =
          sum[fmt::format("{} {}", slot.name, NameOf(what.kind))];
      ++traffic.calls;
      traffic.bytes += what.bytes.value();
    }
  }
  return sum;
}

// Rajbhandari et al., ZeRO, section 7: with 2-byte weights and gradients a rank
// sends and receives 2 Psi for plain data parallelism and for ZeRO-1 and 2, and
// 3 Psi for ZeRO-3: an all-reduce counts twice, a gather or a reduce-scatter
// once.
TEST(Literature, ZeroMovesTwoOrThreeTimesTheParameters) {
  // Narayanan et al., equation 2, and the final norm.
  const double l = kLayers, h = kHidden, v = kVocabulary, s = kSequence;
  const double psi =
      12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h)) + 2 * h;
  const auto moved = [&](const char* sharding) {
    double sum = 0;
    for (const auto& [name, traffic] : TrafficOf(LowerGpt(fmt::format(
             "global_batch: 8 gradient_precision: BF16 "
             "sharding: {} accumulate_locally: {}",
             sharding,
             std::string(sharding) >= "ZERO_2" ? "true" : "false")))) {
      const bool twice = name.find("all_reduce") != std::string::npos;
      const bool data = name.find("data") == 0 || name.find("shard") == 0;
      if (data) sum += (twice ? 2.0 : 1.0) * static_cast<double>(traffic.bytes);
    }
    return sum / 2;  // bytes of a parameter
  };
  EXPECT_NEAR(moved("ZERO_0") / psi, 2, kRounding);
  EXPECT_NEAR(moved("ZERO_1") / psi, 2, kRounding);
  EXPECT_NEAR(moved("ZERO_2") / psi, 2, kRounding);
  EXPECT_NEAR(moved("ZERO_3") / psi, 3, kRounding);
}

// Mixture of experts (Lepikhin et al., GShard; Megatron-Core): dispatch and
// combine, forward and backward, are four all-to-alls per layer and micro-batch
// of T k h e bytes each; recomputing a layer in full adds its two.
TEST(Literature, ExpertsExchangeTokensFourTimesOrSix) {
  constexpr char kMixture[] =
      "name: 'mixture' layers: 6 hidden: 1024 vocabulary: 32000 "
      "attention { heads: 16 kv_heads: 16 head_dimension: 64 kind: MHA } "
      "moe { experts: 16 experts_per_token: 2 expert_width: 2048 "
      "activation: SWIGLU }";
  const int64_t one = int64_t{kSequence} * 2 * 1024 * 2;
  const auto tokens = [&](const char* recompute) {
    Traffic sum;
    for (const auto& [name, traffic] : TrafficOf(LowerGpt(
             fmt::format("global_batch: 16 parallel {{ expert: 8 }} recompute: "
                         "{}",
                         recompute),
             kMixture))) {
      if (name.find("expert all_to_all") != 0) continue;
      sum.calls += traffic.calls;
      sum.bytes += traffic.bytes;
    }
    return sum;
  };
  const Traffic none = tokens("RECOMPUTE_NONE");
  EXPECT_EQ(none.calls, 2 * 6 * 4);
  EXPECT_EQ(none.bytes, 2 * 6 * 4 * one);
  const Traffic full = tokens("RECOMPUTE_FULL");
  EXPECT_EQ(full.calls, 2 * 6 * 6);
  EXPECT_EQ(full.bytes, 2 * 6 * 6 * one);
}

// jax.checkpoint eliminates what no gradient needs from what it computes again
// (JAX, _src/ad_checkpoint.py): of a GPT block's 24 b s h^2 + 4 b s^2 h the
// last product, 8 b s h^2, and its sum over tensor ranks, one all-reduce of s b
// h elements where Megatron-LM does two.
TEST(Literature, ACompilerComputesAgainWhatGradientsNeed) {
  const Framework compiler{.prunes_recomputation = true};
  const double b = 16, s = kSequence, l = kLayers, h = kHidden;
  const std::string full = "global_batch: 16 recompute: RECOMPUTE_FULL ";
  const StepFlops flops = FlopsOf(LowerGpt(full, kGpt, compiler));
  EXPECT_NEAR(flops.recomputed / (l * (16 * b * s * h * h + 4 * b * s * s * h)),
              1, kRounding);
  const auto calls = [&](const Framework& framework) {
    int64_t count = 0;
    for (const auto& [name, traffic] : TrafficOf(LowerGpt(
             full + "parallel { tensor: 8 data: 1 }", kGpt, framework))) {
      if (name.find("tensor all_reduce") == 0) count += traffic.calls;
    }
    return count;
  };
  EXPECT_EQ(calls({}) - calls(compiler), 16 * kLayers);
}

// Where a norm follows the block (Gemma 2, arXiv 2408.00118), its gradient
// needs the product. Experts' outputs are needed where routing weights multiply
// them (GShard), and not where they multiply activations (Megatron-Core).
TEST(Literature, ACompilerComputesAgainWhatNormsAndRoutersNeed) {
  const Framework compiler{.prunes_recomputation = true};
  const auto pruned = [&](const std::string& more, const std::string& plan) {
    const TrainingCase c =
        MakeCase("global_batch: 16 recompute: RECOMPUTE_FULL " + plan, 1,
                 ("name: 'm' layers: 6 hidden: 1024 vocabulary: 32000 "
                  "attention { heads: 16 kv_heads: 16 head_dimension: 64 "
                  "kind: MHA } " +
                  more)
                     .c_str(),
                 compiler);
    const LayerOps layer = BuildLayer(c.model, 0, ShapeOf(c.plan));
    std::vector<LayerStep> rest = layer.forward;
    for (const LayerStep& step : RecomputedSteps(layer, c.plan)) {
      rest.erase(std::find(rest.begin(), rest.end(), step));
    }
    std::vector<std::string> names;
    for (const LayerStep& step : rest) {
      names.emplace_back(step.op() ? Name(step.op()->name)
                                   : Name(step.exchange()->kind));
    }
    return absl::StrJoin(names, " ");
  };
  const std::string mlp = "mlp { width: 4096 activation: SWIGLU } ";
  EXPECT_EQ(pruned(mlp, ""), "mlp_down residual");
  EXPECT_EQ(pruned(mlp + "parallel_block: true", ""),
            "attention_output mlp_down residual");
  EXPECT_EQ(pruned(mlp + "norms_per_layer: 4", ""), "residual");
  const std::string moe =
      "moe { experts: 16 experts_per_token: 2 expert_width: 2048 "
      "activation: SWIGLU } ";
  EXPECT_EQ(
      pruned(moe, "parallel { expert: 8 } routing_weight: WEIGHT_ON_OUTPUT"),
      "unpermute residual");
  EXPECT_EQ(
      pruned(moe,
             "parallel { expert: 8 } routing_weight: WEIGHT_ON_ACTIVATION"),
      "expert_down unpermute all_to_all unpermute residual");
}

}  // namespace
}  // namespace orrery
