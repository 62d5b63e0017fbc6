// Rows of google/chiplets-cost-model, and of equations that stand by
// themselves.
#include <absl/strings/match.h>

#include <cmath>
#include <numbers>

#include "accuracy/cost/cost_models.h"
#include "base/format.h"
#include "base/status.h"
#include "cost/silicon/die_yield.h"
#include "cost/silicon/gross_dies.h"

namespace orrery {
namespace {

absl::Status NotModelled(const CostRow& row) {
  return absl::UnimplementedError(
      fmt::format("'{}', case '{}': '{}' is not modelled", row.model, row.kase,
                  row.quantity));
}

absl::StatusOr<DieSize> SizeIn(const CostInputs& in) {
  ASSIGN_OR_RETURN(const auto sides, in.Numbers("%x%mm"));
  if (!(sides[0] > 0 && sides[1] > 0)) {
    return absl::InvalidArgumentError("inputs: sides must be positive");
  }
  return DieSize{Millimetres(sides[0]), Millimetres(sides[1])};
}

// Dies per mm2 of wafer without street or edge, as ttm-cas has them.
absl::StatusOr<double> TtmCas(const CostRow& row) {
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(const double area, in.Number("area"));
  const double gross =
      GrossDies(GrossDieRule::kClassic,
                {Millimetres(300), Millimetres(0), Millimetres(0)},
                SizeOf(SquareMillimetres(area)));
  if (row.quantity == "gross_dies_per_wafer") return gross;
  ASSIGN_OR_RETURN(const double defects, in.Number("D0"));
  ASSIGN_OR_RETURN(const double alpha, in.Number("alpha"));
  const double yield = YieldOf(
      {YieldRule::kNegativeBinomial, alpha},
      FatalDefects(SquareMillimetres(area), PerSquareMillimetre(defects)));
  if (row.quantity == "yield") return yield;
  if (row.quantity != "cost_per_good_die") return NotModelled(row);
  ASSIGN_OR_RETURN(const double wafer, in.Number("wafer"));
  return wafer / (gross * yield);
}

absl::StatusOr<double> RapidChiplet(const CostRow& row) {
  const CostInputs& in = row.inputs;
  if (row.quantity != "cost_per_good_die") return NotModelled(row);
  ASSIGN_OR_RETURN(const double area, in.Number("A"));
  ASSIGN_OR_RETURN(const double radius, in.Number("r"));
  ASSIGN_OR_RETURN(const double defects, in.Number("D0"));
  ASSIGN_OR_RETURN(const double wafer, in.Number("wafer"));
  const double gross = std::floor(
      GrossDies(GrossDieRule::kClassic,
                {Millimetres(2 * radius), Millimetres(0), Millimetres(0)},
                SizeOf(SquareMillimetres(area))));
  return wafer / (gross * YieldOf({YieldRule::kSeeds},
                                  FatalDefects(SquareMillimetres(area),
                                               PerSquareMillimetre(defects))));
}

absl::StatusOr<double> Yields(const CostRow& row) {
  ASSIGN_OR_RETURN(const double area, row.inputs.Number("A"));
  ASSIGN_OR_RETURN(const double density, row.inputs.Number("D0"));
  const double defects = FatalDefects(SquareMillimetres(area),
                                      DefectsPerSquareCentimetre(density));
  const std::string& q = row.quantity;
  if (q == "Poisson") return YieldOf({YieldRule::kPoisson}, defects);
  if (q == "Murphy") return YieldOf({YieldRule::kMurphy}, defects);
  if (absl::StartsWith(q, "Seeds (exp")) {
    return YieldOf({YieldRule::kSeeds}, defects);
  }
  if (absl::StartsWith(q, "Seeds sqrt")) {
    return YieldOf({YieldRule::kSeedsRoot}, defects);
  }
  if (const auto alpha = Scan(q, "NegBin alpha=%")) {
    return YieldOf({YieldRule::kNegativeBinomial, alpha->front()}, defects);
  }
  if (const auto layers = Scan(q, "Bose-Einstein n=%*")) {
    return YieldOf(
        {.rule = YieldRule::kBoseEinstein, .layers = layers->front()},
        defects / layers->front());
  }
  return NotModelled(row);
}

absl::StatusOr<double> Geometry(const CostRow& row) {
  ASSIGN_OR_RETURN(const DieSize die, SizeIn(row.inputs));
  ASSIGN_OR_RETURN(const auto diameter, row.inputs.Numbers("%mm wafer"));
  ASSIGN_OR_RETURN(const auto edge, row.inputs.Numbers("edge %"));
  ASSIGN_OR_RETURN(const auto street, row.inputs.Numbers("scribe %"));
  const Wafer wafer{Millimetres(diameter[0]), Millimetres(edge[0]),
                    Millimetres(street[0])};
  if (absl::StartsWith(row.quantity, "exact grid")) {
    return GrossDies(GrossDieRule::kExactGrid, wafer, die);
  }
  if (absl::StrContains(row.quantity, "exp(")) {
    return GrossDies(GrossDieRule::kExponential, wafer, die);
  }
  if (absl::StartsWith(row.quantity, "pi d^2/4A - ")) {
    return GrossDies(GrossDieRule::kClassic, wafer, die);
  }
  return NotModelled(row);
}

}  // namespace

absl::StatusOr<double> PredictGoogle(const CostRow& row) {
  if (row.kase != "die") {
    return absl::UnimplementedError(fmt::format(
        "case '{}' of Google's model needs its input sheets, which the row "
        "does not have",
        row.kase));
  }
  const CostInputs& in = row.inputs;
  ASSIGN_OR_RETURN(const DieSize die, SizeIn(in));
  ASSIGN_OR_RETURN(const auto street, in.Numbers("saw street %"));
  double diameter = 300;
  if (const auto said = in.FindNumbers("%mm")) diameter = said->front();
  const Wafer wafer{Millimetres(diameter), Millimetres(0),
                    Millimetres(street[0])};
  const SquareMillimetres effective =
      (die.width + wafer.saw_street) * (die.height + wafer.saw_street);
  if (row.quantity == "effective_area_mm2") return effective.value();
  const double gross = GrossDies(GrossDieRule::kGoogle, wafer, die);
  if (absl::StartsWith(row.quantity, "gross_dies_per_wafer")) return gross;
  ASSIGN_OR_RETURN(const double defects, in.Number("D0"));
  ASSIGN_OR_RETURN(const double layers, in.Number("N"));
  const double yield =
      YieldOf({.rule = YieldRule::kBoseEinstein, .layers = layers},
              FatalDefects(effective, DefectsPerSquareCentimetre(defects)));
  if (row.quantity == "yield") return yield;
  if (!absl::StartsWith(row.quantity, "die_price")) return NotModelled(row);
  ASSIGN_OR_RETURN(const auto price, in.Numbers("wafer %"));
  // Whole good dies; a prober costs 200 USD an hour (the model's input sheet).
  double cost = price[0] / std::floor(gross * yield);
  if (absl::StrContains(row.quantity, "probe")) {
    constexpr double kProberPerHour = 200;
    ASSIGN_OR_RETURN(const auto seconds, in.Numbers("probe % s"));
    cost += kProberPerHour / 3600 * seconds[0];
  }
  return cost;
}

absl::StatusOr<double> PredictClosedForm(const CostRow& row) {
  if (absl::StrContains(row.model, "ttm-cas")) return TtmCas(row);
  if (absl::StrContains(row.model, "rapidchiplet")) return RapidChiplet(row);
  if (row.kase == "yield_models") return Yields(row);
  if (absl::StartsWith(row.model, "geometry")) return Geometry(row);
  return NotModelled(row);
}

}  // namespace orrery
