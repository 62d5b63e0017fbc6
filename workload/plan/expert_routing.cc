#include "workload/plan/expert_routing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "workload/model/model.h"
#include "workload/plan/training_plan.h"

namespace orrery {

ExpertRouting::ExpertRouting(std::vector<double> weights)
    : share_(std::move(weights)) {
  const double sum = std::accumulate(share_.begin(), share_.end(), 0.0);
  CHECK(sum > 0);
  const bool equal = std::all_of(share_.begin(), share_.end(),
                                 [&](double w) { return w == share_[0]; });
  if (equal) {
    share_.clear();
    return;
  }
  for (double& weight : share_) weight /= sum;
}

ExpertRouting ExpertRouting::OneHot(int experts, double imbalance) {
  CHECK(imbalance >= 1 && imbalance <= experts);
  if (experts == 1) return {};
  std::vector<double> weights(static_cast<size_t>(experts),
                              (experts - imbalance) / (experts - 1.0));
  weights[0] = imbalance;
  return ExpertRouting(std::move(weights));
}

double ExpertRouting::LoadOf(int place, int ranks) const {
  if (balanced()) return 1;
  const auto count = static_cast<int>(share_.size()) / ranks;
  const auto first = share_.begin() + place * count;
  return std::accumulate(first, first + count, 0.0) * ranks;
}

double ExpertRouting::PeakOf(int place, int ranks) const {
  if (balanced()) return 1;
  const auto experts = static_cast<int>(share_.size());
  const auto first = share_.begin() + place * (experts / ranks);
  return *std::max_element(first, first + experts / ranks) * experts;
}

int ExpertRouting::FullestPlace(int ranks) const {
  int fullest = 0;
  for (int place = 1; place < ranks; ++place) {
    if (LoadOf(place, ranks) > LoadOf(fullest, ranks)) fullest = place;
  }
  return fullest;
}

std::optional<ExpertTraffic> TrafficOf(const Model& model,
                                       const TrainingPlan& plan) {
  const int ranks = plan.degrees().expert;
  if (!model.moe() || ranks == 1) return std::nullopt;
  const bool by_island = plan.dispatch_method() == DispatchMethod::kByIsland;
  if (plan.routing().balanced() && !by_island) return std::nullopt;
  ExpertTraffic traffic{.experts = model.moe()->experts,
                        .experts_per_token = model.moe()->experts_per_token,
                        .share = {},
                        .by_island = by_island,
                        .most_islands = model.moe()->max_nodes_per_token};
  for (int place = 0; place < ranks; ++place) {
    traffic.share.push_back(plan.routing().LoadOf(place, ranks) / ranks);
  }
  return traffic;
}

}  // namespace orrery
