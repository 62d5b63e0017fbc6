#pragma once
// From the columns of a kernel timing to the ops that ran.
//
// What each kind of row holds, and what its harness timed along with the kernel
// (validation/README.md): casts with FP8 products of one source, rotary and
// cache write with attention of another.
#include <absl/container/inlined_vector.h>
#include <absl/status/statusor.h>

#include <string>

#include "accuracy/kernels/kernel_measurement.h"
#include "accuracy/table/measurement_table.h"
#include "workload/model/op.h"

namespace orrery {

struct KernelRow {
  std::string what;
  KernelClass kernel_class = KernelClass::kGemm;
  absl::InlinedVector<Op, 3> ops;
  double seconds = 0;
  // Calls whose times the source has added up, each with what its clock adds.
  int clocked = 1;
};

// The error says which column is missing or not understood.
absl::StatusOr<KernelRow> ReadKernelRow(const MeasurementRow& row);

}  // namespace orrery
