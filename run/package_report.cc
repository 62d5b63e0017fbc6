#include "run/package_report.h"

#include <vector>

#include "base/status.h"
#include "cost/silicon/package_cost.h"

namespace orrery {

absl::StatusOr<pb::PackageResult> ReportPackage(const pb::Package& package,
                                                const SiliconLibrary& library) {
  ASSIGN_OR_RETURN(const PackageModel model,
                   PackageModel::Create(package, library));
  pb::PackageResult result;
  result.set_name(package.name());
  result.set_prices(library.prices.name());
  const std::vector<Interval> all = Intervals([&](const PriceDraw& draw) {
    const CostBreakdown c = model.Evaluate(draw).cost;
    return std::vector<double>{c.raw_dies.value(),      c.die_defects.value(),
                               c.memory.value(),        c.package.value(),
                               c.package_scrap.value(), c.wasted_dies.value(),
                               c.test.value(),          c.nre.value(),
                               c.recurring().value(),   c.total().value()};
  });
  pb::PackageResult::Spread* spreads[] = {
      result.mutable_raw_dies(),      result.mutable_die_defects(),
      result.mutable_memory(),        result.mutable_package(),
      result.mutable_package_scrap(), result.mutable_wasted_dies(),
      result.mutable_test(),          result.mutable_nre(),
      result.mutable_recurring(),     result.mutable_total()};
  for (size_t i = 0; i < all.size(); ++i) {
    spreads[i]->set_low(all[i].low);
    spreads[i]->set_nominal(all[i].nominal);
    spreads[i]->set_high(all[i].high);
  }
  const PackageCost nominal = model.Evaluate(PriceDraw::Nominal());
  result.set_assembly_yield(nominal.assembly_yield);
  result.set_quality(nominal.quality);
  result.set_carbon_kg(nominal.carbon.value() / 1e3);
  for (const DieLine& line : nominal.dies) {
    auto& die = *result.add_die();
    die.set_name(line.name);
    die.set_process(line.process);
    die.set_count(line.count);
    die.set_area_mm2(line.area.value());
    die.set_gross_dies(line.gross_dies);
    die.set_yield(line.yield);
    die.set_known_good_dollars(line.known_good.value());
  }
  return result;
}

}  // namespace orrery
