#pragma once
// Measured collectives, read from a table, and how far predictions are off.
//
// Columns are found by name: collective, num_gpus, size_bytes, and time_us or
// busbw_GBps must be there; nodes, hardware, library, algo, source_id, id and
// system may be. Rows that cannot be predicted are kept with the reason.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/units.h"
#include "topology/collectives/collective.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

struct CollectiveMeasurement {
  std::string id;
  int line = 0;
  std::string system;   // preset
  std::string library;  // empty: not said
  CommunicationKind kind;
  int nodes = 1;
  int chips = 2;
  Bytes bytes;
  // As measured, or the table's bus bandwidth turned into a time.
  double seconds = 0;
  // What the table says was used, if it is a plain name.
  std::optional<CollectiveAlgorithm> algorithm;
};

struct CollectiveMeasurements {
  std::vector<CollectiveMeasurement> rows;
  // "line 7 (C00282): no size_bytes"
  std::vector<std::string> refused;
};

// `systems` maps source_id and hardware to presets
// (validation/collective_systems.csv).
absl::StatusOr<CollectiveMeasurements> ReadCollectiveMeasurements(
    const CsvTable& table, const CsvTable& systems);

struct CollectivePrediction {
  const CollectiveMeasurement* row;
  double seconds;
  std::string algorithm;  // and protocol
  double measured_busbw;
  double predicted_busbw;
  // Of the bandwidth.
  double error() const { return predicted_busbw / measured_busbw - 1; }
};

enum class SizeClass { kSmall, kMiddle, kLarge };
inline constexpr SizeClass kSizeClasses[] = {
    SizeClass::kLarge, SizeClass::kMiddle, SizeClass::kSmall};
SizeClass ClassOf(Bytes bytes);
std::string_view NameOf(SizeClass size);
// What the median of |error| must not exceed.
double BarOf(SizeClass size);

struct CollectiveAccuracy {
  std::string system;  // "all" for the whole table
  SizeClass size;
  int rows = 0;
  double median = 0;
  double mean = 0;
  double worst = 0;
  bool met() const { return median <= BarOf(size); }
};

// The whole table first, then system by system.
std::vector<CollectiveAccuracy> SummariseCollectives(
    absl::Span<const CollectivePrediction> predictions);

}  // namespace orrery
