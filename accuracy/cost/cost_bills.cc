// Published bills: accelerators, clusters, training runs, chip-hours, carbon.
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <numeric>

#include "accuracy/cost/cost_models.h"
#include "accuracy/table/measurement_table.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "cost/ownership/machine_cost.h"
#include "cost/ownership/run_bill.h"
#include "cost/silicon/carbon.h"
#include "cost/silicon/package_cost.h"
#include "run/silicon_catalog.h"
#include "topology/graph/build.h"
#include "topology/machine/system.h"

namespace orrery {
namespace {

absl::Status NotBilled(const CostRow& row) {
  return absl::UnimplementedError(fmt::format(
      "'{}' of case '{}' is an input of the price list, or not modelled",
      row.quantity, row.kase));
}

absl::StatusOr<double> Package(const std::string& name, const CostRow& row) {
  const Catalog catalog;
  ASSIGN_OR_RETURN(const SiliconLibrary library, LoadSilicon(catalog, {}));
  ASSIGN_OR_RETURN(const pb::Package package, catalog.Package(name));
  ASSIGN_OR_RETURN(const PackageModel model,
                   PackageModel::Create(package, library));
  const CostBreakdown cost = model.Evaluate(PriceDraw::Nominal()).cost;
  const std::string& q = row.quantity;
  const auto has = [&](const char* word) { return absl::StrContains(q, word); };
  if (q == "total") return cost.recurring().value();
  if (has("HBM")) return cost.memory.value();
  if (has("yield loss")) {
    return (cost.package_scrap + cost.wasted_dies).value();
  }
  if (has("logic")) return (cost.raw_dies + cost.die_defects).value();
  if (has("test")) return cost.test.value();
  if (has("packaging")) return cost.package.value();
  return NotBilled(row);
}

struct Machine {
  System system;
  Graph graph;
};

absl::StatusOr<Machine> MachineOf(const std::string& preset, int nodes,
                                  bool planes = false) {
  const Catalog catalog;
  ASSIGN_OR_RETURN(
      pb::System proto,
      ResolveSystem(catalog, preset, {fmt::format("system.nodes={}", nodes)}));
  if (planes) {
    auto& fabric = *proto.mutable_scale_out()->mutable_fabric();
    const int radix = fabric.rail_optimized().radix();
    fabric.mutable_rail_only()->set_radix(radix);
  }
  ASSIGN_OR_RETURN(System system, System::FromProto(proto));
  ASSIGN_OR_RETURN(Graph graph, BuildGraph(system));
  return Machine{std::move(system), std::move(graph)};
}

// Nodes of eight H100 on rails of 400 Gb/s, counted on the graph.
absl::StatusOr<double> Cluster(const CostRow& row) {
  ASSIGN_OR_RETURN(const auto said, row.inputs.Numbers("*nodes=%"));
  ASSIGN_OR_RETURN(const int nodes, CountOf(said.back(), "nodes"));
  // Every rail is a plane of its own as long as two tiers, which hold 2048
  // ends, are enough for it; beyond, the rails share three tiers.
  constexpr int kTwoTiers = 2048;
  const bool planes = nodes <= kTwoTiers;
  ASSIGN_OR_RETURN(const Machine machine,
                   MachineOf("dgx_h100_ib400", nodes, planes));
  ASSIGN_OR_RETURN(const PriceTable prices, LoadPrices(Catalog(), {}));
  ASSIGN_OR_RETURN(
      const MachineCost cost,
      MachineCost::Create(machine.system, machine.graph, prices, {}));
  double switches = 0, switch_cost = 0, cables = 0;
  for (const BillItem& item : cost.items()) {
    const double total = item.count * item.price.nominal;
    if (absl::StartsWith(item.price_id, "switch/")) {
      switches += item.count;
      switch_cost += total;
    }
    if (absl::StrContains(item.price_id, "_link/")) cables += total;
  }
  if (row.quantity == "switches") return switches;
  if (row.quantity == "switch_cost") return switch_cost;
  if (row.quantity == "connectors_and_cables") return cables;
  if (row.quantity == "total_incl_facility") {
    // The sheet's own figure for space and operations over the life of a node.
    constexpr double kFacilityPerNode = 50000;
    return cost.Capital(PriceDraw::Nominal()).value() +
           kFacilityPerNode * machine.system.nodes();
  }
  return NotBilled(row);
}

absl::StatusOr<double> ChipHour(const CostRow& row) {
  if (row.inputs.text() != "H200") {
    return absl::UnimplementedError(fmt::format(
        "chip-hours are known for H200, not for '{}'", row.inputs.text()));
  }
  // A cluster of a thousand GPUs: two tiers of switches.
  ASSIGN_OR_RETURN(const Machine machine, MachineOf("h200_ib400", 128));
  ASSIGN_OR_RETURN(const PriceTable prices, LoadPrices(Catalog(), {}));
  ASSIGN_OR_RETURN(
      const MachineCost cost,
      MachineCost::Create(machine.system, machine.graph, prices, {}));
  const PriceDraw nominal = PriceDraw::Nominal();
  const ChipHourCost hour =
      cost.ChipHour(nominal, cost.power_limit() * cost.Rates(nominal).host);
  if (absl::StartsWith(row.quantity, "capital_cost")) {
    return hour.capital.value();
  }
  if (absl::StartsWith(row.quantity, "total_TCO")) return hour.total().value();
  return NotBilled(row);
}

absl::StatusOr<double> YearsBetween(const std::string& from,
                                    const std::string& to) {
  absl::CivilDay first, last;
  if (!absl::ParseCivilTime(from, &first) || !absl::ParseCivilTime(to, &last)) {
    return absl::InvalidArgumentError(
        fmt::format("dates must be YYYY-MM-DD, got '{}' and '{}'", from, to));
  }
  return static_cast<double>(last - first) / 365.25;
}

absl::StatusOr<double> TrainingRun(const CostRow& row) {
  ASSIGN_OR_RETURN(
      const MeasurementTable runs,
      MeasurementTable::Open(std::nullopt, "training_runs.csv",
                             {"model", "chips", "hours", "chip_price_usd"}));
  for (const MeasurementRow& run : runs.rows()) {
    if (run.Text("model") != row.inputs.text()) continue;
    RunBillInputs in;
    ASSIGN_OR_RETURN(const double price, run.Positive("chip_price_usd"));
    ASSIGN_OR_RETURN(in.server_ratio, run.Positive("server_ratio"));
    ASSIGN_OR_RETURN(in.years_owned,
                     YearsBetween(run.Text("bought"), run.Text("started")));
    ASSIGN_OR_RETURN(const double chips, run.Positive("chips"));
    ASSIGN_OR_RETURN(const double hours, run.Positive("hours"));
    ASSIGN_OR_RETURN(const double watts, run.Positive("tdp_w"));
    ASSIGN_OR_RETURN(in.server_power_ratio, run.Positive("server_power_ratio"));
    ASSIGN_OR_RETURN(in.draw, run.Positive("draw"));
    ASSIGN_OR_RETURN(in.pue, run.Positive("pue"));
    ASSIGN_OR_RETURN(in.dollars_per_kwh, run.Positive("energy_usd_per_kwh"));
    in.chip_price = Dollars(price);
    in.chip_hours = chips * hours;
    in.chip_power = Watts(watts);
    return BillOfRun(in).total().value();
  }
  return absl::UnimplementedError(fmt::format(
      "the inputs of the run of '{}' are not in validation/training_runs.csv",
      row.inputs.text()));
}

// "... items 5200+7860+3456": their sum.
absl::StatusOr<double> Server(const CostRow& row) {
  if (row.quantity != "non_GPU_BOM") return NotBilled(row);
  const std::string& text = row.inputs.text();
  const size_t blank = text.rfind(' ');
  double sum = 0;
  for (absl::string_view item :
       absl::StrSplit(absl::string_view(text).substr(blank + 1), '+')) {
    double value = 0;
    if (!absl::SimpleAtod(item, &value)) {
      return absl::InvalidArgumentError("inputs must end in 'a+b+c'");
    }
    sum += value;
  }
  return sum;
}

absl::StatusOr<double> Carbon(const CostRow& row) {
  ASSIGN_OR_RETURN(std::string node, row.inputs.Text("node"));
  ASSIGN_OR_RETURN(const double grid, row.inputs.Number("CI"));
  ASSIGN_OR_RETURN(const double material, row.inputs.Number("MPA"));
  ASSIGN_OR_RETURN(const auto yield, row.inputs.Numbers("fab yield %"));
  if (node == "14" || node == "16") node = "16";
  ASSIGN_OR_RETURN(const pb::Process process, Catalog().Process("n" + node));
  if (row.quantity != "CPA") return NotBilled(row);
  return CarbonOfArea({.grid_g_per_kwh = grid,
                       .energy_kwh_per_cm2 = process.fab_energy_kwh_per_cm2(),
                       .gases_g_per_cm2 = process.fab_gases_g_per_cm2(),
                       .material_g_per_cm2 = material,
                       .yield = yield[0]},
                      SquareMillimetres(100))
      .value();
}

}  // namespace

absl::StatusOr<double> PredictBill(const CostRow& row) {
  if (row.kase == "H100_BOM") return Package("h100_sxm", row);
  if (row.kase == "B200_BOM") return Package("b200_sxm", row);
  if (row.kase == "MI300X_BOM") return Package("mi300x", row);
  if (row.kase == "cluster_capex") return Cluster(row);
  if (row.kase == "training_run") return TrainingRun(row);
  if (row.kase == "TCO") return ChipHour(row);
  if (row.kase == "server") return Server(row);
  if (row.kase == "carbon_per_area") return Carbon(row);
  return absl::UnimplementedError(
      fmt::format("'{}', case '{}' is not modelled", row.model, row.kase));
}

}  // namespace orrery
