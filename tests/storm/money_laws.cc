#include "tests/storm/money_laws.h"

#include <absl/strings/match.h>

#include <cmath>
#include <map>
#include <string>

#include "base/format.h"

namespace orrery {
namespace {

using CostResult = pb::Report::CostResult;
using MoneyInterval = pb::Report::Interval;

constexpr double kHoursPerYear = 8766;
constexpr double kSecondsPerHour = 3600;
constexpr double kJoulesPerKilowattHour = 3.6e6;

class MoneyLaws {
 public:
  MoneyLaws(const pb::Report& report, StormSheet& sheet)
      : report_(report), cost_(report.cost()), sheet_(sheet) {
    for (const CostResult::Factor& factor : cost_.factors()) {
      factors_[factor.id()] = factor.value().nominal();
    }
  }

  void Check() {
    const bool serves = report_.has_inference();
    Equal("productive share", cost_.productive_share(),
          Factor(serves ? "serving/utilisation" : "run/goodput"));
    if (cost_.terms() == "owned") CheckBill();
    CheckHour(
        "chip-hour", cost_.chip_hour(), cost_.chip_hour_shares(),
        cost_.power_limit_watts_per_chip(), cost_.drawn_watts_per_chip(),
        Bought(!serves || cost_.has_million_output_tokens() ? "decode: "
                                                            : "prefill: "));
    Equal("chip-hour, nominal", cost_.dollars_per_chip_hour(),
          cost_.chip_hour().nominal());
    if (cost_.has_prefill_chip_hour()) {
      CheckHour("prefill chip-hour", cost_.prefill_chip_hour(),
                cost_.prefill_chip_hour_shares(),
                cost_.prefill_power_limit_watts_per_chip(),
                cost_.prefill_drawn_watts_per_chip(), Bought("prefill: "));
    }
    serves ? CheckRequests() : CheckStep();
    if (report_.has_energy()) CheckEnergy();
    CheckIntervals();
  }

 private:
  struct Machine {
    double capital = 0;
    double chips = 0;
  };

  void Equal(const std::string& what, double is, double should) {
    // The sums have some ten terms.
    constexpr double kRounding = 1e-9;
    sheet_.Hold("money adds up",
                std::abs(is - should) <= kRounding * std::abs(should),
                fmt::format("{}: {} is reported, {} follows from the rest",
                            what, is, should));
  }

  double Factor(const std::string& id) {
    const auto found = factors_.find(id);
    sheet_.Hold("factors are printed", found != factors_.end(), id);
    return found == factors_.end() ? 1 : found->second;
  }

  // Of the machine whose items begin so; of the only one, if none does.
  Machine Bought(const std::string& prefix) {
    Machine all;
    Machine own;
    const auto add = [](const CostResult::Item& item, Machine& to) {
      // Chips stand first on every bill.
      if (to.chips == 0) to.chips = item.count();
      to.capital += item.total().nominal();
    };
    for (const CostResult::Item& item : cost_.items()) {
      add(item, all);
      if (absl::StartsWith(item.what(), prefix)) add(item, own);
    }
    return own.chips > 0 ? own : all;
  }

  void CheckBill() {
    double sum = 0;
    for (const CostResult::Item& item : cost_.items()) {
      Equal(item.what(), item.total().nominal(),
            item.count() * item.price().nominal());
      sum += item.total().nominal();
    }
    Equal("capital", cost_.capital().nominal(), sum);
  }

  template <class Shares>
  void CheckHour(const std::string& what, const MoneyInterval& hour,
                 const Shares& shares, double limit, double drawn,
                 const Machine& bought) {
    std::map<std::string, double> parts;
    double sum = 0;
    for (const auto& share : shares) {
      parts[share.what()] = share.dollars().nominal();
      sum += share.dollars().nominal();
    }
    Equal(what, hour.nominal(), sum);
    if (cost_.terms() == "rented") {
      Equal(what + ", rent", parts["rent"], sum);
      return;
    }
    const double years = Factor("finance/lifetime");
    const double interest = Factor("finance/interest");
    const double available = Factor("finance/availability");
    const double sold = bought.capital * Factor("finance/residual");
    // Equal payments at the end of every year.
    const double annuity =
        interest == 0 ? 1 / years
                      : interest / (1 - std::pow(1 + interest, -years));
    const double a_year =
        (bought.capital - sold / std::pow(1 + interest, years)) * annuity;
    Equal(what + ", capital", parts["capital"],
          a_year / kHoursPerYear / available / bought.chips);
    Equal(what + ", facility", parts["facility"],
          limit / 1000 * Factor("facility/colocation") * 12 / kHoursPerYear /
              available);
    Equal(what + ", energy", parts["energy"],
          drawn / 1000 * Factor("facility/pue") * Factor("energy/price"));
  }

  void CheckStep() {
    const double chips = static_cast<double>(cost_.chips());
    const double second =
        cost_.dollars_per_chip_hour() * chips / kSecondsPerHour;
    const double share = cost_.productive_share();
    Equal("step", cost_.dollars_per_step(), second * report_.step_time_s());
    Equal("chips", report_.tokens_per_s_per_chip() * chips,
          report_.tokens_per_s());
    Equal("million tokens", cost_.dollars_per_million_tokens(),
          1e6 * second / (report_.tokens_per_s() * share));
    if (!cost_.has_run()) return;
    Equal("run", cost_.dollars_per_run(),
          cost_.dollars_per_step() * cost_.run_steps() / share);
    Equal("run, days", cost_.run_days() * 24 * kSecondsPerHour,
          cost_.run_steps() * report_.step_time_s() / share);
    // A run of so many tokens costs so many times what a token costs.
    const double tokens =
        cost_.run_steps() * report_.tokens_per_s() * report_.step_time_s();
    Equal("run, by tokens", cost_.dollars_per_run(),
          tokens / 1e6 * cost_.dollars_per_million_tokens());
  }

  void CheckRequests() {
    const pb::Report::InferenceResult& r = report_.inference();
    const double share = cost_.productive_share();
    Equal("million input tokens", cost_.million_input_tokens().nominal(),
          1e6 * cost_.prefill_chip_hour().nominal() *
              static_cast<double>(cost_.prefill_chips()) / kSecondsPerHour /
              (r.prefill_tokens_per_s() * share));
    if (!cost_.has_million_output_tokens()) return;
    Equal("million output tokens", cost_.million_output_tokens().nominal(),
          1e6 * cost_.dollars_per_chip_hour() *
              static_cast<double>(cost_.chips()) / kSecondsPerHour /
              (r.decode_tokens_per_s() * share));
    Equal("million output tokens, nominal", cost_.dollars_per_million_tokens(),
          cost_.million_output_tokens().nominal());
    Equal(
        "chips that decode", static_cast<double>(cost_.chips()),
        std::round(r.decode_tokens_per_s() / r.decode_tokens_per_s_per_chip()));
  }

  // Joules and grams of a million tokens of chips that draw so much.
  void CheckTokens(const std::string& what, const MoneyInterval& joules,
                   const MoneyInterval& grams, double watts, int64_t chips,
                   double rate) {
    Equal(what + ", joules", joules.nominal(),
          1e6 * watts * static_cast<double>(chips) * Factor("facility/pue") /
              (rate * cost_.productive_share()));
    Equal(what + ", carbon", grams.nominal(),
          joules.nominal() / kJoulesPerKilowattHour * Factor("energy/carbon"));
  }

  void CheckEnergy() {
    const pb::Report::EnergyResult& e = report_.energy();
    const double share = cost_.productive_share();
    const double pue = Factor("facility/pue");
    const pb::Report::InferenceResult& r = report_.inference();
    if (e.has_million_input_joules() && cost_.terms() == "owned") {
      CheckTokens("million input tokens", e.million_input_joules(),
                  e.million_input_grams_co2e(),
                  cost_.prefill_drawn_watts_per_chip(), cost_.prefill_chips(),
                  r.prefill_tokens_per_s());
    }
    if (e.has_million_output_joules()) {
      CheckTokens("million output tokens", e.million_output_joules(),
                  e.million_output_grams_co2e(), e.machine_watts_per_chip(),
                  cost_.chips(), r.decode_tokens_per_s());
      Equal("a token, joules", e.joules_per_token() * 1e6,
            e.million_output_joules().nominal());
    }
    if (!e.has_joules_per_step()) return;
    const double chip = e.arithmetic_joules() + e.memory_joules() +
                        e.link_joules() + e.idle_joules();
    const double step = chip + e.host_joules() + e.network_joules();
    Equal("step, joules", e.joules_per_step(), step);
    Equal("PUE", e.pue(), pue);
    Equal("step, joules of the facility", e.facility_joules_per_step(),
          step * pue);
    Equal("step, carbon", e.grams_co2e_per_step(),
          e.facility_joules_per_step() / kJoulesPerKilowattHour *
              Factor("energy/carbon"));
    Equal("watts of a chip", e.chip_watts() * step,
          e.machine_watts_per_chip() * chip);
    if (cost_.terms() == "owned") {
      Equal("watts", e.machine_watts_per_chip(), cost_.drawn_watts_per_chip());
    }
    if (report_.has_inference()) return;
    Equal("watts of the machine",
          e.machine_watts_per_chip() * static_cast<double>(cost_.chips()) *
              report_.step_time_s(),
          step);
    Equal("a token, joules",
          e.joules_per_token() * report_.tokens_per_s() * report_.step_time_s(),
          e.facility_joules_per_step() / share);
    if (!cost_.has_run()) return;
    const double steps = cost_.run_steps() / share;
    Equal("run, kWh", e.facility_kwh_per_run() * kJoulesPerKilowattHour,
          e.facility_joules_per_step() * steps);
    Equal("run, carbon", e.tonnes_co2e_per_run() * 1e6,
          e.grams_co2e_per_step() * steps);
  }

  void CheckIntervals() {
    const auto ordered = [&](const std::string& what, const MoneyInterval& i) {
      sheet_.Hold(
          "low <= nominal <= high",
          i.low() <= i.nominal() && i.nominal() <= i.high(),
          fmt::format("{}: {} {} {}", what, i.low(), i.nominal(), i.high()));
    };
    ordered("chip-hour", cost_.chip_hour());
    ordered("step", cost_.step());
    ordered("run", cost_.run());
    ordered("million tokens", cost_.million_tokens());
    ordered("million input tokens", cost_.million_input_tokens());
    ordered("million output tokens", cost_.million_output_tokens());
    ordered("capital", cost_.capital());
    for (const CostResult::Factor& factor : cost_.factors()) {
      ordered(factor.id(), factor.value());
    }
  }

  const pb::Report& report_;
  const CostResult& cost_;
  StormSheet& sheet_;
  std::map<std::string, double> factors_;
};

}  // namespace

void HoldMoney(const pb::Report& report, StormSheet& sheet) {
  if (report.has_cost()) MoneyLaws(report, sheet).Check();
}

}  // namespace orrery
