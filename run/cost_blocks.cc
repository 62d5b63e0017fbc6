#include "run/cost_blocks.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "run/silicon_catalog.h"

namespace orrery {

void SetInterval(const Interval& from, pb::Report::Interval* to) {
  to->set_low(from.low);
  to->set_nominal(from.nominal);
  to->set_high(from.high);
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
  const std::pair<const char*, size_t> parts[] = {
      {"capital", 1}, {"facility", 2}, {"energy", 3}, {"rent", 4}};
  for (const auto& [name, index] : parts) {
    if (values[index].nominal == 0) continue;
    auto& share = *cost.add_chip_hour_shares();
    share.set_what(name);
    SetInterval(values[index], share.mutable_dollars());
  }
}

void FillStepEnergy(const MachineCost& machine, const StepEnergy& energy,
                    const StepOfChips& step, pb::Report::EnergyResult& to) {
  const PriceDraw nominal = PriceDraw::Nominal();
  const double joules = energy.machine().value();
  to.set_joules_per_step(joules);
  if (step.tokens > 0) to.set_joules_per_token(joules / step.tokens);
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
  to.set_grams_co2e_per_step(joules * pue / kJoulesPerKwh *
                             machine.GramsPerKwh(nominal));
}

}  // namespace orrery
