#include "cost/silicon/actuary.h"

#include <absl/strings/str_join.h>

#include <utility>

#include "base/format.h"
#include "cost/silicon/assembly.h"
#include "cost/silicon/die_cost.h"

namespace orrery {
namespace {

// Design costs are stated for chips of this area.
constexpr double kDesignArea = 300;

SquareMillimetres AreaOf(absl::Span<const ActuaryChips> chips) {
  SquareMillimetres area{};
  for (const ActuaryChips& kind : chips) {
    area += kind.area * static_cast<double>(kind.count);
  }
  return area;
}

int CountOf(absl::Span<const ActuaryChips> chips) {
  int count = 0;
  for (const ActuaryChips& kind : chips) count += kind.count;
  return count;
}

Wafer WaferOf(const pb::ActuaryParameters& p) {
  return {Millimetres(p.wafer_diameter()), Millimetres(p.edge_loss()),
          Millimetres(p.scribe_lane())};
}

}  // namespace

absl::StatusOr<Actuary> Actuary::FromProto(const pb::ActuaryParameters& proto) {
  Actuary actuary;
  actuary.parameters_ = proto;
  for (const auto& node : proto.node()) {
    actuary.nodes_[node.name()] = {node.defects(), Dollars(node.wafer_price()),
                                   Dollars(node.design())};
  }
  if (proto.organic().layer_factor_size() !=
      proto.organic().layer_area_size() + 1) {
    return absl::InvalidArgumentError(
        "organic: there must be one layer_factor more than layer_area");
  }
  return actuary;
}

absl::Status Actuary::CheckNode(const std::string& node) const {
  if (nodes_.contains(node)) return absl::OkStatus();
  std::vector<std::string> names;
  for (const auto& [name, values] : nodes_) names.push_back(name);
  return absl::InvalidArgumentError(
      fmt::format("Chiplet Actuary has no node '{}' (nodes: {})", node,
                  absl::StrJoin(names, ", ")));
}

const pb::ActuaryParameters::Carrier& Actuary::CarrierOf(
    ActuaryPackage package) const {
  return package == ActuaryPackage::kInterposer ? parameters_.interposer()
                                                : parameters_.fan_out();
}

double Actuary::LayerFactor(absl::Span<const ActuaryChips> chips) const {
  if (CountOf(chips) == 1) return 1;
  const auto& organic = parameters_.organic();
  const double area = PackageArea(ActuaryPackage::kOrganic, chips).value();
  int i = 0;
  while (i < organic.layer_area_size() && area > organic.layer_area(i)) ++i;
  return organic.layer_factor(i);
}

SquareMillimetres Actuary::PackageArea(
    ActuaryPackage package, absl::Span<const ActuaryChips> chips) const {
  const SquareMillimetres under =
      package == ActuaryPackage::kOrganic
          ? AreaOf(chips)
          : AreaOf(chips) * CarrierOf(package).area_ratio();
  return under * parameters_.organic().area_ratio();
}

absl::StatusOr<CostBreakdown> Actuary::Recurring(
    ActuaryPackage package, absl::Span<const ActuaryChips> chips) const {
  const auto& organic = parameters_.organic();
  const bool on_substrate = package == ActuaryPackage::kOrganic;
  // All kinds as one part: yields of bonding are in the powers below.
  CostBreakdown dies;
  for (const ActuaryChips& kind : chips) {
    if (!kind.dummy) {
      const Node& node = nodes_.at(kind.node);
      const absl::StatusOr<DieCost> die = CostOfDie(
          {.wafer_price = node.wafer,
           .defects = DefectsPerSquareCentimetre(node.defects),
           .yield = {YieldRule::kNegativeBinomial, parameters_.clustering()},
           .wafer = WaferOf(parameters_),
           .rule = GrossDieRule::kClassic,
           // The model knows no reticle.
           .stitch_yield = 1},
          SizeOf(kind.area));
      if (!die.ok()) return die.status();
      dies = dies + static_cast<double>(kind.count) * die->cost;
    }
    dies.raw_dies +=
        on_substrate
            ? Dollars(kind.area.value() * organic.c4_bump() * kind.count)
            : Dollars(kind.area.value() * parameters_.micro_bump());
  }
  const Dollars substrate =
      Dollars(PackageArea(package, chips).value() * organic.price() *
              (on_substrate ? LayerFactor(chips) : 1));
  const Part all{.cost = dies, .quality = 1, .count = 1};
  const int placed = CountOf(chips);
  if (on_substrate) {
    return Assemble({.cost = substrate}, {{all}},
                    {.line_yield = std::pow(organic.bond_yield(), placed)})
        .cost;
  }
  const auto& carrier = CarrierOf(package);
  const SquareMillimetres area = AreaOf(chips) * carrier.area_ratio();
  const double carriers =
      GrossDies(GrossDieRule::kClassic, WaferOf(parameters_), SizeOf(area));
  if (carriers <= 0) {
    return absl::InvalidArgumentError(fmt::format(
        "a carrier of {:.0f} mm2 does not fit a wafer", area.value()));
  }
  const Dollars carrier_cost(carrier.wafer_price() / carriers +
                             area.value() * organic.c4_bump());
  const double carrier_yield = YieldOf(
      {YieldRule::kNegativeBinomial, carrier.clustering()},
      FatalDefects(area, DefectsPerSquareCentimetre(carrier.defects())));
  const bool first = package == ActuaryPackage::kFanOutChipFirst;
  const Part on_carrier = Assemble(
      {.cost = carrier_cost,
       .yield = carrier_yield,
       .flow = first ? Carrier::Flow::kChipFirst : Carrier::Flow::kChipLast},
      {{all}},
      {.line_yield = first ? 1 : std::pow(carrier.bond_yield(), placed)});
  return Assemble({.cost = substrate}, {{on_carrier}},
                  {.line_yield = organic.bond_yield()})
      .cost;
}

Dollars Actuary::ModuleDesign(const std::string& node,
                              SquareMillimetres area) const {
  return nodes_.at(node).design *
         (parameters_.module_share() / kDesignArea * area.value());
}

Dollars Actuary::ChipDesign(const std::string& node,
                            SquareMillimetres area) const {
  const Dollars design = nodes_.at(node).design;
  return design * (parameters_.chip_share() / kDesignArea * area.value()) +
         design * (1 - parameters_.module_share() - parameters_.chip_share());
}

Dollars Actuary::LinkDesign(const std::string& node) const {
  return ModuleDesign(node, SquareMillimetres(parameters_.link_area()));
}

Dollars Actuary::PackageDesign(ActuaryPackage package,
                               absl::Span<const ActuaryChips> chips) const {
  const auto& organic = parameters_.organic();
  const double substrate = PackageArea(package, chips).value();
  if (package == ActuaryPackage::kOrganic) {
    return Dollars(substrate * organic.design_per_area() * LayerFactor(chips) +
                   organic.design_fixed());
  }
  const double area = AreaOf(chips).value() * CarrierOf(package).area_ratio();
  double per_area = 0.5 * parameters_.fan_out_design() / kDesignArea;
  double fixed = per_area;
  if (package == ActuaryPackage::kInterposer) {
    const double design =
        nodes_.at(parameters_.interposer_node()).design.value() *
        parameters_.interposer_design_factor();
    per_area = parameters_.chip_share() * design / kDesignArea;
    fixed =
        (1 - parameters_.module_share() - parameters_.chip_share()) * design;
  }
  return Dollars(area * per_area + fixed + substrate * organic.price());
}

}  // namespace orrery
