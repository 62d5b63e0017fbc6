#pragma once
// Measured collectives, read from a table.
//
// A table needs collective, num_gpus, size_bytes, time_us or busbw_GBps, and
// system (a preset) or hardware; nodes, library, algo, source_id and id may be
// there. What moves tokens to experts is read by expert_measurement.h.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/table/measurement_table.h"
#include "base/units.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/communication_kind.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

struct CollectiveMeasurement {
  std::string id;
  int line = 0;
  std::string source;
  std::string system;   // preset
  std::string library;  // empty: not said
  CommunicationKind kind = CommunicationKind::kAllReduce;
  // Hosts, as published.
  int nodes = 1;
  int chips = 2;
  Bytes bytes;
  // As measured, or the table's bus bandwidth turned into a time.
  double seconds = 0;
  // What the host of the harness needs to start a call: none passes sooner.
  double host = 0;
  // What the table says was used (measured_algorithm.h).
  std::string algorithm;
  // Of an exchange of tokens with experts.
  CallShape shape = CallShape::kEven;
  std::optional<ExpertTraffic> traffic = std::nullopt;
};

using CollectiveMeasurements = Measurements<CollectiveMeasurement>;

// The user's file if there is one, else validation/collectives.csv.
absl::StatusOr<MeasurementTable> OpenCollectiveTable(
    const std::optional<std::string>& file);
// Which preset stands for which source and hardware (collective_systems.csv).
absl::StatusOr<MeasurementTable> OpenCollectiveSystems();
// How sources time calls (harnesses.csv).
absl::StatusOr<MeasurementTable> OpenCollectiveHarnesses();

// Without harnesses hosts take no time.
CollectiveMeasurements ReadCollectiveMeasurements(
    const MeasurementTable& table, const MeasurementTable& systems,
    const MeasurementTable* harnesses = nullptr);

}  // namespace orrery
