#pragma once
// MachineCost: what a machine costs to buy and to keep, and what that makes of
// an hour, a step, a run and a million tokens.
//
//   chip-hour = [recovery of the capital] / (8766 availability chips)
//             + power limit x colocation price
//             + power drawn x PUE x price of energy
//
// Chips and what else is in a server are bought by the node, NICs, switches and
// cables as the graph has them, as far as a part-filled tree needs them
// (network_parts.h). A rented chip costs its rent,
// which has all that in it.
//
//   ASSIGN_OR_RETURN(const MachineCost machine,
//                    MachineCost::Create(system, graph, prices, rent));
//   machine.ChipHour(PriceDraw::Nominal(), watts_drawn).total()
#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cost/ownership/network_parts.h"
#include "cost/ownership/step_energy.h"
#include "cost/silicon/price_table.h"
#include "topology/graph/graph.h"
#include "topology/machine/system.h"

namespace orrery {

// Something that is bought, so many times.
struct BillItem {
  std::string what;
  std::string price_id;
  double count = 0;
  PriceRange price;
  Watts power{};          // of one
  bool replaced = false;  // by the scenario
};

struct ChipHourCost {
  DollarsPerHour capital{};
  DollarsPerHour facility{};
  DollarsPerHour energy{};
  DollarsPerHour rent{};
  DollarsPerHour total() const { return capital + facility + energy + rent; }
};

// Ids of the numbers of a price list that MachineCost::rates() holds.
std::vector<std::string> RateIds();
// An error if `id` is one of them and `range` is beyond what it may be.
absl::Status CheckRate(absl::string_view id, const PriceRange& range);
inline constexpr char kGoodput[] = "run/goodput";
inline constexpr char kUtilisation[] = "serving/utilisation";

class MachineCost {
 public:
  // The error names every price that is missing.
  static absl::StatusOr<MachineCost> Create(const System& system,
                                            const Graph& graph,
                                            const PriceTable& prices,
                                            std::optional<DollarsPerHour> rent);

  const std::vector<BillItem>& items() const { return items_; }
  // The numbers of the price list that lead from the bill to an hour, a run and
  // a token, by id: "run/goodput". What each is for is in docs/cost.md.
  const std::map<std::string, PriceEntry, std::less<>>& rates() const {
    return rates_;
  }
  int64_t chips() const { return chips_; }
  // Ids that the scenario adds to the list and that price nothing here: slips
  // of the keyboard, or of another machine.
  const std::vector<std::string>& unused() const { return unused_; }
  bool rented() const { return rent_.has_value(); }
  // Of switches, cables' ends and NICs.
  Watts network_power() const { return network_power_; }
  // The machine's limit: chips, hosts, network.
  Watts power_limit() const { return power_limit_; }
  // The oldest and newest date of a price that counts.
  const std::string& oldest() const { return oldest_; }
  const std::string& newest() const { return newest_; }

  Dollars Capital(const PriceDraw& draw) const;
  // `drawn` is the mean power of the whole machine.
  ChipHourCost ChipHour(const PriceDraw& draw, Watts drawn) const;
  EnergyRates Rates(const PriceDraw& draw) const;
  double Pue(const PriceDraw& draw) const;
  double GramsPerKwh(const PriceDraw& draw) const;
  // The share of the paid time that makes tokens: the goodput of a training
  // run, the utilisation of a server.
  double ProductiveShare(bool serves, const PriceDraw& draw) const;

 private:
  MachineCost() = default;
  double At(const char* id, const PriceDraw& draw) const;

  int64_t chips_ = 0;
  std::vector<BillItem> items_;
  std::map<std::string, PriceEntry, std::less<>> rates_;
  std::vector<std::string> unused_;
  std::optional<DollarsPerHour> rent_;
  Watts network_power_{};
  Watts power_limit_{};
  std::string oldest_;
  std::string newest_;
};

}  // namespace orrery
