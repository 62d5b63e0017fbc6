// Rows of Chiplet Actuary.
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>

#include "accuracy/cost/cost_models.h"
#include "base/format.h"
#include "base/status.h"
#include "cost/silicon/design_cost.h"
#include "cost/silicon/die_cost.h"

namespace orrery {
namespace {

absl::Status UnknownToActuary(const CostRow& row) {
  return absl::UnimplementedError(
      fmt::format("case '{}' of Chiplet Actuary has no quantity '{}'", row.kase,
                  row.quantity));
}

absl::StatusOr<ActuaryPackage> PackageOf(const std::string& name) {
  if (name == "OS") return ActuaryPackage::kOrganic;
  if (name == "FO_chiplast" || name == "FO") {
    return ActuaryPackage::kFanOutChipLast;
  }
  if (name == "FO_chipfirst") return ActuaryPackage::kFanOutChipFirst;
  if (name == "SI") return ActuaryPackage::kInterposer;
  return absl::InvalidArgumentError(fmt::format(
      "inputs: 'pkg' must be OS, FO_chiplast, FO_chipfirst or SI, got '{}'",
      name));
}

absl::StatusOr<double> PartOf(const absl::StatusOr<CostBreakdown>& of,
                              const CostRow& row) {
  if (!of.ok()) return of.status();
  const CostBreakdown& cost = *of;
  const std::string& q = row.quantity;
  if (q == "raw_chips") return cost.raw_dies.value();
  if (q == "chip_defects") return cost.die_defects.value();
  if (q == "raw_package") return cost.package.value();
  if (q == "package_defects") return cost.package_scrap.value();
  if (q == "wasted_KGD") return cost.wasted_dies.value();
  if (q == "total_RE" || q == "RE" || q == "RE_total") {
    return cost.recurring().value();
  }
  return UnknownToActuary(row);
}

absl::StatusOr<double> OneDie(const CostRow& row) {
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(const double area, in.Number("area_mm2"));
  ASSIGN_OR_RETURN(const double defects, in.Number("D0_cm2"));
  ASSIGN_OR_RETURN(const double clustering, in.Number("c"));
  ASSIGN_OR_RETURN(const double diameter, in.Number("D_w"));
  ASSIGN_OR_RETURN(const double street, in.Number("scribe"));
  ASSIGN_OR_RETURN(const double edge, in.Number("edge"));
  ASSIGN_OR_RETURN(const double wafer, in.Number("wafer_usd"));
  ASSIGN_OR_RETURN(
      const DieCost die,
      CostOfDie({.wafer_price = Dollars(wafer),
                 .defects = DefectsPerSquareCentimetre(defects),
                 .yield = {YieldRule::kNegativeBinomial, clustering},
                 .wafer = {Millimetres(diameter), Millimetres(edge),
                           Millimetres(street)},
                 .rule = GrossDieRule::kClassic,
                 .stitch_yield = 1},
                SizeOf(SquareMillimetres(area))));
  if (row.quantity == "die_yield") return die.yield;
  if (row.quantity == "gross_dies_per_wafer") return die.gross_dies;
  if (row.quantity == "cost_raw_die") return die.cost.raw_dies.value();
  if (row.quantity == "cost_known_good_die") {
    return die.cost.recurring().value();
  }
  return UnknownToActuary(row);
}

absl::StatusOr<double> CarrierYield(const CostRow& row) {
  ASSIGN_OR_RETURN(const double area, row.inputs.Number("area_mm2"));
  ASSIGN_OR_RETURN(const double defects, row.inputs.Number("D0"));
  ASSIGN_OR_RETURN(const double clustering, row.inputs.Number("c"));
  if (row.quantity != "yield") return UnknownToActuary(row);
  return YieldOf({YieldRule::kNegativeBinomial, clustering},
                 FatalDefects(SquareMillimetres(area),
                              DefectsPerSquareCentimetre(defects)));
}

// `n` chips of different design, or one, and their design costs.
absl::StatusOr<double> SystemCost(const Actuary& actuary, const CostRow& row) {
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(const std::string node, in.Text("node"));
  RETURN_IF_ERROR(actuary.CheckNode(node));
  ASSIGN_OR_RETURN(const double area, in.Number("module_area_mm2"));
  ASSIGN_OR_RETURN(const double number, in.Number("n"));
  ASSIGN_OR_RETURN(const std::string name, in.Text("pkg"));
  ASSIGN_OR_RETURN(const ActuaryPackage package, PackageOf(name));
  ASSIGN_OR_RETURN(const int n, CountOf(number, "n"));
  // The published totals of several chips have links of a tenth.
  double links = n > 1 ? 0.1 : 0;
  if (in.Find("d2d")) {
    ASSIGN_OR_RETURN(links, in.Number("d2d"));
  }
  const SquareMillimetres module(area / n);
  const SquareMillimetres chip = module * (1 + links);
  const std::vector<ActuaryChips> chips(static_cast<size_t>(n),
                                        {node, chip, 1});
  const std::string& q = row.quantity;
  if (!absl::StrContains(q, "NRE")) {
    return PartOf(actuary.Recurring(package, chips), row);
  }
  ASSIGN_OR_RETURN(const double volume, in.Number("volume"));
  if (absl::StartsWith(q, "module_NRE")) {
    return n * actuary.ModuleDesign(node, module).value() / volume;
  }
  if (absl::StartsWith(q, "chip_NRE")) {
    return n * actuary.ChipDesign(node, chip).value() / volume;
  }
  if (q == "d2d_NRE") return actuary.LinkDesign(node).value() / volume;
  if (q == "package_NRE") {
    return actuary.PackageDesign(package, chips).value() / volume;
  }
  return UnknownToActuary(row);
}

// Core dies around an I/O die, empty places filled with dummies; or all of it
// as one chip.
absl::StatusOr<double> Server(const Actuary& actuary, const CostRow& row) {
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(const double cores, in.Number("cores"));
  ASSIGN_OR_RETURN(const auto ccd, in.Numbers("CCD %mm2@% + %mm2 D2D"));
  ASSIGN_OR_RETURN(const auto iod, in.Numbers("IOD %mm2@% + %mm2 D2D"));
  ASSIGN_OR_RETURN(const auto fill, in.Numbers("dummies fill to %*"));
  const std::string node = fmt::format("{}", ccd[1]);
  const std::string io_node = fmt::format("{}", iod[1]);
  RETURN_IF_ERROR(actuary.CheckNode(node));
  RETURN_IF_ERROR(actuary.CheckNode(io_node));
  constexpr int kCoresPerDie = 8;
  ASSIGN_OR_RETURN(const int places, CountOf(fill[0], "dummies fill to"));
  ASSIGN_OR_RETURN(const int dies, CountOf(cores / kCoresPerDie, "cores"));
  const auto several = [&](int count) {
    std::vector<ActuaryChips> chips = {
        {node, SquareMillimetres(ccd[0] + ccd[2]), count},
        {io_node, SquareMillimetres(iod[0] + iod[2]), 1}};
    if (count < places) {
      chips.push_back({node, SquareMillimetres(ccd[0]), places - count, true});
    }
    return actuary.Recurring(ActuaryPackage::kOrganic, chips);
  };
  const auto dies_of = [](const CostBreakdown& cost) {
    return (cost.raw_dies + cost.die_defects).value();
  };
  if (dies > places) {
    return absl::InvalidArgumentError("inputs: 'cores' must be 8 .. 8 x fill");
  }
  absl::string_view q = row.quantity;
  const bool one_chip = absl::StartsWith(q, "soc_");
  if (!absl::ConsumePrefix(&q, one_chip ? "soc_" : "mcm_"))
    return UnknownToActuary(row);
  ASSIGN_OR_RETURN(
      const CostBreakdown cost,
      one_chip ? actuary.Recurring(
                     ActuaryPackage::kOrganic,
                     {{node, SquareMillimetres(ccd[0] * dies + iod[0]), 1}})
               : several(dies));
  if (q == "dies_cost") return dies_of(cost);
  if (q == "packaging_cost") return cost.recurring().value() - dies_of(cost);
  if (q == "total_normalised_to_64c_dies") {
    ASSIGN_OR_RETURN(const CostBreakdown full, several(places));
    return cost.recurring().value() / dies_of(full);
  }
  return UnknownToActuary(row);
}

// Products of 1, 2, 4 .. equal modules that share designs.
absl::StatusOr<double> Family(const Actuary& actuary, const CostRow& row) {
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(std::string family, in.Text("family"));
  ASSIGN_OR_RETURN(const std::string k_of, in.Text("k"));
  ASSIGN_OR_RETURN(const auto module, in.Numbers("module %mm2@% + %* D2D"));
  ASSIGN_OR_RETURN(const double units, in.Number("volume"));
  const std::string node = fmt::format("{}", module[1]);
  RETURN_IF_ERROR(actuary.CheckNode(node));
  const SquareMillimetres area(module[0]);
  const SquareMillimetres link = area * (module[2] / 100);
  const auto k = Scan(k_of, "% of {*}");
  std::vector<int> sizes;
  for (absl::string_view size : absl::StrSplit(
           absl::string_view(k_of).substr(k_of.find('{') + 1), ',')) {
    if (const auto value = Scan(size, "%*")) {
      ASSIGN_OR_RETURN(const int modules, CountOf(value->front(), "k"));
      sizes.push_back(modules);
    }
  }
  if (!k.has_value() || sizes.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "inputs: 'k' must be like '1 of {{1,2,4}}', got '{}'", k_of));
  }
  absl::string_view kind = family;
  const bool reuse = absl::ConsumeSuffix(&kind, "_pkg_reuse");
  const bool one_chip = kind == "SoC";
  if (!one_chip && kind != "MCM" && kind != "SI") {
    return absl::UnimplementedError(
        fmt::format("family '{}' of Chiplet Actuary", family));
  }
  const ActuaryPackage package =
      kind == "SI" ? ActuaryPackage::kInterposer : ActuaryPackage::kOrganic;
  const int most = *std::max_element(sizes.begin(), sizes.end());
  const auto chips_of = [&](int size) {
    std::vector<ActuaryChips> chips;
    if (one_chip) {
      chips.push_back({node, area * static_cast<double>(size), 1});
      return chips;
    }
    chips.push_back({node, area + link, size});
    if (reuse && size < most) {
      chips.push_back({node, area + link, most - size, true});
    }
    return chips;
  };
  std::vector<ProductDesigns> modules, dies, packages;
  size_t mine = sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int size = sizes[i];
    if (size == static_cast<int>((*k)[0])) mine = i;
    const auto chips = chips_of(size);
    ProductDesigns of_modules{.units = units};
    of_modules.uses.push_back(
        {"module", actuary.ModuleDesign(node, area), double(size)});
    if (!one_chip) {
      of_modules.uses.push_back(
          {"link", actuary.LinkDesign(node), link.value() * size});
    }
    modules.push_back(std::move(of_modules));
    dies.push_back(
        {{one_chip ? DesignUse{fmt::format("chip of {}", size),
                               actuary.ChipDesign(
                                   node, area * static_cast<double>(size))}
                   : DesignUse{"chiplet", actuary.ChipDesign(node, area + link),
                               double(size)}},
         units});
    packages.push_back(
        {{{fmt::format("{}", actuary.PackageArea(package, chips).value()),
           actuary.PackageDesign(package, chips)}},
         units});
  }
  if (mine == sizes.size()) {
    return absl::InvalidArgumentError("inputs: 'k' is not in its own family");
  }
  const std::string& q = row.quantity;
  if (q == "module_NRE") return SpreadDesigns(modules)[mine].value();
  if (q == "chip_NRE") return SpreadDesigns(dies)[mine].value();
  if (q == "package_NRE") return SpreadDesigns(packages)[mine].value();
  return PartOf(actuary.Recurring(package, chips_of(sizes[mine])), row);
}

}  // namespace

absl::StatusOr<double> PredictActuary(const Actuary& actuary,
                                      const CostRow& row) {
  if (row.kase == "die") return OneDie(row);
  if (row.kase == "interposer_yield") return CarrierYield(row);
  if (row.kase == "RE_multichip" || row.kase == "RE_SoC" ||
      row.kase == "total_multichip" || row.kase == "total_SoC") {
    return SystemCost(actuary, row);
  }
  if (row.kase == "AMD_EPYC") return Server(actuary, row);
  if (row.kase == "reuse_SCMS") return Family(actuary, row);
  return absl::UnimplementedError(
      fmt::format("case '{}' of Chiplet Actuary is not modelled", row.kase));
}

}  // namespace orrery
