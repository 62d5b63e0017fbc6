#pragma once
// RunBill: what a training run cost, by the method of Epoch AI (Cottier et al.,
// arXiv 2405.21015): the value that hardware loses while it is used, a share
// for the network between servers, and energy.
//
//   value   = price x server ratio x 10^(-0.14 years from purchase to start)
//   capital = value x 0.14 ln 10 / 8766 x chip-hours / (1 - 0.19)
//   energy  = TDP x server ratio x draw x PUE x chip-hours x price of energy
#include "base/units.h"
#include "cost/ownership/capital.h"

namespace orrery {

struct RunBillInputs {
  // Of a chip, and a server with it over that.
  Dollars chip_price{};
  double server_ratio = 1;
  double years_owned = 0;
  double chip_hours = 0;
  Watts chip_power{};
  double server_power_ratio = 1;
  double draw = 1;
  double pue = 1;
  double dollars_per_kwh = 0;
};

struct RunBill {
  Dollars capital{};
  Dollars energy{};
  Dollars total() const { return capital + energy; }
};

inline RunBill BillOfRun(const RunBillInputs& run) {
  // Of a cluster's cost, the network between servers.
  constexpr double kInterconnect = 0.19;
  const Dollars value =
      DecayedValue(run.chip_price * run.server_ratio, run.years_owned);
  const double kilowatts = run.chip_power.value() / 1e3 *
                           run.server_power_ratio * run.draw * run.pue;
  return {.capital = Dollars(DecayPerHour(value).value() * run.chip_hours /
                             (1 - kInterconnect)),
          .energy = Dollars(kilowatts * run.chip_hours * run.dollars_per_kwh)};
}

}  // namespace orrery
