#pragma once
// Measured kernels as ops, to hold predictions against.
//
// A row of a table of kernel timings (validation/kernels.csv, or a user's own
// with the same columns) becomes the ops that ran, the chip they ran on and the
// seconds they took. Columns are found by name; `chip`, if there is one, names
// a preset, otherwise the published `hardware` name is looked up. A row that
// cannot be read is refused with the reason, never dropped.
#include <absl/container/inlined_vector.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/table/measurement_table.h"
#include "cost/kernel/kernel_timer.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"
#include "workload/model/op.h"

namespace orrery {

// What the accuracy tables tell apart.
enum class KernelClass : uint8_t {
  kGemm,
  kGroupedGemm,
  kAttention,         // the kernel alone, forward, backward or both
  kUnfusedAttention,  // its products and softmax, through memory
  kPrefillAttention,  // with rotary and cache write
  kDecodeAttention,
  kMemoryBound,  // pointwise, norms, softmax, streams
};
std::string_view Name(KernelClass kernel_class);

struct KernelMeasurement {
  std::string id;
  int line = 0;
  std::string source;
  std::string chip;
  // kernel, direction and format, for people: "gemm bf16", "attention decode".
  std::string what;
  KernelClass kernel_class = KernelClass::kGemm;
  absl::InlinedVector<Op, 3> ops;
  double seconds = 0;
  // Of a harness that clocks single calls on the host: what it saw of a kernel
  // that does nothing; the launches are part of it.
  std::optional<double> harness;
  // Calls in a row after an idle chip; unset: so many that it does not matter.
  std::optional<double> calls;
  // Calls of the same follow one another, and nothing clears the cache.
  bool warm = false;
  // The implementation of attention that was timed; empty: the kernels' own.
  std::string implementation;
};

// A chip as harnesses meet it: kept busy by a loop, or idle between short runs,
// so that each begins before the power limit lowers the clock.
class HarnessTimers {
 public:
  static absl::StatusOr<HarnessTimers> Create(const Chip& chip,
                                              const Kernels& kernels);

  struct Pair {
    KernelTimer sustained;
    KernelTimer burst;
    KernelTimer warm;  // sustained, after calls of the same
  };
  // Those of an implementation of attention; nothing if the kernels do not have
  // it.
  const Pair* Of(const std::string& implementation) const;
  const std::vector<std::string>& fitted_rows() const { return fitted_rows_; }

 private:
  std::map<std::string, Pair> timers_;
  std::vector<std::string> fitted_rows_;
};

using KernelMeasurements = Measurements<KernelMeasurement>;

// The user's file if there is one, else validation/kernels.csv.
absl::StatusOr<MeasurementTable> OpenKernelTable(
    const std::optional<std::string>& file);
// Which sources clocked on the host, and what that adds (harnesses.csv).
absl::StatusOr<MeasurementTable> OpenHarnessTable();

KernelMeasurements ReadKernelMeasurements(const MeasurementTable& table,
                                          const MeasurementTable& harnesses);

// A matrix product of more than 1 TFLOP.
bool IsLargeProduct(const KernelMeasurement& row);

// What the row should have measured, in seconds. Requires: the timers have the
// row's implementation of attention.
double Predict(const KernelMeasurement& row, const HarnessTimers& timers);

}  // namespace orrery
