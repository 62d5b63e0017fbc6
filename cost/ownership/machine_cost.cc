#include "cost/ownership/machine_cost.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/format.h"
#include "base/status.h"
#include "cost/ownership/capital.h"

namespace orrery {
namespace {

// Everything but parts: id, unit, and what its bounds must be within.
struct Rate {
  const char* id;
  const char* unit;
  double least;
  double most;
};
constexpr double kSome = 1e-6;  // more than nothing
constexpr Rate kRates[] = {
    {"finance/interest", "/year", 0, 10},
    {"finance/lifetime", "years", 0.01, 100},
    {"finance/residual", "", 0, 1},
    {"finance/availability", "", kSome, 1},
    {"facility/colocation", "USD/kW-month", 0, 1e5},
    {"facility/pue", "", 1, 100},
    {"energy/price", "USD/kWh", 0, 10},
    {"energy/carbon", "g/kWh", 0, 1e4},
    {"power/base", "", 0, 1},
    {"power/host", "", 0, 1},
    {"power/link", "pJ/bit", 0, 1e4},
    {kGoodput, "", kSome, 1},
    {kUtilisation, "", kSome, 1},
};
constexpr double kHoursPerMonth = kHoursPerYear / 12;

}  // namespace

std::vector<std::string> RateIds() {
  std::vector<std::string> ids;
  for (const Rate& rate : kRates) ids.emplace_back(rate.id);
  return ids;
}

absl::Status CheckRate(absl::string_view id, const PriceRange& range) {
  for (const Rate& rate : kRates) {
    if (id != rate.id) continue;
    if (range.low >= rate.least && range.high <= rate.most) break;
    const bool one = range.low == range.high;
    return absl::InvalidArgumentError(fmt::format(
        "must be a number from {} to {}, got {}", rate.least, rate.most,
        one ? fmt::format("{}", range.low)
            : fmt::format("{} to {}", range.low, range.high)));
  }
  return absl::OkStatus();
}

absl::StatusOr<MachineCost> MachineCost::Create(
    const System& system, const Graph& graph, const PriceTable& prices,
    std::optional<DollarsPerHour> rent) {
  MachineCost machine;
  machine.chips_ = system.chips();
  machine.rent_ = rent;
  Violations missing;
  const auto dated = [&](const PriceRange& range) {
    if (range.date.empty()) return;
    if (machine.oldest_.empty() || range.date < machine.oldest_) {
      machine.oldest_ = range.date;
    }
    machine.newest_ = std::max(machine.newest_, range.date);
  };
  std::set<std::string, std::less<>> asked;
  const auto buy = [&](std::string what, const std::string& id, double count,
                       const char* unit = "USD") {
    asked.insert(id);
    if (count == 0) return;
    const auto entry = prices.Find(id, unit);
    if (!entry.ok()) {
      missing.Add(std::string(entry.status().message()));
      return;
    }
    dated((*entry)->range);
    machine.items_.push_back({std::move(what), id, count, (*entry)->range,
                              (*entry)->power, (*entry)->replaced});
  };
  for (const Rate& rate : kRates) {
    const auto entry = prices.Find(rate.id, rate.unit);
    if (!entry.ok()) {
      missing.Add(std::string(entry.status().message()));
      continue;
    }
    const PriceRange& range = (*entry)->range;
    const absl::Status legal = CheckRate(rate.id, range);
    if (!legal.ok()) {
      missing.Add(legal, fmt::format("price '{}'", rate.id));
      continue;
    }
    machine.rates_[rate.id] = **entry;
  }
  const std::string& chip = system.chip().name();
  buy(chip, "chip/" + chip, system.chips());
  // A system may have a price of its own for what else is in a node: of a chip,
  // so that nodes of any size pay their share, or of a node.
  const std::string own = "server/" + system.name();
  const std::string server = prices.Has(own) ? own : "server/parts";
  constexpr char kPerChip[] = "USD/chip";
  if (prices.Find(server, kPerChip).ok()) {
    buy("rest of the servers", server, system.chips(), kPerChip);
  } else {
    buy("rest of the servers", server, system.nodes());
  }
  const NetworkParts parts = BoughtParts(system, CountParts(graph));
  // A node by itself talks to no other, and needs no network to do so.
  const bool alone = system.scale_out() && system.nodes() == 1;
  const auto priced = [&](const std::string& name, const std::string& id) {
    if (id.empty()) {
      missing.Add(fmt::format(
          "link class '{}' of system '{}' has no price_id; say one: "
          "fabric.link.price_id",
          name, system.name()));
    }
    return !id.empty();
  };
  for (const NetworkParts::OfClass& of : parts.classes) {
    const bool of_nics = of.nic_ports > 0;
    if (of.inside || (alone && of_nics)) continue;
    // The NICs below say it for the network between nodes.
    if (of_nics && of.price_id.empty()) continue;
    if (!priced(of.name, of.price_id)) continue;
    const auto bought = [&](const char* what, const char* row, int64_t count) {
      buy(of.name + what, row + of.price_id, static_cast<double>(count));
    };
    bought(" switches", "switch/", of.switches);
    bought(" host links", "host_link/", of.host_links);
    bought(" fabric links", "fabric_link/", of.fabric_links);
    bought(of_nics ? " links between NICs" : " links between chips",
           "direct_link/", of.direct_links);
  }
  if (system.scale_out()) {
    const LinkClass& link = system.scale_out()->fabric.link;
    // The price is that of a NIC with one port.
    if (priced(link.name, link.price_id)) {
      const std::string id = "nic/" + link.price_id;
      buy(link.name + " NICs", id, static_cast<double>(parts.nics));
      if (!alone) {
        buy(link.name + " further NIC ports", id,
            static_cast<double>(parts.more_nic_ports));
      }
    }
  }
  RETURN_IF_ERROR(missing.ToStatus());
  for (const auto& [id, entry] : prices.entries()) {
    if (entry.added && !asked.contains(id) && !machine.rates_.contains(id)) {
      machine.unused_.push_back(id);
    }
  }
  for (const BillItem& item : machine.items_) {
    machine.network_power_ += item.power * item.count;
  }
  machine.power_limit_ = machine.network_power_;
  if (system.chip().power()) {
    machine.power_limit_ +=
        *system.chip().power() * static_cast<double>(system.chips());
  }
  if (system.host()) {
    machine.power_limit_ +=
        system.host()->power * static_cast<double>(system.nodes());
  }
  return machine;
}

double MachineCost::At(const char* id, const PriceDraw& draw) const {
  const auto found = rates_.find(id);
  CHECK(found != rates_.end()) << id;
  return draw.At(id, found->second.range);
}

Dollars MachineCost::Capital(const PriceDraw& draw) const {
  Dollars sum{};
  for (const BillItem& item : items_) {
    sum += Dollars(item.count * draw.At(item.price_id, item.price));
  }
  return sum;
}

ChipHourCost MachineCost::ChipHour(const PriceDraw& draw, Watts drawn) const {
  if (rent_) return {.rent = *rent_};
  const double chips = static_cast<double>(chips_);
  const Dollars capital = Capital(draw);
  const Dollars per_year = CapitalRecovery(
      capital, capital * At("finance/residual", draw),
      At("finance/interest", draw), At("finance/lifetime", draw));
  const double kilowatts = power_limit_.value() / 1e3;
  const double drawn_kilowatts = drawn.value() / 1e3;
  const double availability = At("finance/availability", draw);
  return {
      .capital = DollarsPerHour(per_year.value() / kHoursPerYear /
                                availability / chips),
      .facility = DollarsPerHour(kilowatts * At("facility/colocation", draw) /
                                 kHoursPerMonth / availability / chips),
      .energy = DollarsPerHour(drawn_kilowatts * Pue(draw) *
                               At("energy/price", draw) / chips)};
}

EnergyRates MachineCost::Rates(const PriceDraw& draw) const {
  return {.base = At("power/base", draw),
          .host = At("power/host", draw),
          .link_joules_per_byte = 8e-12 * At("power/link", draw),
          .network = network_power_};
}

double MachineCost::Pue(const PriceDraw& draw) const {
  return At("facility/pue", draw);
}
double MachineCost::GramsPerKwh(const PriceDraw& draw) const {
  return At("energy/carbon", draw);
}
double MachineCost::ProductiveShare(bool serves, const PriceDraw& draw) const {
  return At(serves ? kUtilisation : kGoodput, draw);
}

}  // namespace orrery
