#include "run/requests/inference_cost.h"

#include <absl/strings/str_replace.h>

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "run/scenario_cost.h"
#include "run/silicon_catalog.h"

namespace orrery {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;
constexpr double kMillion = 1e6;

// A phase on its share of a machine.
struct PhaseCost {
  const MachineCost* machine;
  const System* system;  // the whole machine
  double chips = 0;      // of the pool
  double tokens_per_s = 0;
  const std::optional<StepWork>* work;
  FlopsPerSecond peak;

  double share() const { return chips / static_cast<double>(system->chips()); }
  bool has_energy() const {
    return work->has_value() && (*work)->time > Duration(0) &&
           system->chip().power().has_value();
  }
};

// Of the pool, for the time of its work. Chips of other pools are not in it.
StepEnergy EnergyOfPool(const PhaseCost& phase, const PriceDraw& draw) {
  EnergyRates rates = phase.machine->Rates(draw);
  StepEnergy all =
      EnergyOf(*phase.system, phase.peak, phase.work->value(), rates);
  // Base, hosts and network of the whole machine: the pool has its share.
  all.idle = all.idle * phase.share();
  all.hosts = all.hosts * phase.share();
  all.network = all.network * phase.share();
  return all;
}

// Watts of the whole machine if all of it did what the pool does.
Watts Drawn(const PhaseCost& phase, const PriceDraw& draw) {
  if (!phase.has_energy()) {
    return phase.machine->power_limit() * phase.machine->Rates(draw).host;
  }
  return Watts(EnergyOfPool(phase, draw).machine().value() /
               ToSeconds((*phase.work)->time) / phase.share());
}

// Of one draw: a chip-hour and its parts, and per million tokens dollars,
// joules of the facility and grams of CO2e.
std::vector<double> Bill(const PhaseCost& phase, const PriceDraw& draw) {
  const Watts drawn = Drawn(phase, draw);
  const ChipHourCost hour = phase.machine->ChipHour(draw, drawn);
  const double seconds =
      phase.tokens_per_s > 0 ? kMillion / phase.tokens_per_s : 0;
  const double used = phase.machine->Utilisation(draw);
  const double joules = phase.has_energy()
                            ? drawn.value() * phase.share() * seconds *
                                  phase.machine->Pue(draw) / used
                            : 0;
  return {hour.total().value(),
          hour.capital.value(),
          hour.facility.value(),
          hour.energy.value(),
          hour.rent.value(),
          hour.total().value() / 3600 * phase.chips * seconds / used,
          joules,
          joules / kJoulesPerKwh * phase.machine->GramsPerKwh(draw),
          phase.machine->Capital(draw).value()};
}

void Set(const Interval& from, pb::Report::Interval* to) {
  to->set_low(from.low);
  to->set_nominal(from.nominal);
  to->set_high(from.high);
}

void FillItems(const MachineCost& machine, const std::string& of,
               pb::Report::CostResult& cost) {
  for (const BillItem& item : machine.items()) {
    auto& to = *cost.add_items();
    to.set_what(of + item.what);
    to.set_count(item.count);
    to.set_date(item.price.date);
    const PriceRange& price = item.price;
    Set({price.low, price.nominal, price.high}, to.mutable_price());
    Set({item.count * price.low, item.count * price.nominal,
         item.count * price.high},
        to.mutable_total());
  }
}

void FillStepEnergy(const PhaseCost& decode, pb::Report::EnergyResult& to) {
  const PriceDraw nominal = PriceDraw::Nominal();
  const StepEnergy energy = EnergyOfPool(decode, nominal);
  const double step = energy.machine().value();
  const double seconds = ToSeconds((*decode.work)->time);
  to.set_joules_per_step(step);
  to.set_chip_watts(energy.chips().value() / decode.chips / seconds);
  to.set_machine_watts_per_chip(step / decode.chips / seconds);
  to.set_joules_per_token(step / seconds / decode.tokens_per_s);
  to.set_arithmetic_joules(energy.arithmetic.value());
  to.set_memory_joules(energy.memory.value());
  to.set_link_joules(energy.links.value());
  to.set_idle_joules(energy.idle.value());
  to.set_host_joules(energy.hosts.value());
  to.set_network_joules(energy.network.value());
  const double pue = decode.machine->Pue(nominal);
  to.set_pue(pue);
  to.set_facility_joules_per_step(step * pue);
  to.set_grams_co2e_per_step(step * pue / kJoulesPerKwh *
                             decode.machine->GramsPerKwh(nominal));
}

void FillMachine(const MachineCost& decode, const MachineCost* prefill,
                 const ResolvedScenario& scenario,
                 pb::Report::CostResult& cost) {
  const pb::CostOptions& options = scenario.proto.cost();
  cost.set_terms(decode.rented() ? "rented" : "owned");
  cost.set_prices(options.has_prices() ? options.prices() : kDefaultPrices);
  if (decode.rented()) return;
  cost.set_oldest_price(decode.oldest());
  cost.set_newest_price(decode.newest());
  if (prefill != nullptr) {
    cost.set_oldest_price(std::min(decode.oldest(), prefill->oldest()));
    cost.set_newest_price(std::max(decode.newest(), prefill->newest()));
    FillItems(*prefill, "prefill: ", cost);
    FillItems(decode, "decode: ", cost);
  } else {
    FillItems(decode, "", cost);
  }
}

}  // namespace

void FillInferenceCost(const ResolvedScenario& scenario,
                       const InferenceWork& work, pb::Report& report) {
  report.clear_cost();
  report.clear_energy();
  const InferencePlan& plan = *scenario.inference();
  const auto refuse = [&](const absl::Status& status) {
    report.add_warnings("no cost: " +
                        absl::StrReplaceAll(status.message(), {{"\n", "; "}}));
  };
  const absl::StatusOr<MachineCost> machine = PriceMachine(scenario);
  if (!machine.ok()) return refuse(machine.status());
  std::optional<MachineCost> own;
  if (scenario.prefill) {
    absl::StatusOr<MachineCost> priced =
        PriceMachine(scenario, scenario.prefill->system);
    if (!priced.ok()) return refuse(priced.status());
    own = *std::move(priced);
  }
  const auto& result = report.inference();
  const auto ranks = [](const ParallelLayout& layout) {
    return static_cast<double>(layout.degrees.ranks());
  };
  const System& first = own ? scenario.prefill->system : scenario.system;
  const PhaseCost phases[] = {
      {own ? &*own : &*machine, &first, ranks(plan.prefill()),
       result.prefill_tokens_per_s(), &work.prefill,
       *first.chip().peak(plan.precision())},
      {&*machine, &scenario.system, ranks(plan.decode()),
       result.decode_tokens_per_s(), &work.decode,
       *scenario.system.chip().peak(plan.precision())}};
  const PhaseCost& prefill = phases[0];
  const PhaseCost& decode = phases[1];
  const std::vector<Interval> prompts =
      Intervals([&](const PriceDraw& draw) { return Bill(prefill, draw); });
  // A request of one token does not decode.
  const bool decodes = decode.tokens_per_s > 0;
  const std::vector<Interval> outputs =
      decodes
          ? Intervals([&](const PriceDraw& draw) { return Bill(decode, draw); })
          : prompts;

  pb::Report::CostResult& cost = *report.mutable_cost();
  FillMachine(*machine, own ? &*own : nullptr, scenario, cost);
  cost.set_dollars_per_chip_hour(outputs[0].nominal);
  Set(outputs[0], cost.mutable_chip_hour());
  if (own) Set(prompts[0], cost.mutable_prefill_chip_hour());
  const std::pair<const char*, size_t> parts[] = {
      {"capital", 1}, {"facility", 2}, {"energy", 3}, {"rent", 4}};
  for (const auto& [name, index] : parts) {
    if (outputs[index].nominal == 0) continue;
    auto& share = *cost.add_chip_hour_shares();
    share.set_what(name);
    Set(outputs[index], share.mutable_dollars());
  }
  if (!machine->rented()) {
    const double both = own ? 1 : 0;
    Set({outputs[8].low + both * prompts[8].low,
         outputs[8].nominal + both * prompts[8].nominal,
         outputs[8].high + both * prompts[8].high},
        cost.mutable_capital());
  }
  Set(prompts[5], cost.mutable_million_input_tokens());
  if (decodes) {
    cost.set_dollars_per_million_tokens(outputs[5].nominal);
    Set(outputs[5], cost.mutable_million_output_tokens());
  }
  for (const PhaseCost& phase : phases) {
    if (phase.work->has_value() && !phase.system->chip().power()) {
      report.add_warnings(
          fmt::format("no energy: chip '{}' says no power limit; say one: "
                      "system.chip.power",
                      phase.system->chip().name()));
      return;
    }
  }
  if (!prefill.has_energy()) return;
  pb::Report::EnergyResult& energy = *report.mutable_energy();
  Set(prompts[6], energy.mutable_million_input_joules());
  Set(prompts[7], energy.mutable_million_input_grams_co2e());
  if (!decodes || !decode.has_energy()) return;
  Set(outputs[6], energy.mutable_million_output_joules());
  Set(outputs[7], energy.mutable_million_output_grams_co2e());
  FillStepEnergy(decode, energy);
}

}  // namespace orrery
