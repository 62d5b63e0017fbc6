#include "analytic/step/slow_stages.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace orrery {
namespace {

// What makes a chip's kernels slower than others': slowdown and place.
using Burden = std::pair<double, int>;

double WorkOf(const StageLayout& layout, const PlanUnits& units, int rank) {
  double sum = 0;
  for (int piece = 0; piece < layout.pieces(); ++piece) {
    for (const int unit : units.of_stage(layout.StageOf(rank, piece))) {
      sum += units[unit].time.total();
    }
  }
  return sum;
}

}  // namespace

SlowStages::SlowStages(absl::Span<const SlowRank> slow,
                       const Placement& placement, const StageLayout& layout,
                       PriceList& prices, int fullest, Make make) {
  if (slow.empty()) return;
  std::vector<std::set<Burden>> of_stage(static_cast<size_t>(layout.stages()),
                                         {{1, fullest}});
  for (const SlowRank& each : slow) {
    const int rank = placement.CoordinatesOf(each.rank).pipeline;
    const int place = placement.ExpertPlace(each.rank);
    for (int piece = 0; piece < layout.pieces(); ++piece) {
      of_stage[static_cast<size_t>(layout.StageOf(rank, piece))].emplace(
          each.slowdown, place);
    }
  }
  const double of_all = prices.slowness();
  std::map<Burden, const PlanUnits*> known;
  const auto units_under = [&](const Burden& burden) {
    const auto [found, added] = known.try_emplace(burden);
    if (!added) return found->second;
    prices.SetSlowness(of_all * burden.first);
    std::unique_ptr<PlanUnits> made = make(burden.second);
    // Places that are alike have the same units.
    for (const auto& [other, units] : known) {
      if (units != nullptr && other.first == burden.first &&
          units->shape() == made->shape()) {
        return found->second = units;
      }
    }
    return found->second = made_.emplace_back(std::move(made)).get();
  };
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    std::set<Burden> burdens;
    for (int piece = 0; piece < layout.pieces(); ++piece) {
      burdens.merge(std::set<Burden>(
          of_stage[static_cast<size_t>(layout.StageOf(rank, piece))]));
    }
    slowdowns_.push_back(burdens.rbegin()->first);
    const PlanUnits*& most = units_.emplace_back(nullptr);
    for (const Burden& burden : burdens) {
      const PlanUnits* units = units_under(burden);
      if (most == nullptr ||
          WorkOf(layout, *units, rank) > WorkOf(layout, *most, rank)) {
        most = units;
      }
    }
  }
  prices.SetSlowness(of_all);
}

}  // namespace orrery
