#pragma once
// ExpertRouting: how tokens spread over experts, and over the ranks that hold
// them.
//
// Balanced, or with a share of all token copies for each expert. Experts lie on
// ranks in order: the first E / x on the first of x ranks. Loads are over the
// mean, so that they sum to the number of ranks: whatever the routing, as many
// tokens arrive as were sent.
#include <vector>

namespace orrery {

class ExpertRouting {
 public:
  // Balanced.
  ExpertRouting() = default;
  // Any positive unit, one value per expert. Requires: none negative, one
  // positive.
  explicit ExpertRouting(std::vector<double> weights);
  // One expert, the first, gets `imbalance` times the mean and the others share
  // the rest. Requires: 1 <= imbalance <= experts.
  static ExpertRouting OneHot(int experts, double imbalance);

  bool balanced() const { return share_.empty(); }

  // Rows of the experts on the place-th of `ranks`, over the mean: of all of
  // them together, and of the fullest. Requires: the ranks divide the experts.
  double LoadOf(int place, int ranks) const;
  double PeakOf(int place, int ranks) const;
  // The place with the highest load, the first of equal ones.
  int FullestPlace(int ranks) const;

 private:
  std::vector<double> share_;
};

}  // namespace orrery
