#pragma once
// Published values of a run beside the predicted ones.
#include "base/status.h"
#include "proto/report.pb.h"
#include "proto/scenario.pb.h"

namespace orrery {

// Sets `measured` from what the scenario says was measured. Requires: `report`
// is that of the scenario as it stands.
void AddMeasured(const pb::Scenario& scenario, pb::Report& report);

// Adds what is wrong with what the scenario says was measured: a field that
// reports do not have, a suite or a row that there is not.
void CheckMeasured(const pb::Scenario& scenario, Violations* violations);

}  // namespace orrery
