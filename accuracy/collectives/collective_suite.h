#pragma once
// The collective suite: measured collectives against the network model.
//
// Errors are of the bus bandwidth. Groups are a system and a class of message
// sizes. Bars are for medians.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/collectives/collective_measurement.h"
#include "accuracy/table/accuracy_table.h"

namespace orrery {

// Each row is run alone on its system, or refused: measured with a library the
// system is not calibrated for, or on more chips than a node has. Where a node
// of the system is a rack of several hosts, the row's chips fill racks one
// after the other. `origin` names the table the measurements are from.
AccuracyTable PredictCollectives(const CollectiveMeasurements& measurements,
                                 std::string origin);

// The same for the user's file if there is one, else
// validation/collectives.csv.
absl::StatusOr<AccuracyTable> RunCollectiveSuite(
    const std::optional<std::string>& file);

}  // namespace orrery
