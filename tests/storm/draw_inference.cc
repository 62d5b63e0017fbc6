#include "tests/storm/draw_inference.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/format.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/phase_ground.h"
#include "run/scenario.h"
#include "tests/storm/draw.h"
#include "tests/storm/draw_machine.h"
#include "tests/storm/draw_model.h"

namespace orrery {
namespace {

constexpr int kMostServingChips = 32;

class RequestDraw {
 public:
  RequestDraw(const pb::Scenario& scenario, const pb::Model& model, int node,
              Rng& rng)
      : scenario_(scenario), model_(model), node_(node), rng_(rng) {}

  // Prompts may be processed on another machine.
  void MayUse(const pb::System& prefill, int node) {
    prefill_system_ = prefill;
    prefill_node_ = node;
  }

  pb::Scenario Draw(const std::string& engine) {
    pb::Scenario out = scenario_;
    inference_ = out.mutable_inference();
    inference_->mutable_engine()->set_preset(engine);
    Places(*out.mutable_model());
    Sizes();
    Formats();
    Steps();
    Experts();
    Guesses();
    return out;
  }

 private:
  // Degrees of `chips`, with a pipeline that divides the layers.
  void Degrees(int chips, pb::Parallel& parallel) {
    int left = chips;
    const auto take = [&](double chance) {
      if (!Chance(rng_, chance)) return 1;
      const int degree = DrawDivisor(rng_, left);
      left /= degree;
      return degree;
    };
    parallel.set_tensor(take(0.7));
    parallel.set_pipeline(take(0.25));
    parallel.set_context(take(0.2));
    parallel.set_data(left);
    if (!model_.has_moe()) return;
    parallel.set_expert_tensor(parallel.tensor());
    const int ranks = chips / parallel.pipeline() / parallel.expert_tensor();
    parallel.set_expert(DrawDivisor(rng_, std::max(1, ranks)));
  }

  void Places(pb::Model& model) {
    const int nodes = scenario_.system().nodes();
    const int chips = node_ * nodes;
    int pipeline = 1;
    if (prefill_node_ > 0 && Chance(rng_, 0.6)) {
      auto& pools = *inference_->mutable_disaggregated();
      *pools.mutable_prefill_system() = prefill_system_;
      const int prefill = prefill_node_ * prefill_system_.nodes();
      Degrees(prefill, *pools.mutable_prefill_parallel());
      Degrees(chips, *pools.mutable_decode_parallel());
      pools.set_prefill_batch(pools.prefill_parallel().data() *
                              OneOf(rng_, {1, 1, 3}));
      pipeline = pools.prefill_parallel().pipeline() *
                 pools.decode_parallel().pipeline();
      replicas_ = pools.decode_parallel().data();
    } else if (nodes > 1 && Chance(rng_, 0.35)) {
      auto& pools = *inference_->mutable_disaggregated();
      const int prefill = node_ * static_cast<int>(rng_.Between(1, nodes - 1));
      pools.set_prefill_chips(prefill);
      pools.set_decode_chips(chips - prefill);
      Degrees(prefill, *pools.mutable_prefill_parallel());
      Degrees(chips - prefill, *pools.mutable_decode_parallel());
      pools.set_prefill_batch(pools.prefill_parallel().data() *
                              OneOf(rng_, {1, 1, 2, 4}));
      pipeline = pools.prefill_parallel().pipeline() *
                 pools.decode_parallel().pipeline();
      replicas_ = pools.decode_parallel().data();
    } else {
      Degrees(chips, *inference_->mutable_parallel());
      pipeline = inference_->parallel().pipeline();
      replicas_ = inference_->parallel().data();
    }
    model.set_layers(pipeline * OneOf(rng_, {1, 2, 3}));
  }

  void Sizes() {
    inference_->set_batch(replicas_ *
                          OneOf(rng_, {1, 1, 2, 4, 8, 12, 16, 32, 64, 200}));
    inference_->set_prompt(
        OneOf(rng_, {1, 16, 33, 128, 300, 512, 1000, 1024, 2048, 4096}));
    inference_->set_output(OneOf(rng_, {1, 2, 3, 17, 64, 130}));
  }

  void Formats() {
    inference_->set_precision(
        OneOf(rng_, {pb::BF16, pb::BF16, pb::FP16, pb::FP8, pb::FP8, pb::FP4}));
    inference_->set_kv_precision(
        OneOf(rng_, {pb::BF16, pb::BF16, pb::FP8, pb::INT8, pb::FP4}));
    if (Chance(rng_, 0.3)) {
      inference_->set_weight_precision(
          OneOf(rng_, {pb::INT8, pb::INT4, pb::FP8, pb::FP4}));
    }
  }

  void Steps() {
    if (Chance(rng_, 0.3)) {
      inference_->set_prefill_chunk(OneOf(rng_, {16, 100, 128, 512}));
      if (Chance(rng_, 0.4)) {
        inference_->set_decode_beside(replicas_ * OneOf(rng_, {1, 8, 30}));
      }
    }
    if (Chance(rng_, 0.3)) inference_->set_micro_batches(OneOf(rng_, {2, 4}));
    if (Chance(rng_, 0.2)) inference_->set_overlap_halves(true);
    if (Chance(rng_, 0.3)) inference_->set_graph_launch(Chance(rng_, 0.5));
    if (Chance(rng_, 0.3)) {
      inference_->set_kv_block(OneOf(rng_, {1, 16, 64}));
    }
    pb::Engine& engine = *inference_->mutable_engine();
    if (Chance(rng_, 0.2)) {
      engine.set_max_step_tokens(OneOf(rng_, {64, 512, 2048}));
    }
    if (Chance(rng_, 0.2)) engine.set_overlap_steps(Chance(rng_, 0.5));
    const bool pools = inference_->has_disaggregated();
    const auto& both = inference_->parallel();
    const auto& first = inference_->disaggregated().prefill_parallel();
    const auto& second = inference_->disaggregated().decode_parallel();
    const bool context = pools ? first.context() > 1 || second.context() > 1
                               : both.context() > 1;
    if (context && Chance(rng_, 0.6)) {
      inference_->set_context_method(OneOf(
          rng_, {pb::Training::CONTEXT_RING, pb::Training::CONTEXT_ALL_GATHER,
                 pb::Training::CONTEXT_ULYSSES}));
    }
  }

  void Experts() {
    if (!model_.has_moe()) return;
    if (Chance(rng_, 0.3)) inference_->set_dispatch_precision(pb::FP8);
    if (Chance(rng_, 0.2)) {
      inference_->set_expert_imbalance(OneOf(rng_, {1.2, 2.0}));
    } else if (Chance(rng_, 0.2)) {
      inference_->set_redundant_experts(OneOf(rng_, {2, 4, 8}));
    }
  }

  void Guesses() {
    // Few models have modules of their own for it.
    if (!Chance(rng_, model_.mtp_modules() > 0 ? 0.8 : 0.25)) return;
    pb::Inference::Speculation& guess = *inference_->mutable_speculation();
    guess.set_drafts(OneOf(rng_, {1, 2, 4}));
    guess.set_acceptance(OneOf(rng_, {0.0, 0.5, 0.85, 1.0}));
    if (model_.mtp_modules() > 0) {
      guess.set_prediction_module(true);
    } else {
      guess.set_draft_cost(OneOf(rng_, {0.0, 0.05, 0.3}));
    }
  }

  const pb::Scenario& scenario_;
  const pb::Model& model_;
  int node_;
  pb::System prefill_system_;
  int prefill_node_ = 0;
  int replicas_ = 1;
  Rng& rng_;
  pb::Inference* inference_ = nullptr;
};

}  // namespace

pb::Scenario DrawInference(uint64_t seed, int64_t number) {
  const Catalog catalog;
  // Parts that do not fit together are drawn again, all of them.
  constexpr int kTries = 10000;
  constexpr int kPlansPerMachine = 20;
  const std::vector<std::string> engines = catalog.Names("engines");
  Rng rng(seed, fmt::format("inference storm {}", number));
  for (int attempt = 0; attempt < kTries; ++attempt) {
    pb::Scenario scenario;
    scenario.set_name(fmt::format("storm_{}_{}", seed, number));
    // What the network does to a step the storm of training is for.
    *scenario.mutable_system() =
        Chance(rng, 0.2)
            ? DrawSystem(catalog, seed, number, kMostServingChips, rng)
            : DrawPlainSystem(catalog, seed, number, kMostServingChips, rng);
    *scenario.mutable_model() = DrawModel(catalog, seed, number, rng);
    pb::Model model = scenario.model();
    if (model.has_preset()) model = *catalog.Model(model.preset());
    const auto node_of = [&](const pb::System& system) {
      return system.has_chips_per_node()
                 ? system.chips_per_node()
                 : catalog.System(system.preset())->chips_per_node();
    };
    RequestDraw draw(scenario, model, node_of(scenario.system()), rng);
    if (Chance(rng, 0.2)) {
      const pb::System other = DrawPlainSystem(
          catalog, seed, rng.Between(0, 1000), kMostServingChips, rng);
      draw.MayUse(other, node_of(other));
    }
    for (int i = 0; i < kPlansPerMachine; ++i) {
      const pb::Scenario drawn = draw.Draw(DrawName(
          seed, fmt::format("engine {} {}", attempt, i), number, engines));
      const auto resolved =
          ResolveScenarioText(catalog, drawn.DebugString(), "storm", {});
      if (!resolved.ok()) continue;
      const auto made = MakeScenario(*resolved);
      if (!made.ok()) continue;
      // Whether switches have room for all is found out when they are wired.
      if (!PhaseGrounds::Make(*made).ok()) break;
      if (!Network::Make(made->system).ok()) break;
      return *resolved;
    }
  }
  CHECK(false) << "no legal case was drawn for " << seed << ", " << number;
  return {};
}

}  // namespace orrery
