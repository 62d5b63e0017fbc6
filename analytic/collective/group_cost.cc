#include "analytic/collective/group_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// As libraries list them, in the order of GroupCost::Algorithm.
constexpr std::string_view kAlgorithmNames[] = {
    "ring",      "direct", "double_binary_tree", "nvls", "hierarchical",
    "by_island", "sharp"};

// A library that lists its algorithms has no others.
bool HasAlgorithm(const NetworkCalibration& library, std::string_view algorithm,
                  Kind kind) {
  const auto& listed = library.algorithms;
  const std::string own = fmt::format("{}/{}", NameOf(kind), algorithm);
  return listed.empty() || std::any_of(listed.begin(), listed.end(),
                                       [&](const std::string& name) {
                                         return name == algorithm ||
                                                name == own;
                                       });
}

}  // namespace

int IslandChips(const System& system) {
  return system.scale_up() && system.scale_up()->spans_nodes
             ? static_cast<int>(system.chips())
             : system.chips_per_node();
}

GroupCost::GroupCost(const System& system) : system_(system) {
  if (system.scale_up()) {
    island_rate_ = system.scale_up()->chip_bandwidth.value();
    const auto* island =
        std::get_if<SwitchFabric>(&system.scale_up()->fabric.kind);
    switch_reduces_ = island != nullptr && island->reduces;
  }
  if (system.scale_out()) {
    network_rate_ = system.scale_out()->nic_bandwidth.value() *
                    system.scale_out()->nics_per_node / system.chips_per_node();
  }
  const NetworkCalibration& library = system.collectives();
  for (size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (size_t kind = 0; kind < kCommunicationKinds; ++kind) {
      has_[algorithm][kind] = HasAlgorithm(library, kAlgorithmNames[algorithm],
                                           static_cast<Kind>(kind));
    }
  }
  for (size_t tier = 0; tier < kTiers; ++tier) {
    for (size_t use = 0; use < kProtocolUses; ++use) {
      protocols_[tier][use] =
          library.For(static_cast<Tier>(tier), static_cast<ProtocolUse>(use));
    }
  }
}

int GroupCost::ReductionDepth(int islands) const {
  if (!system_.scale_out()) return 0;
  const auto& kind = system_.scale_out()->fabric.kind;
  const auto depth = [&](int radix, double taper, double ports_per_island) {
    // A leaf has radix o/(1+o) ports down; a pod radix/2 leaves.
    const double leaf =
        std::floor(radix * taper / (1 + taper)) / ports_per_island;
    return islands <= leaf ? 1 : islands <= leaf * radix / 2 ? 2 : 3;
  };
  if (const auto* f = std::get_if<RailOptimizedFabric>(&kind)) {
    return f->reduces ? depth(f->radix, f->taper, 1) : 0;
  }
  if (const auto* f = std::get_if<FatTreeFabric>(&kind)) {
    return f->reduces
               ? depth(f->radix, f->taper, system_.scale_out()->nics_per_node)
               : 0;
  }
  return 0;
}

GroupCost::FormList GroupCost::Forms(Kind kind, const GroupSpan& span) const {
  const double n = span.ranks;
  const double g = span.per_island();
  const bool crosses = span.islands > 1;
  const double part = (n - 1) / n;
  const double halves = kind == Kind::kAllReduce ? 2 : 1;
  FormList forms;
  const auto add = [&](const Form& form) {
    if (Has(form.algorithm, kind)) forms.push_back(form);
  };
  if (kind == Kind::kPointToPoint) {
    // Around a ring some hops stay in an island while others cross.
    const bool stays = !crosses || g > 1;
    forms.push_back({Algorithm::kDirect, crosses ? 0.0 : 1.0,
                     crosses ? 1.0 : 0.0, stays ? 1.0 : 0.0,
                     crosses ? 1.0 : 0.0, ProtocolUse::kPointToPoint});
    return forms;
  }
  if (kind == Kind::kAllToAll) {
    // Of a rank's n - 1 blocks g - 1 stay in the island.
    const double inside = crosses ? (g - 1) / n : part;
    const double outside = crosses ? (n - g) / n : 0;
    forms.push_back({Algorithm::kDirect, crosses ? 0.0 : 1.0,
                     crosses ? 1.0 : 0.0, inside, outside,
                     ProtocolUse::kPointToPoint});
    return forms;
  }
  if (!crosses) {
    add({Algorithm::kRing, halves * (n - 1), 0, halves * part, 0});
    add({Algorithm::kDirect, halves, 0, halves * part, 0});
    if (kind == Kind::kAllReduce) {
      add({Algorithm::kDoubleBinaryTree, 2 * std::ceil(std::log2(n)), 0,
           n > 2 ? 2.0 : 1.0, 0, ProtocolUse::kTree});
      if (switch_reduces_) {
        // To the switch and back, twice.
        add({Algorithm::kInSwitch, 4, 0, 1 + 1 / n, 0, ProtocolUse::kInSwitch});
      }
    }
    return forms;
  }
  // A ring visits island after island, as often as it has rails, leaving by
  // another chip each time: of its n hops one per island crosses, a NIC carries
  // the g-th part and a chip's port the rest.
  const double islands = span.islands;
  const double steps = halves * (n - 1);
  add({Algorithm::kRing, steps * (n - islands) / n, steps * islands / n,
       halves * part * (g - 1) / g, halves * part / g});
  // Trees between the islands, one per rail, fed by chains inside; between two
  // islands each of the two trees crosses once each way.
  if (kind == Kind::kAllReduce) {
    add({Algorithm::kDoubleBinaryTree, 2 * (g - 1),
         2 * std::ceil(std::log2(islands)), 2 * (g - 1) / g,
         (islands > 2 ? 2 : 1) / g, ProtocolUse::kTree});
    if (const int depth = ReductionDepth(span.islands); depth > 0) {
      add({Algorithm::kFabricReduces, 2 * (g - 1), 2.0 * depth, 2 * (g - 1) / g,
           1 / g, ProtocolUse::kInSwitch, /*rings_inside=*/true});
    }
  }
  if (g == 1) {
    add({Algorithm::kDirect, 0, halves, 0, halves * part});
  } else {
    // Inside the islands, then along the rails with what is left.
    add({Algorithm::kHierarchical, halves * (g - 1), halves * (islands - 1),
         halves * (g - 1) / g, halves * (islands - 1) / islands / g});
  }
  return forms;
}

Seconds GroupCost::Cheapest(const Form& form, Kind kind, Bytes bytes,
                            const GroupSpan& span) const {
  const NetworkCalibration& library = system_.collectives();
  const auto size = static_cast<double>(bytes.value());
  const bool up = form.island_steps > 0 || form.island_share > 0;
  const bool out = form.network_steps > 0 || form.network_share > 0;
  const auto& ups = Protocols(
      Tier::kScaleUp, form.rings_inside ? ProtocolUse::kRing : form.use);
  const auto& outs = Protocols(Tier::kScaleOut, form.use);
  double best = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Protocol* inner, const Protocol* outer) {
    double latency = 0, wire = 0, base = 0, fill = 0;
    const auto add = [&](const Protocol& p, double steps, double share,
                         double rate, bool serial) {
      latency += steps * ToSeconds(p.step_latency);
      const double time = share * size / (rate * p.efficiency);
      wire = serial ? wire + time : std::max(wire, time);
      base = std::max(base, ToSeconds(p.base_latency));
      fill = std::max(fill, ToSeconds(p.fill_latency));
    };
    const bool serial = form.algorithm == Algorithm::kHierarchical;
    if (inner != nullptr) {
      add(*inner, form.island_steps, form.island_share, island_rate_, serial);
    }
    if (outer != nullptr) {
      add(*outer, form.network_steps, form.network_share, network_rate_,
          serial);
    }
    double time = base + latency + wire + 2 * std::sqrt(fill * wire);
    if (library.local_bandwidth && kind != Kind::kPointToPoint) {
      time += size / span.ranks / library.local_bandwidth->value();
    }
    best = std::min(best, time);
  };
  for (const Protocol* inner : ups) {
    if (up && !out) consider(inner, nullptr);
    for (const Protocol* outer : outs) {
      if (up && out && (form.rings_inside || inner->name == outer->name)) {
        consider(inner, outer);
      }
    }
  }
  if (!up && out) {
    for (const Protocol* outer : outs) consider(nullptr, outer);
  }
  return Seconds(best);
}

Seconds GroupCost::Time(Kind kind, Bytes bytes, const GroupSpan& span) const {
  if (span.ranks < 2) return Seconds(0);
  Seconds best(std::numeric_limits<double>::infinity());
  for (const Form& form : Forms(kind, span)) {
    best = std::min(best, Cheapest(form, kind, bytes, span));
  }
  CHECK(std::isfinite(best.count()))
      << "no closed form for " << NameOf(kind) << " over " << span.ranks;
  return best;
}

// Rank s sends share_d to rank d. Out of a chip: what does not stay on the
// island, or stays on it elsewhere; into a chip: its share of all the others.
GroupCost::Form GroupCost::DirectForm(const GroupSpan& span,
                                      const ExpertTraffic& traffic) {
  const int n = span.ranks;
  const int g = span.per_island();
  Form form{.algorithm = Algorithm::kDirect, .use = ProtocolUse::kPointToPoint};
  for (int first = 0; first < n; first += g) {
    const int last = std::min(n, first + g);
    double island = 0;
    for (int d = first; d < last; ++d) {
      island += traffic.share[static_cast<size_t>(d)];
    }
    for (int d = first; d < last; ++d) {
      const double share = traffic.share[static_cast<size_t>(d)];
      form.island_share = std::max(
          {form.island_share, island - share, (last - first - 1) * share});
      form.network_share = std::max(
          {form.network_share, 1 - island, (n - (last - first)) * share});
    }
  }
  (span.islands > 1 ? form.network_steps : form.island_steps) = 1;
  if (span.islands == 1) form.network_share = 0;
  return form;
}

// A token crosses once to each island it needs, and from the chip it arrives at
// once to each rank: with N islands a chip passes on what came from N places.
GroupCost::Form GroupCost::ByIslandForm(const GroupSpan& span,
                                        const ExpertTraffic& traffic) {
  const int g = span.per_island();
  const int islands = span.islands;
  const TokenAmounts amounts = AmountsByIsland(traffic, islands);
  const double k = traffic.experts_per_token;
  Form form{.algorithm = Algorithm::kByIsland,
            .island_steps = 1,
            .network_steps = 1,
            .use = ProtocolUse::kPointToPoint};
  double all = 0;
  for (const double amount : amounts.island) all += amount;
  for (int i = 0; i < islands; ++i) {
    const double own = amounts.island[static_cast<size_t>(i)];
    form.network_share = std::max(
        {form.network_share, (all - own) / k, (islands - 1) * own / k});
    double inside = 0;
    for (int d = i * g; d < (i + 1) * g; ++d) {
      inside += amounts.rank[static_cast<size_t>(d)];
    }
    for (int d = i * g; d < (i + 1) * g; ++d) {
      const double rank = amounts.rank[static_cast<size_t>(d)];
      form.island_share =
          std::max({form.island_share, islands * (inside - rank) / k,
                    islands * (g - 1) * rank / k});
    }
  }
  return form;
}

Seconds GroupCost::ExpertTime(Bytes bytes, const GroupSpan& span,
                              const ExpertTraffic& traffic) const {
  if (span.ranks < 2) return Seconds(0);
  const int g = span.per_island();
  const bool by_island = traffic.by_island && span.islands > 1 && g > 1 &&
                         g * span.islands == span.ranks;
  return Cheapest(
      by_island ? ByIslandForm(span, traffic) : DirectForm(span, traffic),
      Kind::kAllToAll, bytes, span);
}

}  // namespace orrery
