#include "run/derived_chip.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>
#include <absl/strings/strip.h>

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/legal.h"
#include "cost/silicon/technology.h"
#include "run/package_report.h"
#include "run/silicon_catalog.h"
#include "topology/machine/chip.h"

namespace orrery {
namespace {

// The package that says what the chip is made of.
absl::StatusOr<pb::Package> PackageOf(const Catalog& catalog,
                                      const std::string& chip) {
  for (const std::string& name : catalog.Names("packages")) {
    ASSIGN_OR_RETURN(pb::Package package, catalog.Package(name));
    if (package.chip() == chip) return package;
  }
  return absl::InvalidArgumentError(fmt::format(
      "chip '{}' has no package that says what it is made of; those of 'orrery "
      "list packages' have",
      chip));
}

// The kinds of memory stacks of which the price list says what they hold.
std::vector<std::string> MemoryKinds(const PriceTable& prices) {
  std::vector<std::string> kinds;
  for (const auto& [id, entry] : prices.entries()) {
    absl::string_view kind = id;
    if (absl::ConsumePrefix(&kind, "stack/") &&
        absl::ConsumeSuffix(&kind, "/capacity")) {
      kinds.emplace_back(kind);
    }
  }
  return kinds;
}

// That of the known chip, but for what is said.
absl::StatusOr<TechnologyBudget> ChangedBudget(const pb::Chip& base,
                                               const pb::Package& package,
                                               const pb::Technology& technology,
                                               const SiliconLibrary& library) {
  // Per mm2 of die: twice what the densest known packages draw.
  constexpr double kMostWatts = 2;
  ASSIGN_OR_RETURN(TechnologyBudget budget, BudgetOf(base, package));
  Violations wrong;
  CheckLegal(technology, "", &wrong);
  if (technology.has_process()) {
    budget.process = technology.process();
    std::vector<std::string> processes;
    for (const auto& [name, process] : library.processes) {
      processes.push_back(name);
    }
    if (!library.processes.contains(budget.process)) {
      wrong.Add(fmt::format("process: must be one of {}, got '{}'",
                            absl::StrJoin(processes, ", "),
                            budget.process.substr(0, 80)));
    }
  }
  if (technology.has_hbm()) {
    budget.memory = technology.hbm();
    const std::vector<std::string> kinds = MemoryKinds(library.prices);
    if (!absl::c_linear_search(kinds, budget.memory)) {
      wrong.Add(fmt::format("hbm: must be one of {}, got '{}'",
                            absl::StrJoin(kinds, ", "),
                            budget.memory.substr(0, 80)));
    }
  }
  RETURN_IF_ERROR(wrong.ToStatus());
  if (technology.has_dies()) budget.dies = technology.dies();
  if (technology.has_stacks()) budget.stacks = technology.stacks();
  if (technology.has_links()) budget.links = technology.links();
  if (technology.has_area()) {
    ASSIGN_OR_RETURN(budget.area, ParseSquareMillimetres(technology.area()));
  }
  if (technology.has_power()) {
    ASSIGN_OR_RETURN(budget.power, ParseWatts(technology.power()));
    const double area = budget.dies * budget.area.value();
    if (budget.power.value() > kMostWatts * area) {
      return absl::InvalidArgumentError(fmt::format(
          "power: {} on {:g} mm2 is more than {} W/mm2, which nobody cools; "
          "write at most {:.0f} W",
          ToText(budget.power), area, kMostWatts, kMostWatts * area));
    }
  }
  if (technology.has_link_share()) {
    budget.link_share = technology.link_share();
  }
  return budget;
}

}  // namespace

absl::StatusOr<DerivedChip> DeriveFrom(const Catalog& catalog,
                                       const pb::Chip& base,
                                       const pb::Technology& technology,
                                       const SiliconLibrary& library) {
  DerivedChip derived;
  ASSIGN_OR_RETURN(derived.known, PackageOf(catalog, base.name()));
  ASSIGN_OR_RETURN(const TechnologyBudget budget,
                   ChangedBudget(base, derived.known, technology, library));
  ASSIGN_OR_RETURN(derived.chip,
                   DeriveChip(base, derived.known, budget, library));
  RETURN_IF_ERROR(Chip::FromProto(derived.chip).status());
  ASSIGN_OR_RETURN(derived.package,
                   DerivePackage(derived.known, budget, library));
  return derived;
}

absl::Status CheckBudget(const Catalog& catalog, const pb::Scenario& scenario,
                         const pb::Technology& technology) {
  const pb::Chip& base = scenario.system().chip();
  ASSIGN_OR_RETURN(const SiliconLibrary library,
                   LoadSilicon(catalog, scenario.cost()));
  ASSIGN_OR_RETURN(const pb::Package package, PackageOf(catalog, base.name()));
  return ChangedBudget(base, package, technology, library).status();
}

absl::StatusOr<ChipPrice> ApplyTechnology(const Catalog& catalog,
                                          const pb::Technology& technology,
                                          pb::Scenario* scenario) {
  pb::CostOptions& cost = *scenario->mutable_cost();
  ASSIGN_OR_RETURN(const SiliconLibrary library, LoadSilicon(catalog, cost));
  const pb::Chip& base = scenario->system().chip();
  ASSIGN_OR_RETURN(DerivedChip derived,
                   DeriveFrom(catalog, base, technology, library));
  ASSIGN_OR_RETURN(const pb::PackageResult made,
                   ReportPackage(derived.package, library));
  double markup = technology.markup();
  std::string date;
  if (!technology.has_markup()) {
    ASSIGN_OR_RETURN(const PriceEntry* price,
                     library.prices.Find("chip/" + base.name(), "USD"));
    ASSIGN_OR_RETURN(const pb::PackageResult known,
                     ReportPackage(derived.known, library));
    markup = price->range.nominal / known.total().nominal();
    date = price->range.date;
  } else if (!(markup > 0 && markup <= 1000)) {
    return absl::InvalidArgumentError(fmt::format(
        "markup: must be above 0 and at most 1000, got {}", markup));
  }
  pb::Price& price = *cost.add_price();
  price.set_id("chip/" + derived.chip.name());
  const auto dollars = [&](double amount) {
    return fmt::format("{:.2f} USD", amount * markup);
  };
  price.mutable_price()->set_low(dollars(made.total().low()));
  price.mutable_price()->set_nominal(dollars(made.total().nominal()));
  price.mutable_price()->set_high(dollars(made.total().high()));
  if (!date.empty()) price.mutable_price()->set_date(date);
  *scenario->mutable_system()->mutable_chip() = std::move(derived.chip);
  return ChipPrice{made.total().nominal(), made.total().nominal() * markup};
}

}  // namespace orrery
