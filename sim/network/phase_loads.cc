#include "sim/network/phase_loads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "sim/sharing/keyed_sum.h"

namespace orrery {
namespace {

// Calls visit(message, share of the call's bytes) for all messages of a phase
// that carry any, all repetitions of one together: they are one flow.
template <class Visit>
void ForEachMessage(const Schedule& schedule, const Phase& phase, Visit visit) {
  for (const Round& round : schedule.rounds_of(phase)) {
    for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
      const auto message = static_cast<size_t>(i);
      const double share =
          schedule.TotalShareOf(schedule.messages[message], round);
      if (share > 0) visit(message, share);
    }
  }
}

// Puts a list of sorted runs, which end at `ends`, in order.
void MergeRuns(std::vector<ResourceId>& list, std::vector<size_t>& ends) {
  std::vector<ResourceId> merged(list.size());
  const auto at = [](std::vector<ResourceId>& of, size_t place) {
    return of.begin() + static_cast<std::ptrdiff_t>(place);
  };
  while (ends.size() > 1) {
    size_t begin = 0;
    size_t kept = 0;
    for (size_t i = 0; i < ends.size(); i += 2) {
      const size_t middle = ends[i];
      const size_t end = ends[std::min(i + 1, ends.size() - 1)];
      std::merge(at(list, begin), at(list, middle), at(list, middle),
                 at(list, end), at(merged, begin));
      ends[kept++] = end;
      begin = end;
    }
    ends.resize(kept);
    list.swap(merged);
  }
}

// The only message of a phase, if it has one and nothing else.
std::optional<size_t> OnlyMessage(const Schedule& schedule,
                                  const Phase& phase) {
  if (phase.rounds_end - phase.rounds_begin != 1) return std::nullopt;
  const Round& round = schedule.rounds[static_cast<size_t>(phase.rounds_begin)];
  if (round.exchange || round.messages_end - round.messages_begin != 1) {
    return std::nullopt;
  }
  return static_cast<size_t>(round.messages_begin);
}

// What one message puts on resources that sends so much.
std::vector<ResourceLoad> LoadsOf(const MessageRoutes& routes, size_t message,
                                  double share) {
  const MessageRoutes::Route& route = routes.of(message);
  std::vector<ResourceLoad> loads;
  const auto add = [&](const ResourceUse& use) {
    if (loads.empty() || loads.back().resource != use.resource) {
      loads.push_back({use.resource, {}});
    }
    TierShares& shares = loads.back().shares;
    shares.of(route.tier) += share * use.weight;
    shares.flows += use.weight;
  };
  const absl::Span<const ResourceUse> own_uses = routes.own_uses(route);
  std::vector<ResourceUse> own(own_uses.begin(), own_uses.end());
  const auto by_resource = [](const ResourceUse& a, const ResourceUse& b) {
    return a.resource < b.resource;
  };
  std::stable_sort(own.begin(), own.end(), by_resource);
  auto next = own.begin();
  if (route.middle >= 0) {
    const std::vector<ResourceUse>& middle =
        *routes.middles()[static_cast<size_t>(route.middle)];
    loads.reserve(own.size() + middle.size());
    for (const ResourceUse& use : middle) {
      while (next != own.end() && next->resource <= use.resource) add(*next++);
      add(use);
    }
  }
  while (next != own.end()) add(*next++);
  return loads;
}

}  // namespace

PhaseLoads::PhaseLoads(const Schedule& schedule, const MessageRoutes& routes,
                       absl::Span<const ExchangeRoutes> exchanges,
                       absl::Span<TierShares> sums) {
  std::vector<ResourceId> touched;
  const auto add = [&](ResourceId id, Tier tier, double share, double flows) {
    TierShares& shares = sums[Index(id)];
    if (shares.empty()) touched.push_back(id);
    shares.of(tier) += share;
    shares.flows += flows;
  };
  // A middle has the tier of the routes that use it.
  const absl::Span<const SharedUses> middles = routes.middles();
  struct Passing {
    double share = 0;
    double flows = 0;
    Tier tier = Tier::kScaleUp;
  };
  std::vector<Passing> through(middles.size());
  std::vector<int32_t> used;
  std::vector<size_t> runs;  // of `touched`: where each ends
  for (const Phase& phase : schedule.phases) {
    if (const auto message = OnlyMessage(schedule, phase)) {
      const Round& round =
          schedule.rounds[static_cast<size_t>(phase.rounds_begin)];
      const double share =
          schedule.TotalShareOf(schedule.messages[*message], round);
      std::vector<ResourceLoad>& loads = loads_.emplace_back();
      if (share > 0) loads = LoadsOf(routes, *message, share);
      continue;
    }
    touched.clear();
    used.clear();
    ForEachMessage(schedule, phase, [&](size_t message, double share) {
      const MessageRoutes::Route& route = routes.of(message);
      for (const ResourceUse& use : routes.own_uses(route)) {
        add(use.resource, route.tier, share * use.weight, use.weight);
      }
      if (route.middle < 0) return;
      const auto middle = static_cast<size_t>(route.middle);
      if (through[middle].share == 0) used.push_back(route.middle);
      through[middle].tier = route.tier;
      through[middle].share += share;
      through[middle].flows += 1;
    });
    std::sort(used.begin(), used.end());
    // Middles are in the order of resources, own uses are not.
    std::sort(touched.begin(), touched.end());
    runs.assign(1, touched.size());
    for (int32_t place : used) {
      const auto middle = static_cast<size_t>(place);
      for (const ResourceUse& use : *middles[middle]) {
        add(use.resource, through[middle].tier,
            through[middle].share * use.weight,
            through[middle].flows * use.weight);
      }
      through[middle] = {};
      runs.push_back(touched.size());
    }
    for (int32_t i = phase.rounds_begin; i < phase.rounds_end; ++i) {
      const auto round = static_cast<size_t>(i);
      if (!schedule.rounds[round].exchange) continue;
      const double share = schedule.rounds[round].exchange->share;
      // Every pair is a flow, and sends one unit. In order, like middles.
      runs.push_back(touched.size());
      for (const ResourceLoad& load : exchanges[round].loads) {
        const TierShares& pairs = load.shares;
        add(load.resource, Tier::kScaleUp, share * pairs.scale_up,
            pairs.scale_up);
        add(load.resource, Tier::kScaleOut, share * pairs.scale_out,
            pairs.scale_out);
      }
    }
    runs.push_back(touched.size());
    MergeRuns(touched, runs);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    std::vector<ResourceLoad>& loads = loads_.emplace_back();
    loads.reserve(touched.size());
    for (ResourceId id : touched) {
      TierShares& shares = sums[Index(id)];
      loads.push_back({id, shares});
      shares = {};
    }
  }
}

void PhaseLoads::Add(absl::Span<const PhaseLoads* const> others) {
  std::vector<const std::vector<ResourceLoad>*> phase_loads(others.size());
  for (const PhaseLoads* other : others) {
    CHECK_EQ(loads_.size(), other->loads_.size());
  }
  for (size_t phase = 0; phase < loads_.size(); ++phase) {
    for (size_t i = 0; i < others.size(); ++i) {
      phase_loads[i] = &others[i]->loads_[phase];
    }
    loads_[phase] =
        SumAll(std::move(loads_[phase]), absl::MakeConstSpan(phase_loads));
  }
}

}  // namespace orrery
