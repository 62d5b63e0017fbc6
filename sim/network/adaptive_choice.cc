#include "sim/network/adaptive_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "topology/routing/adaptive_split.h"

namespace orrery {
namespace {

// Seconds that each resource is busy with all calls, by traffic inside islands
// and between them.
struct Busy {
  explicit Busy(const NetworkResources& resources)
      : inside(resources.capacities().size()),
        between(resources.capacities().size()) {}
  std::vector<double> inside;
  std::vector<double> between;
};

// Of all calls when they run together: the slowest, then all of them.
struct TogetherTime {
  double slowest = 0;
  double sum = 0;
  // Whether it is faster by more than sums of doubles are off.
  bool BetterThan(const TogetherTime& other) const {
    constexpr double kRounding = 1e-9;
    const auto less = [](double a, double b) {
      return a < b * (1 - kRounding);
    };
    if (less(slowest, other.slowest)) return true;
    return !less(other.slowest, slowest) && less(sum, other.sum);
  }
};

absl::StatusOr<Busy> BusyWith(const AdaptiveShares& shares, VisitPeers peers,
                              const NetworkResources& resources) {
  Busy busy(resources);
  RETURN_IF_ERROR(peers(shares, [&](const PeerCall& call) {
    call.plan.VisitBusy([&](ResourceId id, double inside, double between) {
      busy.inside[Index(id)] += inside;
      busy.between[Index(id)] += between;
    });
  }));
  return busy;
}

absl::StatusOr<TogetherTime> TimeWith(const AdaptiveShares& shares,
                                      VisitPeers peers, const Busy& busy) {
  TogetherTime time;
  RETURN_IF_ERROR(peers(shares, [&](const PeerCall& call) {
    const double wire = call.plan.WireTime();
    double longest = wire;
    call.plan.VisitBusy([&](ResourceId id, double, double) {
      longest =
          std::max(longest, busy.inside[Index(id)] + busy.between[Index(id)]);
    });
    const double one = ToSeconds(call.solo) - wire + longest;
    time.slowest = std::max(time.slowest, one);
    time.sum += one;
  }));
  return time;
}

double Split(const std::vector<double>& minimal,
             const std::vector<double>& detours) {
  std::vector<std::pair<double, double>> busy;
  for (size_t i = 0; i < minimal.size(); ++i) {
    busy.emplace_back(minimal[i], detours[i]);
  }
  return AdaptiveSplit(std::move(busy));
}

}  // namespace

absl::StatusOr<AdaptiveShares> ChooseShares(VisitPeers peers,
                                            const NetworkResources& resources,
                                            bool islands) {
  constexpr AdaptiveShares kMinimal = {1, 1};
  constexpr AdaptiveShares kDetours = {0, 0};
  ASSIGN_OR_RETURN(const Busy minimal, BusyWith(kMinimal, peers, resources));
  ASSIGN_OR_RETURN(const Busy detours, BusyWith(kDetours, peers, resources));
  AdaptiveShares split;
  split.inside = Split(minimal.inside, detours.inside);
  // What is on no island is between chips, and counted as inside.
  split.between =
      islands ? Split(minimal.between, detours.between) : split.inside;
  AdaptiveShares best = kMinimal;
  ASSIGN_OR_RETURN(TogetherTime fastest, TimeWith(kMinimal, peers, minimal));
  const auto consider = [&](const AdaptiveShares& shares,
                            const Busy& busy) -> absl::Status {
    ASSIGN_OR_RETURN(const TogetherTime time, TimeWith(shares, peers, busy));
    if (time.BetterThan(fastest)) {
      best = shares;
      fastest = time;
    }
    return absl::OkStatus();
  };
  if (split != kMinimal && split != kDetours) {
    ASSIGN_OR_RETURN(const Busy mixed, BusyWith(split, peers, resources));
    RETURN_IF_ERROR(consider(split, mixed));
  }
  RETURN_IF_ERROR(consider(kDetours, detours));
  return best;
}

}  // namespace orrery
