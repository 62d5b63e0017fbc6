#include "analytic/collective/expert_forms.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analytic/collective/collective_forms.h"
#include "analytic/collective/form_builder.h"

namespace orrery {
namespace {

// What stays on an island.
struct IslandShare {
  double share = 0;
  int members = 0;
};

// One message to the farthest member of another island, or of its own.
MessageTerm Across(const GroupNetwork& group) {
  return {Tier::kScaleOut,
          group.ports().NetworkLatency(group.most_network_hops()), 1};
}
MessageTerm Inside(const GroupNetwork& group) {
  const int hops = group.ports().wiring == IslandWiring::kPorts ? 2 : 1;
  return {Tier::kScaleUp, hops * group.ports().island_link, 1};
}

// Rank s sends amount_d to rank d. Out of a chip: what does not stay on the
// island, or stays on it elsewhere; into a chip: its share of all the others.
CollectiveForm DirectExpertForm(const GroupNetwork& group,
                                const ExpertTraffic& traffic, bool combine) {
  const int n = group.ranks();
  const MachinePorts& ports = group.ports();
  const std::vector<double> amounts =
      AmountsByRank(traffic, group.per_island() == 1 ? n : 1);
  double all = 0;
  for (const double amount : amounts) all += amount;
  FormBuilder form(
      group, CollectiveAlgorithm::kDirect,
      traffic.by_island ? ProtocolUse::kExperts : ProtocolUse::kPointToPoint);
  form.BeginWave();
  form.BeginRound();
  if (traffic.even()) {
    form.SendToAll(amounts[0]);
    return std::move(form).Build();
  }
  if (ports.wiring == IslandWiring::kGrid || group.routes() != nullptr) {
    for (int s = 0; s < n; ++s) {
      for (int d = 0; d < n; ++d) {
        if (s == d) continue;
        const double amount = amounts[static_cast<size_t>(combine ? s : d)];
        if (amount > 0) form.Send(s, d, amount);
      }
    }
    return std::move(form).Build();
  }
  absl::flat_hash_map<int, IslandShare> islands;
  for (int d = 0; d < n; ++d) {
    IslandShare& kept = islands[ports.IslandOf(group.chip(d))];
    kept.share += amounts[static_cast<size_t>(d)];
    ++kept.members;
  }
  WaveTerm loads;
  std::vector<double> out(static_cast<size_t>(group.nic_count()));
  std::vector<double> in(out.size());
  for (int d = 0; d < n; ++d) {
    const double share = amounts[static_cast<size_t>(d)];
    const IslandShare& kept = islands[ports.IslandOf(group.chip(d))];
    if (kept.members > 1) {
      const double island =
          ports.wiring == IslandWiring::kLinks
              ? share
              : std::max(kept.share - share, (kept.members - 1) * share);
      loads.island = std::max(loads.island, island);
    }
    if (!group.crosses()) continue;
    const auto nic = static_cast<size_t>(group.nic(d));
    out[nic] += all - kept.share;
    in[nic] += (n - kept.members) * share;
    const double most = std::max(out[nic], in[nic]);
    loads.network = std::max(loads.network, most);
    loads.crowded =
        std::max(loads.crowded, most * group.nic_crowd(group.nic(d)));
  }
  form.AddWave({{group.crosses() ? Across(group) : Inside(group)}}, loads);
  return std::move(form).Build();
}

// Message by message; back from the experts everything the other way round.
CollectiveForm ByIslandOnRoutes(const GroupNetwork& group,
                                const ExpertTraffic& traffic, bool combine) {
  const int g = group.per_island();
  const int islands = group.islands();
  const TokenAmounts amounts = AmountsByIsland(traffic, islands);
  const double k = traffic.experts_per_token;
  FormBuilder form(group, CollectiveAlgorithm::kHierarchical,
                   ProtocolUse::kExperts);
  const auto send = [&](int from, int to, double tokens) {
    if (from == to || tokens <= 0) return;
    form.Send(combine ? to : from, combine ? from : to, tokens / k);
  };
  for (const bool first : {true, false}) {
    form.BeginWave(/*streams=*/!first);
    form.BeginRound();
    const bool across = first != combine;
    for (int from = 0; from < group.ranks(); ++from) {
      if (across) {
        for (int i = 0; i < islands; ++i) {
          send(from, i * g + from % g, amounts.island[static_cast<size_t>(i)]);
        }
        continue;
      }
      for (int to = from / g * g; to < from / g * g + g; ++to) {
        send(from, to, islands * amounts.rank[static_cast<size_t>(to)]);
      }
    }
  }
  return std::move(form).Build();
}

// A token crosses once to each island it needs, and from the chip it arrives at
// once to each rank: with N islands a chip passes on what came from N places.
CollectiveForm ByIslandForm(const GroupNetwork& group,
                            const ExpertTraffic& traffic) {
  const int g = group.per_island();
  const int islands = group.islands();
  const bool links = group.ports().wiring == IslandWiring::kLinks;
  const TokenAmounts amounts = AmountsByIsland(traffic, islands);
  const double k = traffic.experts_per_token;
  WaveTerm loads;
  double all = 0;
  for (const double amount : amounts.island) all += amount;
  for (int i = 0; i < islands; ++i) {
    const double own = amounts.island[static_cast<size_t>(i)];
    loads.network =
        std::max({loads.network, (all - own) / k, (islands - 1) * own / k});
    double inside = 0;
    for (int d = i * g; d < (i + 1) * g; ++d) {
      inside += amounts.rank[static_cast<size_t>(d)];
    }
    for (int d = i * g; d < (i + 1) * g; ++d) {
      const double rank = amounts.rank[static_cast<size_t>(d)];
      const double most =
          links ? rank : std::max(inside - rank, (g - 1) * rank);
      loads.island = std::max(loads.island, islands * most / k);
    }
  }
  loads.crowded = loads.network * group.most_crowded_on_nic();
  loads.network *= group.most_on_nic();
  FormBuilder form(group, CollectiveAlgorithm::kHierarchical,
                   ProtocolUse::kExperts);
  form.AddWave({{Across(group)}}, loads);
  form.AddWave({{Inside(group)}}, {});
  return std::move(form).Build();
}

}  // namespace

CollectiveForm ExpertForm(const GroupNetwork& group,
                          const ExpertTraffic& traffic, bool combine) {
  if (!traffic.by_island || !group.hierarchical()) {
    return DirectExpertForm(group, traffic, combine);
  }
  return group.routes() != nullptr ? ByIslandOnRoutes(group, traffic, combine)
                                   : ByIslandForm(group, traffic);
}

double ExpectedPlaces(int experts, int chosen, int places) {
  // C(E - E/n, k)/C(E, k) as a product of k factors below one.
  const int elsewhere = experts - experts / places;
  double missed = 1;
  for (int i = 0; i < chosen; ++i) {
    missed *= static_cast<double>(elsewhere - i) / (experts - i);
  }
  return places * (1 - missed);
}

}  // namespace orrery
