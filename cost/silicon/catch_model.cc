#include "cost/silicon/catch_model.h"

#include <cmath>
#include <numbers>

#include "base/format.h"
#include "base/status.h"
#include "cost/silicon/assembly.h"
#include "cost/silicon/catch_netlist.h"
#include "cost/silicon/die_yield.h"
#include "cost/silicon/gross_dies.h"

namespace orrery {
namespace {

template <class List>
auto Find(const List& list, const std::string& name, const char* what)
    -> absl::StatusOr<decltype(&*list.begin())> {
  for (const auto& entry : list) {
    if (entry.name() == name) return &entry;
  }
  return absl::InvalidArgumentError(
      fmt::format("CATCH's library has no {} '{}'", what, name));
}

// A square of this area with a border around it.
SquareMillimetres Expanded(SquareMillimetres area, double border) {
  const double side = std::sqrt(area.value()) + 2 * border;
  return SquareMillimetres(area.value() > 0 ? side * side : 0);
}

Machine MachineOf(const pb::CatchParameters::Process& p, double price,
                  double seconds, int group) {
  return {.price = Dollars(price),
          .life_years = p.machine_life(),
          .labour_per_year = Dollars(p.labour()),
          .uptime = p.uptime(),
          .seconds = seconds,
          .group = group,
          .uptime_multiplies = true};
}

// Pads for power and ground.
double PowerPads(const pb::CatchParameters::Process& p, Watts power) {
  const double pad_radius = p.pitch() / 4;
  const double watts =
      p.pad_current() * std::numbers::pi * pad_radius * pad_radius;
  return 2 * std::ceil(power.value() / watts);
}

// The square that holds all pads, the signals within reach of the rim.
SquareMillimetres PadArea(const pb::CatchParameters::Process& p, double signals,
                          double reach, double other) {
  const double pitch = p.pitch();
  double side = 0;
  if (signals > 0) {
    const double band = reach - p.separation();
    const double area = signals * pitch * pitch;
    const double square = std::sqrt(area);
    const double needed =
        square > band ? (2 * area / band + 2 * band) / 4 : square;
    side = std::ceil(needed / pitch) * pitch;
  }
  const double area = (signals + other) * pitch * pitch;
  const double grid = area <= side * side ? std::ceil(side / pitch)
                                          : std::ceil(std::sqrt(area) / pitch);
  return SquareMillimetres(grid * grid * pitch * pitch);
}

}  // namespace

absl::StatusOr<CatchModel> CatchModel::FromProto(
    const pb::CatchParameters& proto) {
  if (proto.layer_size() == 0 || proto.process_size() == 0) {
    return absl::InvalidArgumentError("CATCH needs layers and processes");
  }
  CatchModel model;
  model.parameters_ = proto;
  return model;
}

Wafer CatchModel::wafer() const {
  return {Millimetres(parameters_.wafer_diameter()),
          Millimetres(parameters_.edge_exclusion()),
          Millimetres(parameters_.dicing())};
}
Reticle CatchModel::reticle() const {
  return {Millimetres(parameters_.reticle_x()),
          Millimetres(parameters_.reticle_y())};
}
absl::StatusOr<const pb::CatchParameters::Layer*> CatchModel::layer(
    const std::string& name) const {
  return Find(parameters_.layer(), name, "layer");
}
absl::StatusOr<const pb::CatchParameters::Process*> CatchModel::process(
    const std::string& name) const {
  return Find(parameters_.process(), name, "assembly process");
}
absl::StatusOr<const pb::CatchParameters::Io*> CatchModel::io(
    const std::string& name) const {
  return Find(parameters_.io(), name, "I/O");
}

Dollars CatchModel::LayerCost(const pb::CatchParameters::Layer& layer,
                              SquareMillimetres area) const {
  const double dies =
      GrossDies(GrossDieRule::kCatchGrid, wafer(), SizeOf(area));
  const double radius = parameters_.wafer_diameter() / 2;
  return Dollars(layer.price() * std::numbers::pi * radius * radius / dies *
                 LithographyWaste(reticle(), area, layer.lithography()));
}

double CatchModel::LayerYield(const pb::CatchParameters::Layer& layer,
                              SquareMillimetres area) {
  return YieldOf({YieldRule::kNegativeBinomial, layer.clustering()},
                 FatalDefects(area, PerSquareMillimetre(layer.defects()),
                              layer.critical_area()));
}

Dollars CatchModel::AssemblyCost(const pb::CatchParameters::Process& p,
                                 int chips, SquareMillimetres area) {
  return CostOfUse(MachineOf(p, p.place_machine(), p.place_seconds(),
                             p.place_group()),
                   chips) +
         CostOfUse(
             MachineOf(p, p.bond_machine(), p.bond_seconds(), p.bond_group()),
             chips) +
         Dollars(p.material() * area.value());
}

double CatchModel::AssemblyYield(const pb::CatchParameters::Process& p,
                                 int chips, double bonds, double vias,
                                 SquareMillimetres area) {
  return std::pow(p.align_yield(), chips) * std::pow(p.bond_yield(), bonds) *
         std::pow(p.via_yield(), vias) /
         (1 + p.dielectric_defects() * area.value());
}

absl::StatusOr<CatchSystem> CatchModel::Evaluate(
    const CatchDesign& design) const {
  ASSIGN_OR_RETURN(const auto* found, layer(design.layer));
  ASSIGN_OR_RETURN(const auto* carrier, layer(design.interposer));
  ASSIGN_OR_RETURN(const auto* p, process(design.process));
  ASSIGN_OR_RETURN(const auto* port, io(design.io));
  pb::CatchParameters::Layer logic = *found;
  if (design.defects) logic.set_defects(design.defects->value() / 100);
  const int n = design.chiplets;
  const SquareMillimetres core = design.total / static_cast<double>(n);
  const CatchLinks links =
      LinksOf(design.netlist, n, design.external_gbps, port->bandwidth());
  const auto& test = parameters_.test();
  const double coverage = design.coverage.value_or(1);
  const auto scan = [&](double patterns, double chain) {
    return design.coverage ? Dollars(core.value() * test.cycle() *
                                     test.price_per_second() * patterns * chain)
                           : Dollars();
  };
  const double misses = 1 - design.pattern_coverage.value_or(coverage);
  const Dollars die_test = scan(test.patterns() / misses + 1, test.chain());
  const Dollars placed_test =
      scan(test.assembly_patterns() / misses, test.assembly_chain());

  CatchSystem system;
  Dollars dies{};
  double quality = 1;
  SquareMillimetres stacked{};
  for (int i = 0; i < n; ++i) {
    const CatchLinks::OfChiplet& of = links.chiplets[static_cast<size_t>(i)];
    const SquareMillimetres io_area(2 * of.links * port->area());
    const SquareMillimetres pads = PadArea(
        *p, of.links * port->wires(), port->reach(),
        PowerPads(*p, design.power / static_cast<double>(n)) + test.pads());
    const SquareMillimetres area = std::max(core + io_area, pads);
    const double yield = LayerYield(logic, core + io_area);
    const double pass = 1 - (1 - yield) * coverage;
    const double own = yield / pass;
    const Dollars raw = LayerCost(logic, area) + die_test;
    dies += (raw / pass + placed_test) / (1 - (1 - own) * coverage);
    system.perfect += raw + placed_test;
    quality *= own;
    stacked += Expanded(area, p->separation() / 2);
    system.signal_bonds += of.outside * port->wires();
    const double units = design.die_units.empty()
                             ? design.units * n
                             : design.die_units[static_cast<size_t>(i)];
    system.design += Dollars((logic.masks() + core.value() * design.logic *
                                                  parameters_.logic_design()) /
                             units);
    if (i == 0) {
      system.chiplet_area = area;
      system.io_area = io_area;
      system.chiplet_yield = yield;
    }
  }
  system.stacked_area = Expanded(stacked, p->edge());
  const double vias = PowerPads(*p, design.power) + test.pads();
  system.interposer_area =
      std::max({system.stacked_area, PadArea(*p, 0, 0, vias),
                SquareMillimetres(vias * p->via_area())});
  system.interposer = LayerCost(*carrier, system.interposer_area);
  system.assembly = AssemblyCost(*p, n, system.stacked_area);
  system.assembly_yield = quality * AssemblyYield(*p, n, system.signal_bonds,
                                                  vias, system.stacked_area);
  system.recurring =
      (system.interposer + dies + system.assembly) / system.assembly_yield;
  system.perfect += system.interposer + system.assembly;
  system.design += Dollars(carrier->masks() / design.units);
  return system;
}

}  // namespace orrery
