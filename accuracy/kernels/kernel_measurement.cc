#include "accuracy/kernels/kernel_measurement.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cmath>

#include "accuracy/kernels/kernel_row.h"
#include "base/check.h"
#include "base/format.h"
#include "base/status.h"

namespace orrery {
namespace {

constexpr double kLargeProduct = 1e12;
// How long a chip that was idle runs above the power that it may draw for long.
// In one harness (ten calls each) the H100 multiplies at 790 to 817 TFLOP/s if
// a call takes 0.6 to 1.8 ms, at 755 if it takes 3 to 6 and at 718 from 6
// to 12.
constexpr double kPowerWindow = 0.03;

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
    {"TPU v7x", "tpu_v7x"},
};

// Implementations of attention, by how their published names begin.
constexpr PublishedName kImplementations[] = {
    {"FlashAttention-2", "fa2"}, {"FlashAttention-3", "fa3"},
    {"FlashAttention-4", "fa4"}, {"cuDNN", "cudnn"},
    {"Triton", "triton"},        {"TensorRT-LLM", "trtllm"},
    {"FlashMLA", "flashmla"},    {"FlashInfer", "trtllm"},
};

std::string ImplementationOf(const MeasurementRow& row) {
  const std::string text = row.Text("implementation");
  for (const PublishedName& published : kImplementations) {
    if (absl::StartsWith(text, published.prefix)) {
      return std::string(published.preset);
    }
  }
  return "";
}

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

// What the table of harnesses says of a measurement's source and kernel.
struct Harness {
  std::optional<double> overhead;
  std::optional<double> calls;
  bool warm = false;
};
Harness HarnessOf(const MeasurementTable& harnesses,
                  const MeasurementRow& measured) {
  for (const MeasurementRow& row : harnesses.rows()) {
    if (row.Text("source_id") != measured.Text("source_id") ||
        row.Text("kernel") != measured.Text("kernel")) {
      continue;
    }
    Harness harness;
    const absl::StatusOr<double> overhead = row.Positive("overhead_us");
    if (overhead.ok()) harness.overhead = *overhead * 1e-6;
    const absl::StatusOr<double> calls = row.Positive("calls");
    if (calls.ok()) harness.calls = *calls;
    harness.warm = row.Has("warm");
    return harness;
  }
  return {};
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
  const Harness harness = HarnessOf(harnesses, row);
  if (harness.overhead) measurement.harness = *harness.overhead * read.clocked;
  measurement.calls = harness.calls;
  measurement.warm = harness.warm;
  if (absl::EndsWith(row.Text("kernel"), "attention")) {
    measurement.implementation = ImplementationOf(row);
  }
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
  HarnessTimers result;
  result.fitted_rows_ = kernels.constants().fitted_rows;
  for (const FlashConstants& flash : kernels.constants().flash_attention) {
    KernelOptions options{.implementation = flash.name};
    ASSIGN_OR_RETURN(KernelTimer sustained,
                     KernelTimer::Create(chip, kernels, options));
    options.warm_cache = true;
    ASSIGN_OR_RETURN(KernelTimer warm,
                     KernelTimer::Create(chip, kernels, options));
    options.warm_cache = false;
    options.clock = chip.burst_clock();
    ASSIGN_OR_RETURN(KernelTimer burst,
                     KernelTimer::Create(chip, kernels, options));
    const Pair pair{std::move(sustained), std::move(burst), std::move(warm)};
    if (flash.name == kernels.constants().attention.name) {
      result.timers_.emplace("", pair);
    }
    result.timers_.emplace(flash.name, pair);
  }
  return result;
}

const HarnessTimers::Pair* HarnessTimers::Of(
    const std::string& implementation) const {
  const auto found = timers_.find(implementation);
  return found == timers_.end() ? nullptr : &found->second;
}

namespace {

struct Timed {
  double seconds = 0;
  double launches = 0;
};
Timed TimeOf(const KernelMeasurement& row, const KernelTimer& timer) {
  Timed result;
  for (const Op& op : row.ops) {
    const OpTime time = timer.Time(op);
    result.seconds += ToSeconds(time.time);
    result.launches += ToSeconds(time.launch);
  }
  return result;
}

}  // namespace

double Predict(const KernelMeasurement& row, const HarnessTimers& timers) {
  const HarnessTimers::Pair* pair = timers.Of(row.implementation);
  CHECK(pair != nullptr) << row.implementation;
  if (row.harness.has_value()) {
    const Timed burst = TimeOf(row, pair->burst);
    return burst.seconds - burst.launches + *row.harness;
  }
  const double sustained =
      TimeOf(row, row.warm ? pair->warm : pair->sustained).seconds;
  if (!row.calls.has_value()) return sustained;
  // The first calls run before the power limit lowers the clock, if it does.
  const double burst = std::min(sustained, TimeOf(row, pair->burst).seconds);
  const double early = std::min(*row.calls, kPowerWindow / burst);
  return (early * burst + (*row.calls - early) * sustained) / *row.calls;
}

std::string_view Name(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kGemm:
      return "gemm";
    case KernelClass::kGroupedGemm:
      return "grouped gemm";
    case KernelClass::kAttention:
      return "flash attention";
    case KernelClass::kUnfusedAttention:
      return "unfused attention";
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
