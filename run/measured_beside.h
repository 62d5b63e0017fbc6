#pragma once
// Published values of a run beside the predicted ones.
#include "proto/report.pb.h"
#include "proto/scenario.pb.h"

namespace orrery {

// Sets `measured` from what the scenario says was measured. Requires: `report`
// is that of the scenario as it stands.
void AddMeasured(const pb::Scenario& scenario, pb::Report& report);

}  // namespace orrery
