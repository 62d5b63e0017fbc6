#include "accuracy/kernel_measurement.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <cmath>

#include "accuracy/kernel_row.h"
#include "base/check.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

constexpr double kLargeProduct = 1e12;

// Names under which chips appear in published tables, and their presets.
struct PublishedName {
  absl::string_view prefix;
  absl::string_view preset;
};
constexpr PublishedName kPublishedNames[] = {
    {"A100-SXM4-80GB", "a100_sxm_80"},
    {"A100-80GB-SXM", "a100_sxm_80"},
    {"A100-SXM4-40GB", "a100_sxm_40"},
    {"H100-SXM5-80GB", "h100_sxm"},
    {"H100-80GB-SXM", "h100_sxm"},
    {"H200-SXM", "h200_sxm"},
    {"H200-141GB-SXM", "h200_sxm"},
    {"H800-SXM5", "h800_sxm"},
    {"H20-SXM", "h20_sxm"},
    {"B200-SXM", "b200_sxm"},
    {"GB200", "gb200"},
    {"GB300", "gb300"},
    {"MI300X", "mi300x"},
    {"MI355X", "mi355x"},
    {"TPU v4", "tpu_v4"},
    {"TPU v5e", "tpu_v5e"},
    {"TPU v5p", "tpu_v5p"},
    {"TPU v6e", "tpu_v6e"},
};

absl::StatusOr<std::string> ChipOf(const MeasurementRow& row) {
  if (const auto chip = row.Get("chip")) return *chip;
  const std::string hardware = row.Text("hardware");
  // "4x A100-SXM4-80GB (TP4)" is a kernel on one of four.
  absl::string_view name = hardware;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(name, absl::MaxSplits("x ", 1));
  if (!parts.second.empty()) name = parts.second;
  for (const PublishedName& published : kPublishedNames) {
    if (absl::StartsWith(name, published.prefix)) {
      return std::string(published.preset);
    }
  }
  return row.Wrong("hardware",
                   "the published name of a known chip (a column 'chip' may "
                   "name a preset instead)");
}

std::optional<double> HarnessOf(const MeasurementTable& harnesses,
                                const MeasurementRow& measured) {
  for (const MeasurementRow& row : harnesses.rows()) {
    if (row.Text("source_id") != measured.Text("source_id") ||
        row.Text("kernel") != measured.Text("kernel")) {
      continue;
    }
    const absl::StatusOr<double> overhead = row.Positive("overhead_us");
    if (overhead.ok()) return *overhead * 1e-6;
  }
  return std::nullopt;
}

absl::StatusOr<KernelMeasurement> Read(const MeasurementRow& row,
                                       const MeasurementTable& harnesses) {
  ASSIGN_OR_RETURN(std::string chip, ChipOf(row));
  ASSIGN_OR_RETURN(KernelRow read, ReadKernelRow(row));
  KernelMeasurement measurement;
  measurement.id = row.id();
  measurement.line = row.line();
  measurement.source = row.Text("source_id");
  measurement.chip = std::move(chip);
  measurement.what = std::move(read.what);
  measurement.kernel_class = read.kernel_class;
  measurement.ops = std::move(read.ops);
  measurement.seconds = read.seconds;
  measurement.harness = HarnessOf(harnesses, row);
  return measurement;
}

}  // namespace

absl::StatusOr<MeasurementTable> OpenKernelTable(
    const std::optional<std::string>& file) {
  return MeasurementTable::Open(
      file, "kernels.csv",
      {"kernel", "dtype", "chip|hardware", "time_us|GBps"});
}

absl::StatusOr<MeasurementTable> OpenHarnessTable() {
  return MeasurementTable::Open(std::nullopt, "harnesses.csv",
                                {"source_id", "kernel", "overhead_us"});
}

KernelMeasurements ReadKernelMeasurements(const MeasurementTable& table,
                                          const MeasurementTable& harnesses) {
  return ReadMeasurements<KernelMeasurement>(
      table, [&](const MeasurementRow& row) { return Read(row, harnesses); });
}

bool IsLargeProduct(const KernelMeasurement& row) {
  return row.kernel_class == KernelClass::kGemm &&
         MatrixFlops(row.ops.back()).value() > kLargeProduct;
}

absl::StatusOr<HarnessTimers> HarnessTimers::Create(const Chip& chip,
                                                    const Kernels& kernels) {
  ASSIGN_OR_RETURN(KernelTimer sustained, KernelTimer::Create(chip, kernels));
  ASSIGN_OR_RETURN(
      KernelTimer burst,
      KernelTimer::Create(chip, kernels, {.clock = chip.burst_clock()}));
  return HarnessTimers{std::move(sustained), std::move(burst)};
}

double Predict(const KernelMeasurement& row, const HarnessTimers& timers) {
  const KernelTimer& timer =
      row.harness.has_value() ? timers.burst : timers.sustained;
  double seconds = 0;
  double launches = 0;
  for (const Op& op : row.ops) {
    const OpTime time = timer.Time(op);
    seconds += ToSeconds(time.time);
    launches += ToSeconds(time.launch);
  }
  if (row.harness.has_value()) return seconds - launches + *row.harness;
  return seconds;
}

std::string_view Name(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kGemm:
      return "gemm";
    case KernelClass::kGroupedGemm:
      return "grouped gemm";
    case KernelClass::kAttention:
      return "flash attention";
    case KernelClass::kPrefillAttention:
      return "prefill attention";
    case KernelClass::kDecodeAttention:
      return "decode attention";
    case KernelClass::kMemoryBound:
      return "memory-bound";
  }
  CHECK(false) << "no such class";
  return {};
}

}  // namespace orrery
