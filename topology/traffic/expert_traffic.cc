#include "topology/traffic/expert_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace orrery {
namespace {

// C(n - m, k) / C(n, k): none of k draws out of n hits one of m.
double NoneOf(double n, double m, int k) {
  double none = 1;
  for (int i = 0; i < k; ++i) none *= std::max(0.0, n - m - i) / (n - i);
  return none;
}

// Islands a token may go to: at least as many as hold k experts.
double MostIslands(const ExpertTraffic& traffic, int islands) {
  const int needed =
      (traffic.experts_per_token * islands + traffic.experts - 1) /
      traffic.experts;
  const int most = std::max(traffic.most_islands.value_or(islands), needed);
  return std::min(most, islands);
}

}  // namespace

bool ExpertTraffic::even() const {
  return std::all_of(share.begin(), share.end(),
                     [&](double part) { return part == share.front(); });
}

double TokensThatNeed(const ExpertTraffic& traffic, double part, int islands) {
  const int k = traffic.experts_per_token;
  if (!traffic.even()) return 1 - std::pow(1 - std::min(1.0, part), k);
  const double most = MostIslands(traffic, islands);
  const double pool = traffic.experts * most / islands;
  const double in_set = part * traffic.experts;
  return most / islands * (1 - NoneOf(pool, in_set, k));
}

TokenAmounts AmountsByIsland(const ExpertTraffic& traffic, int islands) {
  const auto g = static_cast<int>(traffic.share.size()) / islands;
  CHECK(g > 0);
  TokenAmounts amounts;
  for (int i = 0; i < islands; ++i) {
    const auto first = traffic.share.begin() + i * g;
    amounts.island.push_back(TokensThatNeed(
        traffic, std::accumulate(first, first + g, 0.0), islands));
  }
  // Uneven load may draw more islands than routing allows: all alike fewer.
  const double drawn =
      std::accumulate(amounts.island.begin(), amounts.island.end(), 0.0);
  const double kept = std::min(1.0, MostIslands(traffic, islands) / drawn);
  for (double& amount : amounts.island) amount *= kept;
  for (const double share : traffic.share) {
    amounts.rank.push_back(TokensThatNeed(traffic, share, islands));
  }
  return amounts;
}

std::vector<double> AmountsByRank(const ExpertTraffic& traffic, int islands) {
  if (!traffic.by_island) return traffic.share;
  std::vector<double> amounts = AmountsByIsland(traffic, islands).rank;
  for (double& amount : amounts) amount /= traffic.experts_per_token;
  return amounts;
}

}  // namespace orrery
