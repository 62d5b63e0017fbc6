#include "workload/plan/expert_routing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

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

}  // namespace orrery
