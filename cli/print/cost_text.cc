#include "cli/print/cost_text.h"

#include <cmath>

#include "base/format.h"
#include "base/units_text.h"

namespace orrery {
namespace {

template <class I>
std::string PriceRow(const std::string& what, const I& interval) {
  return fmt::format("  {:<40} {:>12}   {:>12} .. {}\n", what,
                     DollarsText(interval.nominal()),
                     DollarsText(interval.low()), DollarsText(interval.high()));
}

// The numbers of the price list that stand between the others, and how each is
// replaced.
std::string FactorsText(const pb::Report::CostResult& c) {
  if (c.factors().empty()) return "";
  std::string text = fmt::format(
      "\nfactors between these; --set '{}' replaces one\n"
      "  {:<24} {:>10} {:<13} {:<16} {:<8} from\n",
      c.factors(c.factors_size() - 1).setting(), "", "nominal", "",
      "low .. high", "date");
  for (const auto& factor : c.factors()) {
    const auto& value = factor.value();
    text +=
        fmt::format("  {:<24} {:>10.6g} {:<13} {:<16} {:<8} {}\n", factor.id(),
                    value.nominal(), factor.unit(),
                    fmt::format("{:.6g} .. {:.6g}", value.low(), value.high()),
                    factor.date(), factor.from());
  }
  return text;
}

// What a million tokens of a phase take, with the facility.
template <class I>
std::string TokenRow(const std::string& what, const I& joules, const I& grams) {
  return fmt::format(
      "  {:<26} {:>9.4g} MJ  ({:.4g} .. {:.4g}), {:.4g} g CO2e ({:.4g} .. "
      "{:.4g})\n",
      what, joules.nominal() / 1e6, joules.low() / 1e6, joules.high() / 1e6,
      grams.nominal(), grams.low(), grams.high());
}

// What stands between the energy of a step and that of its tokens.
std::string TokenFactorsText(const pb::Report& report) {
  std::string text = ProductiveShareText(report.cost());
  if (report.energy().has_pue()) {
    text = fmt::format("PUE {:.6g}, {}", report.energy().pue(), text);
  }
  return text;
}

std::string TokenText(const pb::Report::EnergyResult& e,
                      const std::string& per_token) {
  if (!e.has_million_input_joules()) return "";
  std::string text =
      fmt::format("energy with the facility, and carbon ({})\n", per_token);
  text += TokenRow("a million input tokens", e.million_input_joules(),
                   e.million_input_grams_co2e());
  if (e.has_million_output_joules()) {
    text += TokenRow("a million output tokens", e.million_output_joules(),
                     e.million_output_grams_co2e());
  }
  return text;
}

std::string EnergyText(const pb::Report& report) {
  const pb::Report::EnergyResult& e = report.energy();
  const double step = e.joules_per_step();
  const std::string per_token = TokenFactorsText(report);
  std::string text = TokenText(e, per_token);
  if (step <= 0) return text;
  const bool tokens = e.has_million_output_joules();
  text += tokens
              ? fmt::format(
                    "energy of a decode step: {:.4g} J in the machine, {:.4g} "
                    "J with the facility (PUE {:.2f})\n",
                    step, e.facility_joules_per_step(), e.pue())
              : fmt::format(
                    "energy of a step: {:.4g} MJ in the machine, {:.4g} MJ "
                    "with the facility (PUE {:.2f})\n",
                    step / 1e6, e.facility_joules_per_step() / 1e6, e.pue());
  const std::pair<const char*, double> parts[] = {
      {"arithmetic", e.arithmetic_joules()},
      {"memory", e.memory_joules()},
      {"links", e.link_joules()},
      {"chips, base", e.idle_joules()},
      {"hosts", e.host_joules()},
      {"network", e.network_joules()}};
  for (const auto& [name, joules] : parts) {
    text += fmt::format("  {:<40} {:>9.1f} %\n", name, 100 * joules / step);
  }
  text += fmt::format("  {:<40} {:>9.0f} W\n", "a chip draws", e.chip_watts());
  text += fmt::format("  {:<40} {:>9.0f} W\n", "its share of the machine",
                      e.machine_watts_per_chip());
  if (e.has_joules_per_token()) {
    text += fmt::format("  {:<40} {:>9.4g} J  ({})\n", "a token",
                        e.joules_per_token(), per_token);
  }
  text += fmt::format("  {:<40} {:>9.3g} g CO2e\n", "carbon of a step",
                      e.grams_co2e_per_step());
  if (!tokens && e.joules_per_token() > 0) {
    text +=
        fmt::format("  {:<40} {:>9.4g} MJ, {:.4g} g CO2e\n", "a million tokens",
                    e.joules_per_token(),
                    1e6 * e.joules_per_token() / e.facility_joules_per_step() *
                        e.grams_co2e_per_step());
  }
  if (e.has_facility_kwh_per_run()) {
    text += fmt::format("  {:<40} {:>9.4g} GWh, {:.4g} t CO2e  ({})\n",
                        "the run", e.facility_kwh_per_run() / 1e6,
                        e.tonnes_co2e_per_run(), per_token);
  }
  return text;
}

std::string WattsText(const char* what, double watts) {
  return fmt::format("{} {:.6g} W", what, watts);
}

}  // namespace

std::string ProductiveShareText(const pb::Report::CostResult& cost) {
  for (const auto& factor : cost.factors()) {
    if (factor.id() == "run/goodput" || factor.id() == "serving/utilisation") {
      return fmt::format("{} {:.6g}",
                         factor.id().substr(factor.id().find('/') + 1),
                         cost.productive_share());
    }
  }
  return fmt::format("productive share {:.6g}", cost.productive_share());
}

std::string FactorsLine(const pb::Report& report) {
  const pb::Report::CostResult& cost = report.cost();
  std::string text = TokenFactorsText(report);
  std::string replaced;
  for (const auto& factor : cost.factors()) {
    if (factor.from() == cost.prices()) continue;
    replaced += (replaced.empty() ? "" : ", ") + factor.id();
  }
  const int last = cost.factors_size() - 1;
  return fmt::format(
      "{} (price list {}{}; to change one: --set '{}'; 'orrery cost' lists "
      "all)",
      text, cost.prices(),
      replaced.empty() ? "" : "; by the scenario: " + replaced,
      last < 0 ? "" : cost.factors(last).setting());
}

std::string DollarsText(double dollars) {
  const double size = std::abs(dollars);
  if (size >= 1e9) return fmt::format("{:.4g} GUSD", dollars / 1e9);
  if (size >= 1e6) return fmt::format("{:.4g} MUSD", dollars / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g} kUSD", dollars / 1e3);
  return fmt::format("{:.4g} USD", dollars);
}

std::string CostText(const pb::Report& report) {
  const pb::Report::CostResult& c = report.cost();
  std::string text = fmt::format(
      "{}: {}, prices {}{}\n\n", report.scenario(), c.terms(), c.prices(),
      c.has_oldest_price()
          ? fmt::format(" ({} to {})", c.oldest_price(), c.newest_price())
          : "");
  if (c.items_size() > 0) {
    text += fmt::format("{:<32} {:>9} {:>12} {:>12}  {}\n", "bought", "count",
                        "each", "together", "price of");
    for (const auto& item : c.items()) {
      text +=
          fmt::format("  {:<30} {:>9.0f} {:>12} {:>12}  {}{}\n", item.what(),
                      item.count(), DollarsText(item.price().nominal()),
                      DollarsText(item.total().nominal()), item.date(),
                      item.from() == c.prices() ? "" : item.from());
    }
    text += "\n";
  }
  text += fmt::format("{:<42} {:>12}   {:>12}\n", "", "nominal", "middle 90 %");
  if (c.has_capital()) text += PriceRow("capital", c.capital());
  const auto hour = [&](const char* what, const auto& interval,
                        const auto& shares, double limit, double drawn) {
    text += PriceRow(what, interval);
    for (const auto& share : shares) {
      std::string name = "  of it " + share.what();
      if (share.what() == "facility") name += WattsText(", of a limit", limit);
      if (share.what() == "energy") name += WattsText(", drawing", drawn);
      text += PriceRow(name, share.dollars());
    }
  };
  hour(c.has_prefill_chip_hour() ? "a chip-hour, decoding" : "a chip-hour",
       c.chip_hour(), c.chip_hour_shares(), c.power_limit_watts_per_chip(),
       c.drawn_watts_per_chip());
  if (c.has_prefill_chip_hour()) {
    hour("a chip-hour, prefilling", c.prefill_chip_hour(),
         c.prefill_chip_hour_shares(), c.prefill_power_limit_watts_per_chip(),
         c.prefill_drawn_watts_per_chip());
  }
  if (c.has_step()) {
    text += PriceRow(fmt::format("a step: {} on {} chips",
                                 SecondsText(report.step_time_s()), c.chips()),
                     c.step());
  }
  if (c.has_run()) {
    text += PriceRow(fmt::format("the run: {:.6g} steps, {:.3g} days",
                                 c.run_steps(), c.run_days()),
                     c.run());
  }
  // Tokens of so many a second, made by so many chips.
  const auto tokens = [&](const char* what, const auto& interval, double rate,
                          int64_t chips) {
    text += PriceRow(fmt::format("{}: {}/s on {} chips", what,
                                 rate >= 1e4 ? fmt::format("{:.0f}", rate)
                                             : fmt::format("{:.6g}", rate),
                                 chips),
                     interval);
  };
  if (c.has_million_tokens()) {
    tokens("1M tokens", c.million_tokens(), report.tokens_per_s(), c.chips());
  }
  const auto& served = report.inference();
  if (c.has_million_input_tokens()) {
    tokens("1M input tokens", c.million_input_tokens(),
           served.prefill_tokens_per_s(), c.prefill_chips());
  }
  if (c.has_million_output_tokens()) {
    tokens("1M output tokens", c.million_output_tokens(),
           served.decode_tokens_per_s(), c.chips());
  }
  text += FactorsText(c);
  if (report.has_energy()) text += "\n" + EnergyText(report);
  if (!report.warnings().empty()) text += "\n";
  for (const std::string& warning : report.warnings()) {
    text += fmt::format("note: {}\n", warning);
  }
  return text;
}

std::string PackageText(const pb::PackageResult& r) {
  std::string text = fmt::format("{}: prices {}\n\n", r.name(), r.prices());
  text += fmt::format("{:<12} {:<8} {:>5} {:>9} {:>11} {:>8} {:>12}\n", "die",
                      "process", "count", "mm2", "per wafer", "yield",
                      "known good");
  for (const auto& die : r.die()) {
    text += fmt::format(
        "{:<12} {:<8} {:>5} {:>9.1f} {:>11.0f} {:>8.3f} {:>12}\n", die.name(),
        die.process(), die.count(), die.area_mm2(), die.gross_dies(),
        die.yield(), DollarsText(die.known_good_dollars()));
  }
  text +=
      fmt::format("\n{:<42} {:>12}   {:>12}\n", "", "nominal", "middle 90 %");
  text += PriceRow("dies as if all were good", r.raw_dies());
  text += PriceRow("defects", r.die_defects());
  text += PriceRow("memory", r.memory());
  text += PriceRow("package", r.package());
  text += PriceRow("package scrap", r.package_scrap());
  text += PriceRow("good dies and stacks lost with it", r.wasted_dies());
  text += PriceRow("test and module", r.test());
  text += PriceRow("recurring", r.recurring());
  text += PriceRow("design and masks, per unit", r.nre());
  text += PriceRow("all", r.total());
  text += fmt::format(
      "\nassembly yield {:.3f}, quality {:.4f}, {:.1f} kg CO2e of silicon and "
      "package\n",
      r.assembly_yield(), r.quality(), r.carbon_kg());
  return text;
}

std::string CostLine(const pb::Report& report) {
  if (!report.has_cost()) return "";
  const pb::Report::CostResult& c = report.cost();
  std::string text = fmt::format("{}/chip-hour, {} a step",
                                 DollarsText(c.dollars_per_chip_hour()),
                                 DollarsText(c.dollars_per_step()));
  if (c.has_run()) {
    text += fmt::format(", {} ({} .. {}) the run of {:.3g} days ({})",
                        DollarsText(c.dollars_per_run()),
                        DollarsText(c.run().low()), DollarsText(c.run().high()),
                        c.run_days(), ProductiveShareText(c));
  } else if (c.has_dollars_per_million_tokens()) {
    text += fmt::format(", {} a million tokens ({})",
                        DollarsText(c.dollars_per_million_tokens()),
                        ProductiveShareText(c));
  }
  return text;
}

std::string EnergyLine(const pb::Report& report) {
  if (!report.has_energy()) return "";
  const pb::Report::EnergyResult& e = report.energy();
  return fmt::format(
      "{:.0f} W a chip, {:.3g} MJ a step{}", e.chip_watts(),
      e.joules_per_step() / 1e6,
      e.has_joules_per_token()
          ? fmt::format(", {:.4g} J a token ({})", e.joules_per_token(),
                        TokenFactorsText(report))
          : "");
}

}  // namespace orrery
