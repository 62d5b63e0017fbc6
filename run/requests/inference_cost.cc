#include "run/requests/inference_cost.h"

#include <absl/strings/str_replace.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "run/cost_blocks.h"
#include "run/scenario_cost.h"

namespace orrery {
namespace {

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

// Of the pool, for the time of its work. Chips of other pools are not in it:
// the pool draws its share of what a machine would that did the same with all
// its chips.
StepEnergy EnergyOfPool(const PhaseCost& phase, const PriceDraw& draw) {
  const double share = phase.share();
  StepWork whole = phase.work->value();
  whole.arithmetic = whole.arithmetic / share;
  whole.memory_bytes /= share;
  whole.link_bytes /= share;
  const StepEnergy all =
      EnergyOf(*phase.system, phase.peak, whole, phase.machine->Rates(draw));
  return {.arithmetic = all.arithmetic * share,
          .memory = all.memory * share,
          .links = all.links * share,
          .idle = all.idle * share,
          .hosts = all.hosts * share,
          .network = all.network * share};
}

// Watts of the whole machine if all of it did what the pool does.
Watts Drawn(const PhaseCost& phase, const PriceDraw& draw) {
  if (!phase.has_energy()) {
    return phase.machine->power_limit() * phase.machine->Rates(draw).host;
  }
  return Watts(EnergyOfPool(phase, draw).machine().value() /
               ToSeconds((*phase.work)->time) / phase.share());
}

// Of one draw: a chip-hour and its parts; then per million tokens dollars,
// joules of the facility and grams of CO2e.
std::vector<double> Bill(const PhaseCost& phase, const PriceDraw& draw) {
  const Watts drawn = Drawn(phase, draw);
  const ChipHourCost hour = phase.machine->ChipHour(draw, drawn);
  const double seconds =
      phase.tokens_per_s > 0 ? kMillion / phase.tokens_per_s : 0;
  const double used = phase.machine->ProductiveShare(/*serves=*/true, draw);
  const double joules = phase.has_energy()
                            ? drawn.value() * phase.share() * seconds *
                                  phase.machine->Pue(draw) / used
                            : 0;
  std::vector<double> values = HourValues(hour);
  values.push_back(hour.total().value() / 3600 * phase.chips * seconds / used);
  values.push_back(joules);
  values.push_back(joules / kJoulesPerKwh * phase.machine->GramsPerKwh(draw));
  return values;
}

// What is bought: both machines, if prefill has one of its own.
void FillBought(const MachineCost& decode, const MachineCost* prefill,
                pb::Report::CostResult& cost) {
  if (decode.rented()) return;
  const std::vector<Interval> capital = Intervals([&](const PriceDraw& draw) {
    return std::vector<double>{
        decode.Capital(draw).value() +
        (prefill != nullptr ? prefill->Capital(draw).value() : 0)};
  });
  SetInterval(capital[0], cost.mutable_capital());
  if (prefill == nullptr) return FillItems(decode, "", cost);
  cost.set_oldest_price(std::min(decode.oldest(), prefill->oldest()));
  cost.set_newest_price(std::max(decode.newest(), prefill->newest()));
  FillItems(*prefill, "prefill: ", cost);
  FillItems(decode, "decode: ", cost);
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

  WarnOfUnusedPrices(*machine, report);
  pb::Report::CostResult& cost = *report.mutable_cost();
  FillTerms(*machine, scenario.proto.cost(), cost);
  FillBought(*machine, own ? &*own : nullptr, cost);
  const PriceDraw nominal = PriceDraw::Nominal();
  FillChipHour(outputs, cost);
  const PhaseCost& charged = decodes ? decode : prefill;
  cost.set_chips(std::llround(charged.chips));
  FillHourPower(*charged.machine, Drawn(charged, nominal), cost);
  FillPrefillChipHour(prompts, *prefill.machine, Drawn(prefill, nominal), cost);
  cost.set_prefill_chips(std::llround(prefill.chips));
  cost.set_productive_share(machine->ProductiveShare(/*serves=*/true, nominal));
  FillFactors(*machine, /*serves=*/true, prefill.has_energy(), cost);
  const auto of = [](const std::vector<Interval>& bill, size_t value) {
    return bill[kHourValues + value];
  };
  SetInterval(of(prompts, 0), cost.mutable_million_input_tokens());
  if (decodes) {
    cost.set_dollars_per_million_tokens(of(outputs, 0).nominal);
    SetInterval(of(outputs, 0), cost.mutable_million_output_tokens());
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
  SetInterval(of(prompts, 1), energy.mutable_million_input_joules());
  SetInterval(of(prompts, 2), energy.mutable_million_input_grams_co2e());
  if (!decodes || !decode.has_energy()) return;
  SetInterval(of(outputs, 1), energy.mutable_million_output_joules());
  SetInterval(of(outputs, 2), energy.mutable_million_output_grams_co2e());
  const double seconds = ToSeconds((*decode.work)->time);
  FillStepEnergy(*decode.machine, EnergyOfPool(decode, PriceDraw::Nominal()),
                 {.chips = decode.chips,
                  .seconds = seconds,
                  .tokens = seconds * decode.tokens_per_s,
                  .productive_share = cost.productive_share()},
                 energy);
}

}  // namespace orrery
