#include "workload/plan/parallel_layout.h"

namespace orrery {

std::optional<ExpertTraffic> TrafficOf(const Model& model,
                                       const ParallelLayout& layout) {
  const int ranks = layout.degrees.expert;
  if (!model.moe() || ranks == 1) return std::nullopt;
  const bool by_island = layout.dispatch_method == DispatchMethod::kByIsland;
  if (layout.even_dispatch()) return std::nullopt;
  ExpertTraffic traffic{.experts = model.moe()->experts,
                        .experts_per_token = model.moe()->experts_per_token,
                        .share = {},
                        .by_island = by_island,
                        .most_islands = model.moe()->max_nodes_per_token};
  for (int place = 0; place < ranks; ++place) {
    traffic.share.push_back(layout.routing.LoadOf(place, ranks) / ranks);
  }
  return traffic;
}

}  // namespace orrery
