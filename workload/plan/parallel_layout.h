#pragma once
// ParallelLayout: how the work of a plan is split over ranks, and where ranks
// and layers lie.
//
// What placement, classes of ranks, symmetry, stages and the shapes of layers
// need to know of a plan, whether it trains or serves:
//
//   const Placement placement(plan.layout());
//   const std::vector<Stage> stages = CutStages(model, plan.layout());
//
// Made by the readers of plans, which have checked that degrees fill the
// machine and divide the model.
#include <optional>
#include <vector>

#include "topology/traffic/expert_traffic.h"
#include "workload/model/model.h"
#include "workload/plan/degrees.h"
#include "workload/plan/expert_routing.h"
#include "workload/plan/stage_layout.h"

namespace orrery {

// Every copy of a token by itself, or once to each island that needs it.
enum class DispatchMethod { kDirect, kByIsland };

struct ParallelLayout {
  Degrees degrees;
  // The chip of each rank; empty: rank r on chip r.
  std::vector<int> rank_map = {};
  // Which pipeline rank holds which stages, and the layers of each stage, in
  // model order.
  StageLayout stages;
  std::vector<int> layers_per_stage = {};
  // Of the ranks with the same weights, so many in turn share one copy of their
  // state; 1: each has its own.
  int sharding_group = 1;
  ExpertRouting routing = {};
  DispatchMethod dispatch_method = DispatchMethod::kDirect;

  // Tokens reach experts by an even all-to-all.
  bool even_dispatch() const {
    return routing.balanced() && dispatch_method == DispatchMethod::kDirect;
  }
};

// What an expert group of the layout sends to whom; nothing if that is an even,
// direct all-to-all, or experts are not spread.
std::optional<ExpertTraffic> TrafficOf(const Model& model,
                                       const ParallelLayout& layout);

}  // namespace orrery
