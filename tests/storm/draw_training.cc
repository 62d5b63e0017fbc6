#include "tests/storm/draw_training.h"

#include <google/protobuf/text_format.h>

#include <algorithm>

#include "base/check.h"
#include "base/format.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/scenario.h"
#include "sim/network/network.h"
#include "tests/storm/draw.h"
#include "tests/storm/draw_machine.h"
#include "tests/storm/draw_model.h"

namespace orrery {
namespace {

constexpr int kMostChips = 48;

class PlanDraw {
 public:
  PlanDraw(const pb::Scenario& scenario, const pb::Model& model, int chips,
           Rng& rng)
      : scenario_(scenario), model_(model), chips_(chips), rng_(rng) {}

  // With the number of layers, which is part of the draw.
  pb::Scenario Draw() {
    pb::Scenario out = scenario_;
    training_ = out.mutable_training();
    Degrees();
    Pipeline(*out.mutable_model());
    Batch();
    State();
    Passes();
    // Once told how links are shared. It decides nothing now, and is drawn so
    // that everything after it is what it was under the same seed.
    static_cast<void>(Chance(rng_, 0.1));
    return out;
  }

 private:
  void Degrees() {
    pb::Parallel& parallel = *training_->mutable_parallel();
    int left = chips_;
    const auto take = [&](double chance) {
      if (!Chance(rng_, chance)) return 1;
      const int degree = DrawDivisor(rng_, left);
      left /= degree;
      return degree;
    };
    parallel.set_pipeline(take(0.5));
    parallel.set_tensor(take(0.5));
    parallel.set_context(take(0.25));
    parallel.set_data(left);
    parallel.set_sequence_parallel(parallel.tensor() > 1 && Chance(rng_, 0.6));
    if (model_.has_moe()) {
      const bool own = parallel.sequence_parallel() && Chance(rng_, 0.5);
      parallel.set_expert_tensor(own ? DrawDivisor(rng_, parallel.tensor())
                                     : parallel.tensor());
      const int ranks = chips_ / parallel.pipeline() / parallel.expert_tensor();
      parallel.set_expert(DrawDivisor(rng_, std::max(1, ranks)));
    }
    if (Chance(rng_, 0.1)) {
      std::vector<pb::Parallel::Dimension> order = {
          pb::Parallel::TENSOR, pb::Parallel::CONTEXT, pb::Parallel::EXPERT,
          pb::Parallel::DATA, pb::Parallel::PIPELINE};
      rng_.Shuffle(order);
      for (const auto dimension : order) parallel.add_order(dimension);
    }
    if (Chance(rng_, 0.04)) {
      std::vector<int> map;
      for (int i = 0; i < chips_; ++i) map.push_back(i);
      rng_.Shuffle(map);
      for (const int chip : map) parallel.add_rank_map(chip);
    }
  }

  void Pipeline(pb::Model& model) {
    const int p = training_->parallel().pipeline();
    const auto schedule =
        OneOf(rng_, {pb::Training::GPIPE, pb::Training::ONE_F_ONE_B,
                     pb::Training::ONE_F_ONE_B, pb::Training::INTERLEAVED_1F1B,
                     pb::Training::ZB_H1, pb::Training::ZB_V,
                     pb::Training::DUAL_PIPE});
    training_->set_schedule(p > 1 ? schedule : pb::Training::ONE_F_ONE_B);
    int pieces = 1;
    if (training_->schedule() == pb::Training::ZB_V) pieces = 2;
    if (training_->schedule() == pb::Training::INTERLEAVED_1F1B) {
      pieces = OneOf(rng_, {2, 2, 3});
    }
    training_->set_virtual_stages(pieces);
    const int stages = p * pieces;
    // Even stages, or as they fall.
    if (Chance(rng_, 0.7)) {
      model.set_layers(stages * OneOf(rng_, {1, 1, 2, 3}));
      return;
    }
    int layers = 0;
    for (int i = 0; i < stages; ++i) {
      const bool end = i == 0 || i + 1 == stages;
      const int here = static_cast<int>(rng_.Between(end ? 0 : 1, 3));
      training_->add_layers_per_stage(here);
      layers += here;
    }
    model.set_layers(layers);
  }

  void Batch() {
    const int p = training_->parallel().pipeline();
    int count = static_cast<int>(rng_.Between(1, 8));
    if (training_->schedule() == pb::Training::INTERLEAVED_1F1B) {
      count = p * OneOf(rng_, {1, 2});
    }
    if (training_->schedule() == pb::Training::DUAL_PIPE) {
      count = 2 * p + 2 * static_cast<int>(rng_.Below(2));
    }
    training_->set_micro_batch(OneOf(rng_, {1, 1, 2, 3}));
    training_->set_global_batch(count * training_->micro_batch() *
                                training_->parallel().data());
    training_->set_sequence(OneOf(rng_, {256, 512, 768, 1024, 2048, 4096}));
  }

  void State() {
    training_->set_sharding(
        OneOf(rng_, {pb::Training::ZERO_0, pb::Training::ZERO_1,
                     pb::Training::ZERO_2, pb::Training::ZERO_3}));
    const int copies =
        training_->parallel().data() * training_->parallel().context();
    if (training_->sharding() != pb::Training::ZERO_0 && Chance(rng_, 0.2)) {
      training_->set_sharding_group(DrawDivisor(rng_, copies));
    }
    if (training_->sharding() >= pb::Training::ZERO_2 && Chance(rng_, 0.4)) {
      training_->set_accumulate_locally(true);
    }
    if (training_->sharding() == pb::Training::ZERO_3 && Chance(rng_, 0.4)) {
      training_->set_reshard_after_forward(false);
    }
    training_->set_bucket(OneOf(
        rng_, std::vector<std::string>{"1 MB", "25 MB", "40 MB", "1 GB"}));
    training_->set_precision(OneOf(
        rng_, {pb::BF16, pb::BF16, pb::BF16, pb::FP16, pb::FP8, pb::FP32}));
    training_->set_gradient_precision(OneOf(rng_, {pb::FP32, pb::BF16}));
    if (Chance(rng_, 0.2)) training_->set_moment_precision(pb::BF16);
  }

  void Passes() {
    training_->set_recompute(OneOf(
        rng_, {pb::Training::RECOMPUTE_NONE, pb::Training::RECOMPUTE_NONE,
               pb::Training::RECOMPUTE_SELECTIVE, pb::Training::RECOMPUTE_FULL,
               pb::Training::RECOMPUTE_PER_MODULE}));
    if (training_->recompute() == pb::Training::RECOMPUTE_PER_MODULE) {
      training_->add_recompute_module(
          OneOf(rng_, {pb::Training::ATTENTION_CORE, pb::Training::NORM,
                       pb::Training::MLP_ACTIVATION, pb::Training::MLP,
                       pb::Training::MOE, pb::Training::MLA_UP_PROJECTION}));
      // Some of the draws of norms go op by op instead, by what is drawn
      // already, so that the cases after this one stay what they were.
      if (training_->recompute_module(0) == pb::Training::NORM &&
          training_->gradient_precision() == pb::FP32) {
        training_->clear_recompute_module();
        training_->set_recompute(pb::Training::RECOMPUTE_PER_OP);
      }
    }
    if (Chance(rng_, 0.2))
      training_->set_attention_kernel(pb::Training::UNFUSED);
    const auto flag = [&](double chance, bool usual) {
      return Chance(rng_, chance) ? !usual : usual;
    };
    training_->set_overlap_gradient_reduction(flag(0.3, true));
    training_->set_overlap_parameter_gather(flag(0.3, true));
    training_->set_overlap_weight_gradient(flag(0.2, true));
    training_->set_fuse_gradient_accumulation(flag(0.2, true));
    if (training_->parallel().pipeline() > 1) {
      training_->set_overlap_pipeline(flag(0.2, true));
    }
    if (training_->parallel().tensor() > 1) {
      training_->set_overlap_tensor(flag(0.15, false));
    }
    if (training_->parallel().context() > 1) {
      training_->set_context_method(OneOf(
          rng_, {pb::Training::CONTEXT_RING, pb::Training::CONTEXT_ALL_GATHER,
                 pb::Training::CONTEXT_ULYSSES}));
    }
    if (training_->parallel().expert() > 1) {
      training_->set_dispatch_method(OneOf(
          rng_,
          {pb::Training::DISPATCH_DIRECT, pb::Training::DISPATCH_BY_NODE}));
      if (Chance(rng_, 0.3)) training_->set_expert_imbalance(1.5);
    }
  }

  const pb::Scenario& scenario_;
  const pb::Model& model_;
  int chips_;
  Rng& rng_;
  pb::Training* training_ = nullptr;
};

// Of experts that are not balanced: one that gets more, or each its own.
void DrawLoads(const pb::Model& model, Rng& rng, pb::Training& training) {
  if (training.parallel().expert() <= 1 || !Chance(rng, 0.6)) return;
  training.clear_expert_imbalance();
  if (Chance(rng, 0.5)) {
    training.set_expert_imbalance(OneOf(rng, {1.2, 2.0, 3.5}));
    return;
  }
  for (int i = 0; i < model.moe().experts(); ++i) {
    training.add_expert_load(static_cast<double>(rng.Between(1, 4)));
  }
}

// A host that takes time to start kernels.
pb::Framework DrawHost(Rng& rng) {
  pb::Framework host;
  host.set_dispatch(
      OneOf(rng, std::vector<std::string>{"3 us", "12 us", "40 us", "90 us"}));
  if (Chance(rng, 0.5)) host.set_host_waits_for_receive(true);
  if (Chance(rng, 0.2)) host.set_blocking_launches(true);
  if (Chance(rng, 0.3)) host.set_collective_check("70 us");
  return host;
}

}  // namespace

pb::Scenario DrawTraining(uint64_t seed, int64_t number) {
  const Catalog catalog;
  // Parts that do not fit together are drawn again, all of them.
  constexpr int kTries = 10000;
  constexpr int kPlansPerMachine = 20;
  Rng rng(seed, fmt::format("training storm {}", number));
  // A stream of its own: the cases without it stay what they were.
  Rng gathers(seed, fmt::format("backward gathers {}", number));
  const bool gathers_after = Chance(gathers, 0.3);
  Rng framework(seed, fmt::format("framework {}", number));
  const bool has_framework = Chance(framework, 0.5);
  pb::Framework host;
  if (Chance(framework, 0.3)) host = DrawHost(framework);
  Rng experts(seed, fmt::format("uneven experts {}", number));
  for (int attempt = 0; attempt < kTries; ++attempt) {
    pb::Scenario scenario;
    scenario.set_name(fmt::format("storm_{}_{}", seed, number));
    *scenario.mutable_system() =
        DrawSystem(catalog, seed, number, kMostChips, rng);
    *scenario.mutable_model() = DrawModel(catalog, seed, number, rng);
    *scenario.mutable_framework() = host;
    if (has_framework) {
      scenario.mutable_framework()->set_preset(
          DrawName(seed, fmt::format("framework {}", attempt), number,
                   catalog.Names("frameworks")));
    }
    pb::Model model = scenario.model();
    if (model.has_preset()) model = *catalog.Model(model.preset());
    const auto system = catalog.System(scenario.system().preset());
    const int node = scenario.system().has_chips_per_node()
                         ? scenario.system().chips_per_node()
                         : system->chips_per_node();
    for (int i = 0; i < kPlansPerMachine; ++i) {
      pb::Scenario drawn =
          PlanDraw(scenario, model, node * scenario.system().nodes(), rng)
              .Draw();
      if (gathers_after &&
          drawn.training().sharding() == pb::Training::ZERO_3 &&
          !drawn.training().has_reshard_after_forward()) {
        drawn.mutable_training()->set_overlap_backward_gather(false);
      }
      DrawLoads(model, experts, *drawn.mutable_training());
      const auto resolved =
          ResolveScenarioText(catalog, drawn.DebugString(), "storm", {});
      if (!resolved.ok()) continue;
      const auto made = MakeScenario(*resolved);
      if (!made.ok()) continue;
      // Whether switches have room for all is found out when they are wired.
      if (!Network::Make(made->system).ok()) break;
      return *resolved;
    }
  }
  CHECK(false) << "no legal case was drawn for " << seed << ", " << number;
  return {};
}

}  // namespace orrery
