#include "run/scenario_cost.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "run/cost_blocks.h"
#include "run/silicon_catalog.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

constexpr double kMillion = 1e6;

// What the money is for: one step, a run, tokens.
struct Output {
  double step_s = 0;
  int64_t chips = 0;
  double tokens_per_step = 0;
  double run_steps = 0;  // 0: not known
  bool serves = false;
};

Output OutputOf(const ResolvedScenario& scenario, const pb::Report& report) {
  Output output{.step_s = report.step_time_s(),
                .chips = scenario.system.chips(),
                .serves = scenario.inference() != nullptr};
  if (const TrainingPlan* plan = scenario.training()) {
    output.tokens_per_step =
        static_cast<double>(plan->global_batch()) * plan->sequence();
    if (plan->run_tokens()) {
      output.run_steps = *plan->run_tokens() / output.tokens_per_step;
    }
  } else if (scenario.inference()->disaggregated()) {
    // The step is one of the decode pool.
    output.chips = scenario.inference()->decode().degrees.ranks();
  }
  return output;
}

// Mean power of the machine in the step; without its work a share of the limit.
struct Draw {
  const ResolvedScenario& scenario;
  const MachineCost& machine;
  const Output& output;
  const StepWork* work;  // with a chip whose power is known, or null

  StepEnergy Energy(const PriceDraw& draw) const {
    const System& system = scenario.system;
    return EnergyOf(system, *system.chip().peak(scenario.precision()), *work,
                    machine.Rates(draw));
  }
  Watts Power(const PriceDraw& draw) const {
    if (work == nullptr) {
      return machine.power_limit() * machine.Rates(draw).host;
    }
    return Watts(Energy(draw).machine().value() / output.step_s);
  }
};

void FillMoney(const Draw& of, pb::Report::CostResult& cost) {
  const MachineCost& machine = of.machine;
  const Output& output = of.output;
  // Per draw: a chip-hour and its parts, capital, a step, a run, a million
  // tokens.
  const std::vector<Interval> all = Intervals([&](const PriceDraw& draw) {
    const ChipHourCost hour = machine.ChipHour(draw, of.Power(draw));
    const double step = hour.total().value() *
                        static_cast<double>(output.chips) / 3600 *
                        output.step_s;
    const double productive = machine.ProductiveShare(output.serves, draw);
    std::vector<double> values = HourValues(hour);
    values.push_back(machine.Capital(draw).value());
    values.push_back(step);
    values.push_back(step * output.run_steps / productive);
    values.push_back(output.tokens_per_step > 0
                         ? step / output.tokens_per_step * kMillion / productive
                         : 0);
    return values;
  });
  const absl::Span<const Interval> rest =
      absl::MakeConstSpan(all).subspan(kHourValues);
  FillTerms(machine, of.scenario.proto.cost(), cost);
  FillChipHour(all, cost);
  const double share =
      machine.ProductiveShare(output.serves, PriceDraw::Nominal());
  cost.set_productive_share(share);
  cost.set_chips(output.chips);
  FillHourPower(machine, of.Power(PriceDraw::Nominal()), cost);
  FillFactors(machine, output.serves, of.work != nullptr, cost);
  if (!machine.rented()) {
    SetInterval(rest[0], cost.mutable_capital());
    FillItems(machine, "", cost);
  }
  cost.set_dollars_per_step(rest[1].nominal);
  SetInterval(rest[1], cost.mutable_step());
  if (output.run_steps > 0) {
    cost.set_dollars_per_run(rest[2].nominal);
    SetInterval(rest[2], cost.mutable_run());
    cost.set_run_steps(output.run_steps);
    cost.set_run_days(output.step_s * output.run_steps / share / 86400);
  }
  if (output.tokens_per_step > 0) {
    cost.set_dollars_per_million_tokens(rest[3].nominal);
    SetInterval(rest[3], cost.mutable_million_tokens());
  }
}

void FillEnergy(const Draw& of, pb::Report::EnergyResult& to) {
  const MachineCost& machine = of.machine;
  const Output& output = of.output;
  const double share =
      machine.ProductiveShare(output.serves, PriceDraw::Nominal());
  FillStepEnergy(machine, of.Energy(PriceDraw::Nominal()),
                 {.chips = static_cast<double>(output.chips),
                  .seconds = output.step_s,
                  .tokens = output.tokens_per_step,
                  .productive_share = share},
                 to);
  if (output.run_steps > 0) {
    const double steps = output.run_steps / share;
    to.set_facility_kwh_per_run(to.facility_joules_per_step() * steps /
                                kJoulesPerKwh);
    to.set_tonnes_co2e_per_run(to.grams_co2e_per_step() * steps / 1e6);
  }
}

// Call by call, so that a folded run has what the whole one has.
double BytesSentByChips(const SimulatedRun& run) {
  const Program& program = run.placed.program;
  IdVector<CallId, double> sent;
  for (const CallId id : program.calls().ids()) {
    const GroupId group = program.calls()[id].group;
    // Every simulated member runs it.
    sent.Add(run.transfers.sent_by_chips[run.transfers.plan_of_call[id]] *
             (run.placed.folded ? run.placed.stands_for[id] : 1) /
             program.groups()[group].member_count);
  }
  double sum = 0;
  for (const RankId rank : program.ranks().ids()) {
    const Role& role = program.role_of(rank);
    for (int32_t p = 0; p < role.place_count(); ++p) {
      const auto place = static_cast<PlaceId>(p);
      const Task& task = role.at(place);
      if (task.kind == TaskKind::kKernel || task.kind == TaskKind::kMarker) {
        continue;
      }
      sum += role.times(place) * sent[program.call_of(rank, task)];
    }
  }
  return sum;
}

}  // namespace

StepWork WorkOf(const SimulatedRun& run) {
  StepWork work{.time = run.result.end.time_since_epoch(),
                .arithmetic = run.executed};
  const Program& program = run.placed.program;
  for (const RankId rank : program.ranks().ids()) {
    const Role& role = program.role_of(rank);
    double bytes = 0;
    for (int32_t p = 0; p < role.place_count(); ++p) {
      const auto place = static_cast<PlaceId>(p);
      const Task& task = role.at(place);
      if (task.kind != TaskKind::kKernel) continue;
      bytes +=
          role.times(place) *
          static_cast<double>(role.kernel(task).facts.memory_traffic.value());
    }
    work.memory_bytes +=
        bytes * static_cast<double>(program.ranks()[rank].multiplicity);
  }
  work.link_bytes = BytesSentByChips(run);
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

absl::StatusOr<pb::Scenario> WithRates(pb::Scenario scenario) {
  pb::CostOptions& options = *scenario.mutable_cost();
  if (!options.has_prices()) options.set_prices(kDefaultPrices);
  ASSIGN_OR_RETURN(const pb::PriceList list,
                   Catalog().Prices(options.prices()));
  const std::vector<std::string> rates = RateIds();
  const std::string_view other =
      scenario.has_training() ? kUtilisation : kGoodput;
  for (const pb::Price& price : list.price()) {
    if (std::find(rates.begin(), rates.end(), price.id()) == rates.end() ||
        price.id() == other ||
        std::any_of(options.price().begin(), options.price().end(),
                    [&](const auto& p) { return p.id() == price.id(); })) {
      continue;
    }
    pb::Price& added = *options.add_price();
    added.set_id(price.id());
    *added.mutable_price() = price.price();
  }
  return scenario;
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
  const bool powered = scenario.system.chip().power().has_value();
  const bool ran = work != nullptr && output.step_s > 0;
  const Draw of{scenario, *machine, output, ran && powered ? work : nullptr};
  if (of.work != nullptr) {
    FillEnergy(of, *report.mutable_energy());
  } else if (ran) {
    report.add_warnings(
        fmt::format("no energy: chip '{}' says no power limit; say one: "
                    "system.chip.power",
                    scenario.system.chip().name()));
  }
  WarnOfUnusedPrices(*machine, report);
  FillMoney(of, *report.mutable_cost());
}

}  // namespace orrery
