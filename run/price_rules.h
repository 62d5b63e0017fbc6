#pragma once
// What a scenario may say of prices: checked before any work, by every command.
#include "base/status.h"
#include "proto/cost.pb.h"

namespace orrery {

// Adds what is wrong with cost.prices and with each cost.price: a list that
// there is not, an id that nothing is priced by, a unit that is not the row's,
// a number that is not possible. A list that has no entry for a part of the
// machine is not wrong: such a scenario has no cost.
void CheckPrices(const pb::CostOptions& cost, Violations* violations);

}  // namespace orrery
