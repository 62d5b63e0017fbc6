#include "sim/analysis/link_loads.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/ids.h"

namespace orrery {
namespace {

// A step of a call in progress.
using StepKey = std::pair<GroupId, int32_t>;

// The users of the links at one time.
class Loads {
 public:
  Loads(const Transfers& transfers, absl::Span<const ResourceId> links,
        LoadOf what)
      : transfers_(transfers),
        what_(what),
        places_(transfers.capacities.size(), kNotWanted),
        links_(links.size()) {
    for (size_t i = 0; i < links.size(); ++i) {
      places_[links[i]] = static_cast<int32_t>(i);
      links_[i].capacity = transfers.capacities[links[i]];
    }
  }

  void SetRate(PlanId plan, StepKey key, double rate) {
    const auto& uses = UsesOf(plan, key.second);
    for (const auto& [place, weight] : uses) {
      links_[place].users[key] = rate * weight;
      Touch(place);
    }
    if (!uses.empty()) plans_[key] = plan;
  }

  void End(StepKey key) {
    const auto plan = plans_.find(key);
    if (plan == plans_.end()) return;  // it uses none of the links
    for (const auto& [place, weight] : UsesOf(plan->second, key.second)) {
      links_[place].users.erase(key);
      Touch(place);
    }
    plans_.erase(plan);
  }

  // Whatever changed, changed at `at`.
  void Note(Time at, std::vector<LoadSteps>& steps) {
    // A sum of rates may pass the capacity by the last digits.
    constexpr double kRounding = 1e-9;
    for (const size_t place : touched_) {
      Link& link = links_[place];
      double sum = 0;
      for (const auto& [key, load] : link.users) sum += load;
      const double share = sum / link.capacity;
      CHECK(share <= 1 + kRounding) << "a link carries more than it can";
      link.touched = false;
      if (share == link.share) continue;
      link.share = share;
      steps[place].emplace_back(at, std::min(share, 1.0));
    }
    touched_.clear();
  }

 private:
  static constexpr int32_t kNotWanted = -1;
  struct Link {
    double capacity = 0;
    double share = 0;
    std::map<StepKey, double> users;
    bool touched = false;
  };
  using Uses = std::vector<std::pair<size_t, double>>;  // place, weight

  const Uses& UsesOf(PlanId plan, int32_t step) {
    const auto [uses, added] = uses_.try_emplace({plan, step});
    if (added) {
      for (const ResourceUse& use : transfers_.plans.step(plan, step).uses) {
        if (places_[use.resource] == kNotWanted) continue;
        uses->second.emplace_back(places_[use.resource],
                                  use.weight * Part(plan, use.resource));
      }
    }
    return uses->second;
  }
  // What of a plan's use of a link is counted.
  double Part(PlanId plan, ResourceId link) const {
    if (what_ == LoadOf::kWire) return 1;
    const PlanEfficiency& efficiency = transfers_.efficiencies[plan];
    return transfers_.resource_places[link].scale_up ? efficiency.scale_up
                                                     : efficiency.scale_out;
  }
  void Touch(size_t place) {
    if (std::exchange(links_[place].touched, true)) return;
    touched_.push_back(place);
  }

  const Transfers& transfers_;
  LoadOf what_;
  IdVector<ResourceId, int32_t> places_;
  std::vector<Link> links_;
  absl::flat_hash_map<StepKey, PlanId> plans_;  // of steps in progress
  absl::flat_hash_map<std::pair<PlanId, int32_t>, Uses> uses_;
  std::vector<size_t> touched_;
};

}  // namespace

std::vector<LoadSteps> LinkLoads(const Transfers& transfers,
                                 const TransferLog& log,
                                 absl::Span<const ResourceId> links,
                                 LoadOf what) {
  std::vector<LoadSteps> steps(links.size());
  Loads loads(transfers, links, what);
  auto ended = log.spans.begin();
  auto rate = log.rates.begin();
  while (rate != log.rates.end() || ended != log.spans.end()) {
    Time now = Time::max();
    if (rate != log.rates.end()) now = rate->at;
    if (ended != log.spans.end()) now = std::min(now, ended->ended);
    // Within an instant what ends makes room for what starts.
    for (; ended != log.spans.end() && ended->ended == now; ++ended) {
      loads.End({ended->group, ended->place});
    }
    for (; rate != log.rates.end() && rate->at == now; ++rate) {
      loads.SetRate(rate->plan, {rate->group, rate->place}, rate->rate);
    }
    loads.Note(now, steps);
  }
  return steps;
}

}  // namespace orrery
