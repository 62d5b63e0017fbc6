#pragma once
// CountedMemory: which part of a rank's memory a source's figure is of.
//
// What is called a run's memory is not always the same thing: formulas of
// papers leave out what stands before and after the layers, frameworks report
// what their tensors take, and a driver's tool what the process has of the
// device. A row says which in `mem_counts`, and is compared with the same.
//
//   ASSIGN_OR_RETURN(const CountedMemory counted, ReadCountedMemory(row));
#include <absl/status/statusor.h>

#include "accuracy/table/measurement_table.h"
#include "base/units.h"
#include "run/scenario.h"

namespace orrery {

enum class CountedMemory {
  kTensors,   // all that is allocated at the peak: the default
  kLayers,    // of it what belongs to layers: no embedding, no head
  kReserved,  // what the framework's allocator holds at the peak
  kDevice,    // what the process holds of the device
};

// The column `mem_counts`: "tensors", "layers", "reserved" or "device".
absl::StatusOr<CountedMemory> ReadCountedMemory(const MeasurementRow& row);

// What embedding and head add to the fullest rank of a training scenario: its
// peak on paper with them, less the peak of layers alone.
absl::StatusOr<Bytes> BytesOfEnds(const ResolvedScenario& scenario);

}  // namespace orrery
