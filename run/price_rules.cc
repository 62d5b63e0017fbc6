#include "run/price_rules.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_split.h>

#include <optional>
#include <string>
#include <vector>

#include "base/format.h"
#include "catalog/catalog.h"
#include "catalog/legal.h"
#include "catalog/nearest.h"
#include "cost/ownership/machine_cost.h"
#include "cost/silicon/price_range.h"
#include "run/silicon_catalog.h"

namespace orrery {
namespace {

// Nothing that is bought by the piece or by the gigabyte costs a hundred
// million dollars: ten times the dearest machine of one wafer, and more.
constexpr double kMost = 1e8;

// Chips, servers and what else a scenario may have that no list knows: ids
// alike but for the part in the middle, "chip/mine" and "chip/h100_sxm".
bool OfOneFamily(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = absl::StrSplit(a, '/');
  const std::vector<std::string> right = absl::StrSplit(b, '/');
  return left.size() == right.size() && left.size() > 1 && !left[1].empty() &&
         left[0] == right[0] && (left.size() == 2 || left[2] == right[2]);
}

// The entry that says in which unit the price is: its own, or another of the
// family. Interest, goodput and the like have no family.
const pb::Price* EntryLike(const pb::PriceList& list, const std::string& id) {
  const std::vector<std::string> rates = RateIds();
  const pb::Price* model = nullptr;
  for (const pb::Price& each : list.price()) {
    if (each.id() == id) return &each;
    if (model == nullptr && !absl::c_linear_search(rates, each.id()) &&
        OfOneFamily(each.id(), id)) {
      model = &each;
    }
  }
  return model;
}

absl::Status CheckPrice(const pb::PriceList& list, const pb::Price& price) {
  const pb::Price* const model = EntryLike(list, price.id());
  if (model == nullptr) {
    std::vector<std::string> ids;
    for (const pb::Price& each : list.price()) ids.push_back(each.id());
    return absl::InvalidArgumentError(fmt::format(
        "nothing has this price{} ('orrery cost SCENARIO' lists the prices of "
        "{} that a scenario uses)",
        DidYouMean(price.id(), ids), list.name()));
  }
  const std::string& like = model->price().nominal();
  if (!price.price().has_nominal()) {
    return absl::InvalidArgumentError(
        fmt::format("price.nominal is not set; set it too, for example to "
                    "\"{}\"",
                    like));
  }
  std::string unit(UnitOfPrice(like));
  // What else is in a node may be said of a node.
  if (unit == "USD/chip" && UnitOfPrice(price.price().nominal()) == "USD") {
    unit = "USD";
  }
  const auto range = ParseRange(price.price(), unit, "price", like);
  if (!range.ok()) return range.status();
  if (range->high > kMost) {
    return absl::InvalidArgumentError(fmt::format(
        "must be at most {:g} {}, got {:g}; write for example \"{}\"", kMost,
        unit, range->high, like));
  }
  return CheckRate(price.id(), *range);
}

}  // namespace

void CheckPrices(const pb::CostOptions& cost, Violations* violations) {
  if (!cost.has_prices() && cost.price().empty()) return;
  const auto list =
      Catalog().Prices(cost.has_prices() ? cost.prices() : kDefaultPrices);
  if (!list.ok()) {
    violations->Add(list.status(), "cost.prices");
    return;
  }
  for (const pb::Price& price : cost.price()) {
    // The table of prices and CheckLegal say what is wrong with those.
    if (!price.has_id() || !CheckLegal(price, "").ok()) continue;
    violations->Add(CheckPrice(*list, price),
                    fmt::format("cost.price[{}]", price.id()));
  }
}

}  // namespace orrery
