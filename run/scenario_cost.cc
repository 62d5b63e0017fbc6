#include "run/scenario_cost.h"

#include <absl/strings/str_replace.h>

#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "run/silicon_catalog.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

void Set(const Interval& from, pb::Report::Interval* to) {
  to->set_low(from.low);
  to->set_nominal(from.nominal);
  to->set_high(from.high);
}

// What the money is for: one step, a run, tokens.
struct Output {
  double step_s = 0;
  double chips = 0;
  double tokens_per_step = 0;
  double run_steps = 0;  // 0: not known
};

Output OutputOf(const ResolvedScenario& scenario, const pb::Report& report) {
  Output output{.step_s = report.step_time_s(),
                .chips = static_cast<double>(scenario.system.chips())};
  if (const TrainingPlan* plan = scenario.training()) {
    output.tokens_per_step =
        static_cast<double>(plan->global_batch()) * plan->sequence();
    if (plan->run_tokens()) {
      output.run_steps = *plan->run_tokens() / output.tokens_per_step;
    }
  } else if (scenario.inference()->disaggregated()) {
    // The step is one of the decode pool.
    output.chips =
        static_cast<double>(scenario.inference()->decode().degrees.ranks());
  }
  return output;
}

void FillItems(const MachineCost& machine, pb::Report::CostResult& cost) {
  for (const BillItem& item : machine.items()) {
    auto& to = *cost.add_items();
    to.set_what(item.what);
    to.set_count(item.count);
    to.set_date(item.price.date);
    Set({item.price.low, item.price.nominal, item.price.high},
        to.mutable_price());
    Set({item.count * item.price.low, item.count * item.price.nominal,
         item.count * item.price.high},
        to.mutable_total());
  }
}

void FillMoney(const MachineCost& machine, const Output& output, Watts drawn,
               const std::string& prices, pb::Report::CostResult& cost) {
  // Per draw: chip-hour, its parts, capital, a step, a run, a million tokens.
  const std::vector<Interval> all = Intervals([&](const PriceDraw& draw) {
    const ChipHourCost hour = machine.ChipHour(draw, drawn);
    const double rate = hour.total().value();
    const double per_second = rate * output.chips / 3600;
    const double step = per_second * output.step_s;
    const double goodput = machine.Goodput(draw);
    return std::vector<double>{
        rate,
        hour.capital.value(),
        hour.facility.value(),
        hour.energy.value(),
        hour.rent.value(),
        machine.Capital(draw).value(),
        step,
        step * output.run_steps / goodput,
        output.tokens_per_step > 0
            ? step / output.tokens_per_step * 1e6 / goodput
            : 0};
  });
  cost.set_terms(machine.rented() ? "rented" : "owned");
  cost.set_prices(prices);
  cost.set_dollars_per_chip_hour(all[0].nominal);
  Set(all[0], cost.mutable_chip_hour());
  const std::pair<const char*, size_t> parts[] = {
      {"capital", 1}, {"facility", 2}, {"energy", 3}, {"rent", 4}};
  for (const auto& [name, index] : parts) {
    if (all[index].nominal == 0) continue;
    auto& share = *cost.add_chip_hour_shares();
    share.set_what(name);
    Set(all[index], share.mutable_dollars());
  }
  if (!machine.rented()) {
    cost.set_oldest_price(machine.oldest());
    cost.set_newest_price(machine.newest());
    Set(all[5], cost.mutable_capital());
    FillItems(machine, cost);
  }
  cost.set_dollars_per_step(all[6].nominal);
  Set(all[6], cost.mutable_step());
  if (output.run_steps > 0) {
    cost.set_dollars_per_run(all[7].nominal);
    Set(all[7], cost.mutable_run());
    cost.set_run_days(output.step_s * output.run_steps /
                      machine.Goodput(PriceDraw::Nominal()) / 86400);
  }
  if (output.tokens_per_step > 0) {
    cost.set_dollars_per_million_tokens(all[8].nominal);
    Set(all[8], cost.mutable_million_tokens());
  }
}

void FillEnergy(const MachineCost& machine, const Output& output,
                const StepEnergy& energy, pb::Report::EnergyResult& to) {
  const PriceDraw nominal = PriceDraw::Nominal();
  const double step = energy.machine().value();
  to.set_joules_per_step(step);
  if (output.tokens_per_step > 0) {
    to.set_joules_per_token(step / output.tokens_per_step);
  }
  to.set_chip_watts(energy.chips().value() / output.chips / output.step_s);
  to.set_machine_watts_per_chip(step / output.chips / output.step_s);
  to.set_arithmetic_joules(energy.arithmetic.value());
  to.set_memory_joules(energy.memory.value());
  to.set_link_joules(energy.links.value());
  to.set_idle_joules(energy.idle.value());
  to.set_host_joules(energy.hosts.value());
  to.set_network_joules(energy.network.value());
  const double pue = machine.Pue(nominal);
  const double grams = machine.GramsPerKwh(nominal) / kJoulesPerKwh;
  to.set_pue(pue);
  to.set_facility_joules_per_step(step * pue);
  to.set_grams_co2e_per_step(step * pue * grams);
  if (output.run_steps > 0) {
    const double run = step * pue * output.run_steps / machine.Goodput(nominal);
    to.set_facility_kwh_per_run(run / kJoulesPerKwh);
    to.set_tonnes_co2e_per_run(run * grams / 1e6);
  }
}

}  // namespace

StepWork WorkOf(const SimulatedRun& run) {
  StepWork work{.time = run.result.end.time_since_epoch(),
                .arithmetic = run.executed};
  const Program& program = run.placed.program;
  for (const RankId rank : program.ranks().ids()) {
    const Role& role = program.role_of(rank);
    double bytes = 0;
    for (int32_t t = 0; t < role.task_count(); ++t) {
      const Task& task = role.task(static_cast<TaskId>(t));
      if (task.kind != TaskKind::kKernel) continue;
      bytes +=
          static_cast<double>(role.kernel(task).facts.memory_traffic.value());
    }
    work.memory_bytes +=
        bytes * static_cast<double>(program.ranks()[rank].multiplicity);
  }
  for (const ResourceId link : run.result.carried.ids()) {
    for (const ResourceClass& c : run.transfers.resource_classes[link]) {
      work.link_bytes +=
          run.result.carried[link] * static_cast<double>(c.count);
    }
  }
  return work;
}

absl::StatusOr<MachineCost> PriceMachine(const ResolvedScenario& scenario) {
  return PriceMachine(scenario, scenario.system);
}

absl::StatusOr<MachineCost> PriceMachine(const ResolvedScenario& scenario,
                                         const System& system) {
  const pb::CostOptions& options = scenario.proto.cost();
  ASSIGN_OR_RETURN(const PriceTable prices, LoadPrices(Catalog(), options));
  ASSIGN_OR_RETURN(const Graph graph, BuildGraph(system));
  std::optional<DollarsPerHour> rent;
  if (options.has_rent()) {
    ASSIGN_OR_RETURN(rent, ParseDollarsPerHour(options.rent()));
  }
  return MachineCost::Create(system, graph, prices, rent);
}

void FillCost(const ResolvedScenario& scenario, const StepWork* work,
              pb::Report& report) {
  const absl::StatusOr<MachineCost> machine = PriceMachine(scenario);
  if (!machine.ok()) {
    report.add_warnings(
        "no cost: " +
        absl::StrReplaceAll(machine.status().message(), {{"\n", "; "}}));
    return;
  }
  const Output output = OutputOf(scenario, report);
  const PriceDraw nominal = PriceDraw::Nominal();
  const EnergyRates rates = machine->Rates(nominal);
  Watts drawn = machine->power_limit() * rates.host;
  if (work != nullptr && output.step_s > 0) {
    if (scenario.system.chip().power()) {
      const StepEnergy energy = EnergyOf(
          scenario.system, *scenario.system.chip().peak(scenario.precision()),
          *work, rates);
      drawn = Watts(energy.machine().value() / output.step_s);
      FillEnergy(*machine, output, energy, *report.mutable_energy());
    } else {
      report.add_warnings(
          fmt::format("no energy: chip '{}' says no power limit; say one: "
                      "system.chip.power",
                      scenario.system.chip().name()));
    }
  }
  const pb::CostOptions& options = scenario.proto.cost();
  FillMoney(*machine, output, drawn,
            options.has_prices() ? options.prices() : kDefaultPrices,
            *report.mutable_cost());
}

}  // namespace orrery
