#include "run/cost_blocks.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/format.h"
#include "run/silicon_catalog.h"

namespace orrery {
namespace {

constexpr char kFromScenario[] = "scenario";

using HourShares =
    google::protobuf::RepeatedPtrField<pb::Report::CostResult::Share>;

void FillHourShares(absl::Span<const Interval> values, HourShares& shares) {
  const std::pair<const char*, size_t> parts[] = {
      {"capital", 1}, {"facility", 2}, {"energy", 3}, {"rent", 4}};
  for (const auto& [name, index] : parts) {
    if (values[index].nominal == 0) continue;
    auto& share = *shares.Add();
    share.set_what(name);
    SetInterval(values[index], share.mutable_dollars());
  }
}

}  // namespace

void SetInterval(const Interval& from, pb::Report::Interval* to) {
  to->set_low(from.low);
  to->set_nominal(from.nominal);
  to->set_high(from.high);
}

void WarnOfUnusedPrices(const MachineCost& machine, pb::Report& report) {
  for (const std::string& id : machine.unused()) {
    report.add_warnings(
        fmt::format("cost.price '{}' is in no price list, and nothing of this "
                    "machine has that id",
                    id));
  }
}

void FillTerms(const MachineCost& machine, const pb::CostOptions& options,
               pb::Report::CostResult& cost) {
  cost.set_terms(machine.rented() ? "rented" : "owned");
  cost.set_prices(options.has_prices() ? options.prices() : kDefaultPrices);
  if (machine.rented()) return;
  cost.set_oldest_price(machine.oldest());
  cost.set_newest_price(machine.newest());
}

void FillItems(const MachineCost& machine, const std::string& of,
               pb::Report::CostResult& cost) {
  for (const BillItem& item : machine.items()) {
    auto& to = *cost.add_items();
    to.set_what(of + item.what);
    to.set_count(item.count);
    to.set_date(item.price.date);
    to.set_from(item.replaced ? kFromScenario : cost.prices());
    const PriceRange& price = item.price;
    SetInterval({price.low, price.nominal, price.high}, to.mutable_price());
    SetInterval({item.count * price.low, item.count * price.nominal,
                 item.count * price.high},
                to.mutable_total());
  }
}

std::vector<double> HourValues(const ChipHourCost& hour) {
  return {hour.total().value(), hour.capital.value(), hour.facility.value(),
          hour.energy.value(), hour.rent.value()};
}

void FillChipHour(absl::Span<const Interval> values,
                  pb::Report::CostResult& cost) {
  CHECK(values.size() >= kHourValues) << values.size();
  cost.set_dollars_per_chip_hour(values[0].nominal);
  SetInterval(values[0], cost.mutable_chip_hour());
  FillHourShares(values, *cost.mutable_chip_hour_shares());
}

void FillHourPower(const MachineCost& machine, Watts drawn,
                   pb::Report::CostResult& cost) {
  if (machine.rented()) return;
  const auto chips = static_cast<double>(machine.chips());
  cost.set_power_limit_watts_per_chip(machine.power_limit().value() / chips);
  cost.set_drawn_watts_per_chip(drawn.value() / chips);
}

void FillPrefillChipHour(absl::Span<const Interval> values,
                         const MachineCost& machine, Watts drawn,
                         pb::Report::CostResult& cost) {
  CHECK(values.size() >= kHourValues) << values.size();
  SetInterval(values[0], cost.mutable_prefill_chip_hour());
  FillHourShares(values, *cost.mutable_prefill_chip_hour_shares());
  if (machine.rented()) return;
  const auto chips = static_cast<double>(machine.chips());
  cost.set_prefill_power_limit_watts_per_chip(machine.power_limit().value() /
                                              chips);
  cost.set_prefill_drawn_watts_per_chip(drawn.value() / chips);
}

void FillFactors(const MachineCost& machine, bool serves, bool has_energy,
                 pb::Report::CostResult& cost) {
  const std::string_view productive = serves ? kUtilisation : kGoodput;
  for (const auto& [id, rate] : machine.rates()) {
    const auto begins = [&](absl::string_view with) {
      return absl::StartsWith(id, with);
    };
    // The only rate of `energy/` that is money is the price.
    const bool owned = begins("finance/") || begins("facility/") ||
                       begins("power/") || id == "energy/price";
    const bool energy =
        id == "facility/pue" || begins("power/") || id == "energy/carbon";
    if (id != productive && !(owned && !machine.rented()) &&
        !(energy && has_energy)) {
      continue;
    }
    pb::Report::CostResult::Factor& factor = *cost.add_factors();
    factor.set_id(id);
    factor.set_what(rate.description);
    SetInterval({rate.range.low, rate.range.nominal, rate.range.high},
                factor.mutable_value());
    factor.set_unit(rate.range.unit);
    factor.set_date(rate.range.date);
    factor.set_from(rate.replaced ? kFromScenario : cost.prices());
    factor.set_setting(
        fmt::format("cost.price[{}]={}{}{}", id, rate.range.nominal,
                    rate.range.unit.empty() ? "" : " ", rate.range.unit));
  }
}

void FillStepEnergy(const MachineCost& machine, const StepEnergy& energy,
                    const StepOfChips& step, pb::Report::EnergyResult& to) {
  const PriceDraw nominal = PriceDraw::Nominal();
  const double joules = energy.machine().value();
  to.set_joules_per_step(joules);
  to.set_chip_watts(energy.chips().value() / step.chips / step.seconds);
  to.set_machine_watts_per_chip(joules / step.chips / step.seconds);
  to.set_arithmetic_joules(energy.arithmetic.value());
  to.set_memory_joules(energy.memory.value());
  to.set_link_joules(energy.links.value());
  to.set_idle_joules(energy.idle.value());
  to.set_host_joules(energy.hosts.value());
  to.set_network_joules(energy.network.value());
  const double pue = machine.Pue(nominal);
  to.set_pue(pue);
  to.set_facility_joules_per_step(joules * pue);
  if (step.tokens > 0) {
    to.set_joules_per_token(joules * pue /
                            (step.tokens * step.productive_share));
  }
  to.set_grams_co2e_per_step(joules * pue / kJoulesPerKwh *
                             machine.GramsPerKwh(nominal));
}

}  // namespace orrery
