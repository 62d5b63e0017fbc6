#include "accuracy/kernels/kernel_suite.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "accuracy/kernels/gemm_profile.h"
#include "base/check.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "run/chip_with_kernels.h"

namespace orrery {
namespace {

constexpr double kLargeProductBar = 0.05;

double BarOf(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kGemm:
      return 0.08;
    case KernelClass::kGroupedGemm:
      return 0.10;
    case KernelClass::kAttention:
    case KernelClass::kPrefillAttention:
      return 0.10;
    case KernelClass::kDecodeAttention:
    case KernelClass::kMemoryBound:
      return 0.15;
    case KernelClass::kUnfusedAttention:
      return 0.20;
  }
  CHECK(false) << "no such class";
  return 0;
}

// By class, the narrower group after the whole one.
GroupKey KeyOf(const KernelMeasurement& row, bool narrow) {
  std::string part(Name(row.kernel_class));
  if (narrow) {
    part += row.kernel_class == KernelClass::kGemm ? " above 1 TFLOP"
                                                   : ", not host-bound";
  }
  return {.subject = row.chip,
          .rank = 3 * static_cast<int>(row.kernel_class) + (narrow ? 1 : 0),
          .part = std::move(part)};
}

// Products of one source, after all of the chip.
GroupKey SourceKeyOf(const KernelMeasurement& row) {
  return {.subject = row.chip,
          .rank = 3 * static_cast<int>(row.kernel_class) + 2,
          .part = "gemm, " + row.source};
}

// Whether the row also belongs to the narrower group of its class.
bool IsNarrow(const KernelMeasurement& row, double predicted) {
  if (row.kernel_class == KernelClass::kMemoryBound) {
    return !row.harness.has_value() || predicted > 2 * *row.harness;
  }
  return IsLargeProduct(row);
}

absl::StatusOr<HarnessTimers> TimersOf(const std::string& chip,
                                       const std::string& library) {
  ASSIGN_OR_RETURN(const ChipWithKernels on, LoadChip(chip, library, {}));
  return HarnessTimers::Create(on.chip, on.kernels);
}

AccuracyRow PredictRow(const KernelMeasurement& row,
                       const HarnessTimers& timers) {
  const auto& fitted = timers.fitted_rows();
  return {
      .id = row.id,
      .line = row.line,
      .source = row.source,
      .measured = row.seconds,
      .predicted = Predict(row, timers),
      .fitted = std::find(fitted.begin(), fitted.end(), row.id) != fitted.end(),
      .groups = {KeyOf(row, false)},
      .facts = MeasuredKernel{.chip = row.chip, .kernel = row.what}};
}

}  // namespace

AccuracyTable PredictKernels(const KernelMeasurements& measurements,
                             std::string origin, const std::string& library) {
  AccuracyTable::Parts parts{.suite = Suite::kKernels,
                             .origin = std::move(origin),
                             .rows = {},
                             .refused = {}};
  for (const RefusedRow& row : measurements.refused) {
    parts.refused.push_back({row});
  }
  std::map<std::string, absl::StatusOr<HarnessTimers>> timers;
  for (const KernelMeasurement& row : measurements.rows) {
    auto found = timers.find(row.chip);
    if (found == timers.end()) {
      found = timers.emplace(row.chip, TimersOf(row.chip, library)).first;
    }
    if (!found->second.ok()) {
      parts.refused.push_back(
          {{row.line, row.id, std::string(found->second.status().message())},
           {KeyOf(row, false)}});
      continue;
    }
    if (found->second->Of(row.implementation) == nullptr) {
      parts.refused.push_back(
          {{row.line, row.id,
            fmt::format("the kernels of {} have no attention '{}'", row.chip,
                        row.implementation)},
           {KeyOf(row, false)}});
      continue;
    }
    AccuracyRow predicted = PredictRow(row, *found->second);
    const double bar = BarOf(row.kernel_class);
    parts.bars[KeyOf(row, false)] = {.median = bar};
    if (row.kernel_class == KernelClass::kGemm && !row.source.empty()) {
      predicted.groups.push_back(SourceKeyOf(row));
      parts.bars[SourceKeyOf(row)] = {.median = bar};
    }
    if (IsNarrow(row, predicted.predicted)) {
      predicted.groups.push_back(KeyOf(row, true));
      parts.bars[KeyOf(row, true)] = {
          .median = IsLargeProduct(row) ? kLargeProductBar : bar};
    }
    parts.rows.push_back(std::move(predicted));
  }
  return AccuracyTable(std::move(parts));
}

absl::StatusOr<AccuracyTable> RunKernelSuite(
    const std::optional<std::string>& file, const std::string& library) {
  if (!library.empty()) RETURN_IF_ERROR(Catalog().Kernels(library).status());
  ASSIGN_OR_RETURN(const MeasurementTable table, OpenKernelTable(file));
  ASSIGN_OR_RETURN(const MeasurementTable harnesses, OpenHarnessTable());
  return PredictKernels(ReadKernelMeasurements(table, harnesses),
                        table.origin(), library);
}

absl::StatusOr<ProfileAccuracy> CompareProfiles(const std::string& library) {
  ASSIGN_OR_RETURN(const MeasurementTable table,
                   MeasurementTable::Open(std::nullopt, "gemm_a100_nsight.csv",
                                          {"m", "n", "k", "time_us"}));
  ASSIGN_OR_RETURN(const ChipWithKernels on,
                   LoadChip("a100_sxm_80", library, {}));
  ASSIGN_OR_RETURN(const std::vector<GemmProfile> profiles,
                   ReadGemmProfiles(table, on.chip.compute_units()));
  std::vector<RowError> read, written, memory, time;
  for (const GemmProfile& profile : profiles) {
    if (profile.vector()) continue;
    ASSIGN_OR_RETURN(const ProfileError error,
                     CompareProfile(profile, on.chip, on.kernels));
    read.push_back({error.cache_read});
    written.push_back({error.cache_written});
    memory.push_back({error.memory_read});
    time.push_back({error.time});
  }
  return ProfileAccuracy{.profiles = static_cast<int>(profiles.size()),
                         .cache_read = Summarise(read),
                         .cache_written = Summarise(written),
                         .memory_read = Summarise(memory),
                         .time = Summarise(time)};
}

}  // namespace orrery
