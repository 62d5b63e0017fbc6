#include "analytic/collective/group_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "analytic/collective/collective_bounds.h"
#include "analytic/collective/collective_forms.h"
#include "analytic/collective/expert_forms.h"
#include "base/check.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// Pieces of an algorithm that streams: many, so that what is left of filling a
// pipeline is the protocol's fill latency.
constexpr double kPieces = 1024;

constexpr auto kAlgorithms = [] {
  std::array<CollectiveAlgorithm,
             static_cast<size_t>(kLastCollectiveAlgorithm) + 1>
      all{};
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<CollectiveAlgorithm>(i);
  }
  return all;
}();

// Chips as size, first chip, and loops of (count, stride), fastest first: the
// same for the same chips and short for regular ones. Irregular ones follow in
// full.
std::vector<int> KeyOf(absl::Span<const int> chips) {
  std::vector<int> key = {static_cast<int>(chips.size()), chips[0]};
  for (size_t block = 1; block < chips.size();) {
    const int stride = chips[block] - chips[0];
    size_t end = block;
    while (end < chips.size() && chips[end] - chips[end - block] == stride) {
      ++end;
    }
    const size_t count = end / block;
    if (end % block != 0 || chips.size() % end != 0) {
      key.insert(key.end(), chips.begin(), chips.end());
      break;
    }
    key.push_back(static_cast<int>(count));
    key.push_back(stride);
    block = end;
  }
  return key;
}

}  // namespace

absl::StatusOr<GroupCost> GroupCost::Create(const System& system,
                                            Others others) {
  MachinePorts ports = PortsOf(system);
  std::unique_ptr<FabricRoutes> routes;
  if (FabricRoutes::Needed(system)) {
    ASSIGN_OR_RETURN(routes, FabricRoutes::Make(system, ports.rates));
    ports.routes = routes.get();
  }
  return GroupCost(system, others, std::move(ports), std::move(routes));
}

GroupCost::GroupCost(const System& system, Others others, MachinePorts ports,
                     std::unique_ptr<FabricRoutes> routes)
    : system_(system),
      others_(others),
      routes_(std::move(routes)),
      ports_(std::make_unique<const MachinePorts>(std::move(ports))) {
  for (size_t tier = 0; tier < kTiers; ++tier) {
    for (size_t use = 0; use < kProtocolUses; ++use) {
      protocols_[tier][use] = system.collectives().For(
          static_cast<Tier>(tier), static_cast<ProtocolUse>(use));
    }
  }
}

std::vector<int> GroupCost::Blocks() const {
  std::vector<int> blocks;
  if (ports_->wiring != IslandWiring::kGrid) return blocks;
  int chips = 1;
  for (const int side : ports_->sides) blocks.push_back(chips *= side);
  return blocks;
}

GroupSpan GroupCost::Span(absl::Span<const int> chips) {
  if (chips.size() < 2) return {};
  const auto [found, is_new] =
      numbers_.try_emplace(KeyOf(chips), static_cast<int>(groups_.size()));
  if (is_new) {
    groups_.push_back(std::make_unique<Group>(
        Group{GroupNetwork(*ports_, {chips.begin(), chips.end()}), {}}));
  }
  return {.ranks = static_cast<int>(chips.size()), .number = found->second};
}

const std::vector<CollectiveAlgorithm>& GroupCost::Listed(Kind kind) {
  auto& known = listed_[static_cast<size_t>(kind)];
  if (known) return *known;
  const auto& listed = system_.collectives().algorithms;
  known.emplace();
  for (const CollectiveAlgorithm algorithm : kAlgorithms) {
    const std::string own =
        fmt::format("{}/{}", NameOf(kind), NameOf(algorithm));
    if ((listed.empty() && algorithm != CollectiveAlgorithm::kOneShot) ||
        std::any_of(listed.begin(), listed.end(), [&](const auto& name) {
          return name == NameOf(algorithm) || name == own;
        })) {
      known->push_back(algorithm);
    }
  }
  return *known;
}

std::vector<CollectiveForm> GroupCost::Forms(Kind kind,
                                             const GroupNetwork& network) {
  // Between two the order tells who sends.
  const GroupNetwork group =
      kind == Kind::kPointToPoint ? network : network.Sorted();
  const auto forms = [&](absl::Span<const CollectiveAlgorithm> algorithms) {
    std::vector<CollectiveForm> made;
    for (const CollectiveAlgorithm algorithm : algorithms) {
      // A library's trees of switches are those between islands; inside one it
      // multicasts.
      if (algorithm == CollectiveAlgorithm::kReductionTree &&
          !group.crosses() && !system_.collectives().algorithms.empty()) {
        continue;
      }
      std::optional<CollectiveForm> form = FormOf(algorithm, kind, group);
      if (form) made.push_back(*std::move(form));
    }
    return made;
  };
  // A library that has nothing for this kind is given what there is.
  std::vector<CollectiveForm> made = forms(Listed(kind));
  return made.empty() ? forms(kAlgorithms) : made;
}

TierPrice GroupCost::Priced(Tier tier, const Protocol& protocol,
                            bool across) const {
  return {
      .message = Seconds(ToSeconds(protocol.step_latency)),
      .second_per_byte = 1 / (ports_->rates[static_cast<size_t>(tier)].value() *
                              protocol.EfficiencyIn(across))};
}

GroupCost::Price GroupCost::PriceOf(const CollectiveForm& form, Kind kind,
                                    Bytes bytes, const GroupSpan& span) const {
  Price best = {.alone = Seconds(std::numeric_limits<double>::infinity())};
  const auto consider = [&](const Protocol* inner, const Protocol* outer) {
    TierPrice island, network;
    Duration base{}, fill{};
    const auto add = [&](Tier tier, const Protocol* p, TierPrice& price) {
      if (p == nullptr) return;
      price = Priced(tier, *p, outer != nullptr);
      base = std::max(base, p->base_latency);
      fill = std::max(fill, p->fill_latency);
    };
    add(Tier::kScaleUp, inner, island);
    add(Tier::kScaleOut, outer, network);
    const FormTime time = PriceForm(form, island, network, bytes, kPieces);
    const Seconds alone =
        Seconds(ToSeconds(base) +
                2 * std::sqrt(ToSeconds(fill) * time.wire.count())) +
        time.total();
    if (alone >= best.alone) return;
    best = {alone, alone - time.wire + time.crowded, time.wire, time.crowded};
  };
  const bool up = form.uses_island();
  const bool out = form.uses_network();
  const auto& ups = Protocols(
      Tier::kScaleUp, form.rings_inside && out ? ProtocolUse::kRing : form.use);
  const auto& outs = Protocols(Tier::kScaleOut, form.use);
  const int nodes =
      groups_[static_cast<size_t>(span.number)]->network.islands();
  // Else both tiers go by one name.
  const bool any_inside =
      form.rings_inside || form.use == ProtocolUse::kSwitchTree;
  for (const Protocol* inner : ups) {
    if (!inner->Serves(nodes)) continue;
    if (up && !out) consider(inner, nullptr);
    for (const Protocol* outer : outs) {
      if (up && out && outer->Serves(nodes) &&
          (any_inside || inner->name == outer->name)) {
        consider(inner, outer);
      }
    }
  }
  if (!up) {
    for (const Protocol* outer : outs) {
      if (outer->Serves(nodes)) consider(nullptr, outer);
    }
  }
  if (const auto& local = system_.collectives().local_bandwidth;
      local && kind != Kind::kPointToPoint && kind != Kind::kBroadcast) {
    const Seconds copy(static_cast<double>(bytes.value()) / span.ranks /
                       local->value());
    best.alone += copy;
    best.among_others += copy;
  }
  return best;
}

GroupCost::Price GroupCost::PriceOf(Kind kind, Bytes bytes,
                                    const GroupSpan& span) {
  if (span.ranks < 2) return {};
  Price best = BestOf(kind, bytes, span);
  if (kind == Kind::kBroadcast || kind == Kind::kReduce) {
    // An all-reduce does either.
    const Price sum = BestOf(Kind::kAllReduce, bytes, span);
    if (sum.alone < best.alone) best = sum;
  }
  CHECK(std::isfinite(best.alone.count()))
      << "no closed form for " << NameOf(kind) << " over " << span.ranks;
  return best;
}

GroupCost::Price GroupCost::PriceOfRingStep(Bytes bytes,
                                            const GroupSpan& span) {
  Group& group = *groups_[static_cast<size_t>(span.number)];
  if (!group.ring_step) group.ring_step = AroundTheRingForm(group.network);
  return PriceOf(*group.ring_step, Kind::kPointToPoint, bytes, span);
}

Seconds GroupCost::LeastOf(Kind kind, Bytes bytes, const GroupSpan& span,
                           const Price& price) const {
  if (routes_ == nullptr) return price.alone * (1 - kExact);
  const GroupNetwork& network =
      groups_[static_cast<size_t>(span.number)]->network;
  std::vector<VertexId> chips;
  for (int rank = 0; rank < network.ranks(); ++rank) {
    chips.push_back(static_cast<VertexId>(network.chip(rank)));
  }
  const Seconds bound =
      CollectiveLowerBound(kind, bytes, routes_->graph(), chips,
                           ports_->island_reduces || ports_->network_reduces);
  return std::min(bound, price.alone) * (1 - kExact);
}

GroupCost::Price GroupCost::BestOf(Kind kind, Bytes bytes,
                                   const GroupSpan& span) {
  Group& group = *groups_[static_cast<size_t>(span.number)];
  std::vector<CollectiveForm>& forms = group.forms[static_cast<size_t>(kind)];
  if (forms.empty()) forms = Forms(kind, group.network);
  Price best = {.alone = Seconds(std::numeric_limits<double>::infinity())};
  for (const CollectiveForm& form : forms) {
    const Price price = PriceOf(form, kind, bytes, span);
    if (price.alone < best.alone) best = price;
  }
  return best;
}

CollectiveForm GroupCost::ExpertForm(const GroupSpan& span,
                                     const ExpertTraffic& traffic,
                                     bool combine) const {
  return orrery::ExpertForm(groups_[static_cast<size_t>(span.number)]->network,
                            traffic, combine);
}

}  // namespace orrery
