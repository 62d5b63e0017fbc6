#include "accuracy/kernels/kernel_calibration.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "catalog/field_text.h"

namespace orrery {
namespace {

// What is fitted: a field of the kernels or a clock of the chip, the unit it is
// written in, its range, and the class of kernels without which it would stand
// for something else.
struct Fitted {
  absl::string_view path;
  absl::string_view unit;
  double low;
  double high;
  std::optional<KernelClass> needs = std::nullopt;
  // Fitted only if the preset sets this field as well.
  absl::string_view along = {};
};
constexpr absl::string_view kMatrixPower = "power_draw.matrix";
constexpr Fitted kFitted[] = {
    // Two clocks can be told from the rows of two kinds of harness; a single
    // one could not be told from the attainable share below.
    {kMatrixPower, " W", 50, 5000, std::nullopt, "burst_clock"},
    {"burst_clock", " GHz", 0.5, 3},
    {"kernels.matrix_efficiency", "", 0.85, 0.99},
    {"kernels.memory_efficiency", "", 0.6, 0.93},
    {"kernels.launch", " us", 1, 10},
    {"kernels.precision[FP8].efficiency", "", 0.5, 1},
    {"kernels.precision[FP8].step_cycles", "", 50, 1000},
    {"kernels.precision[FP4].efficiency", "", 0.5, 1},
    {"kernels.precision[FP4].step_cycles", "", 50, 1000},
    {"kernels.precision[FP4].memory_efficiency", "", 0.3, 1},
    {"kernels.step_cycles", "", 50, 500},
    // A launch and what a tile costs are told apart by products of many tiles;
    // where splitting costs a kernel, small ones say what the launch is.
    {"kernels.tile_overhead_cycles", "", 300, 3000, std::nullopt,
     "kernels.split_launch"},
    {"kernels.split_launch", " us", 0.1, 10},
    {"kernels.overlap_exponent", "", 1.2, 8},
    {"kernels.cache_efficiency", "", 0.6, 1},
    {"kernels.grouped_launch", " us", 0.5, 20, KernelClass::kGroupedGemm},
    {"kernels.grouped_efficiency", "", 0.7, 1, KernelClass::kGroupedGemm},
    {"kernels.quantize_efficiency", "", 0.2, 1},
    {"kernels.quantize_launch", " us", 0.5, 20},
};

// The same for every implementation of attention: a field of it. Those of the
// backward pass need rows of it alone: from sums of both they cannot be told.
constexpr absl::string_view kBackwardEfficiency = "backward_efficiency";
constexpr absl::string_view kBackwardExposed = "backward_exposed";
constexpr Fitted kFittedAttention[] = {
    {"efficiency", "", 0.2, 1},
    {kBackwardEfficiency, "", 0.2, 1},
    {"softmax_exposed", "", 0.02, 1},
    {kBackwardExposed, "", 0.1, 3},
    {"combine", " us", 0.5, 20, KernelClass::kDecodeAttention},
    {"tile_cycles", "", 300, 20000},
    {"start", " us", 0.1, 20},
};

constexpr absl::string_view kKernels = "kernels.";
// The number in front of a field's unit, or nothing if the field is not set.
std::optional<double> Current(const ChipProtos& protos,
                              absl::string_view path) {
  const absl::StatusOr<std::string> text =
      OfKernels(path)
          ? FieldText(absl::StripPrefix(path, kKernels), protos.kernels)
          : FieldText(path, protos.chip);
  double value = 0;
  if (!text.ok()) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(*text, ' ');
  if (!absl::SimpleAtod(words[0], &value)) return std::nullopt;
  return value;
}

bool HasClass(absl::Span<const KernelMeasurement* const> rows,
              KernelClass kernel_class) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const KernelMeasurement* row) {
                       return row->kernel_class == kernel_class;
                     });
}

// A product that ran for so long that the power limit binds.
bool HasLastingProduct(absl::Span<const KernelMeasurement* const> rows) {
  return std::any_of(
      rows.begin(), rows.end(), [](const KernelMeasurement* row) {
        return row->kernel_class == KernelClass::kGemm &&
               !row->harness.has_value() && !row->calls.has_value();
      });
}

bool HasBackward(absl::Span<const KernelMeasurement* const> rows,
                 absl::string_view implementation) {
  return std::any_of(
      rows.begin(), rows.end(), [&](const KernelMeasurement* row) {
        if (row->implementation != implementation) return false;
        const auto* first = std::get_if<FusedAttention>(&row->ops[0].work);
        return first != nullptr && first->backward;
      });
}

absl::StatusOr<HarnessTimers> TimersWith(
    const ChipProtos& protos, absl::Span<const FitConstant> constants) {
  ChipProtos changed = protos;
  for (const FitConstant& constant : constants) {
    RETURN_IF_ERROR(
        changed.Set(absl::StrCat(constant.name, "=", ConstantText(constant))));
  }
  ASSIGN_OR_RETURN(const ChipWithKernels on, changed.ToValues());
  return HarnessTimers::Create(on.chip, on.kernels);
}

// Mean size of the errors, or nothing if no row can be predicted.
std::optional<double> MeanError(absl::Span<const KernelMeasurement* const> rows,
                                const HarnessTimers& timers) {
  double sum = 0;
  int count = 0;
  for (const KernelMeasurement* row : rows) {
    if (timers.Of(row->implementation) == nullptr) continue;
    sum += std::abs(Predict(*row, timers) / row->seconds - 1);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace

std::string UnitOfConstant(absl::string_view path) {
  for (const Fitted& fitted : kFitted) {
    if (fitted.path == path) return std::string(fitted.unit);
  }
  for (const Fitted& fitted : kFittedAttention) {
    if (absl::EndsWith(path, absl::StrCat("].", fitted.path))) {
      return std::string(fitted.unit);
    }
  }
  return "";
}

bool OfKernels(absl::string_view path) {
  return absl::StartsWith(path, kKernels);
}

std::string ConstantText(const FitConstant& constant) {
  return fmt::format("{:g}{}", constant.value, UnitOfConstant(constant.name));
}

absl::StatusOr<KernelCalibration> CalibrateKernels(
    const ChipProtos& protos, absl::Span<const KernelMeasurement* const> rows) {
  std::vector<FitConstant> candidates;
  ASSIGN_OR_RETURN(const ChipWithKernels on, protos.ToValues());
  const double highest_clock = on.chip.highest_clock().value() * 1e-9;
  const auto offer = [&](const Fitted& fitted, const std::string& path) {
    const std::optional<double> value = Current(protos, path);
    if (!value.has_value()) return;
    if (!fitted.along.empty() && !Current(protos, fitted.along)) return;
    if (fitted.needs.has_value() && !HasClass(rows, *fitted.needs)) return;
    if (fitted.path == kMatrixPower && !HasLastingProduct(rows)) return;
    const bool is_clock = fitted.unit == " GHz";
    candidates.push_back(
        {path, *value, fitted.low,
         is_clock ? std::min(fitted.high, highest_clock) : fitted.high});
  };
  for (const Fitted& fitted : kFitted) offer(fitted, std::string(fitted.path));
  for (const pb::FlashAttention& flash : protos.kernels.flash_attention()) {
    for (const Fitted& fitted : kFittedAttention) {
      if ((fitted.path == kBackwardEfficiency ||
           fitted.path == kBackwardExposed) &&
          !HasBackward(rows, flash.name())) {
        continue;
      }
      offer(fitted, fmt::format("kernels.flash_attention[{}].{}", flash.name(),
                                fitted.path));
    }
  }
  RETURN_IF_ERROR(TimersWith(protos, candidates).status());
  const auto loss = [&](absl::Span<const FitConstant> trial) {
    return FitLoss(rows, *TimersWith(protos, trial));
  };
  const std::vector<FitConstant> constants = WithEffect(candidates, loss);
  FitResult fit = FitConstants(constants, loss);
  ASSIGN_OR_RETURN(HarnessTimers timers, TimersWith(protos, fit.constants));
  return KernelCalibration{constants, std::move(fit), std::move(timers)};
}

absl::StatusOr<std::vector<FitDoubt>> DoubtsOfFit(
    const ChipProtos& protos, absl::Span<const KernelMeasurement* const> rows,
    absl::Span<const FitConstant> fitted) {
  RETURN_IF_ERROR(TimersWith(protos, fitted).status());
  return DoubtsOf(fitted, [&](absl::Span<const FitConstant> trial) {
    return FitLoss(rows, *TimersWith(protos, trial));
  });
}

absl::StatusOr<std::vector<LeftOut>> LeaveSourcesOut(
    absl::Span<const KernelMeasurement> rows) {
  std::map<std::string, std::set<std::string>> sources;
  for (const KernelMeasurement& row : rows)
    sources[row.chip].insert(row.source);
  std::vector<LeftOut> result;
  for (const auto& [chip, names] : sources) {
    ASSIGN_OR_RETURN(const ChipProtos protos, LoadChipProtos(chip, "", {}));
    ASSIGN_OR_RETURN(const HarnessTimers as_is, TimersWith(protos, {}));
    for (const std::string& source : names) {
      std::vector<KernelMeasurement> others;
      std::vector<const KernelMeasurement*> own;
      for (const KernelMeasurement& row : rows) {
        if (row.chip != chip) continue;
        if (row.source == source) {
          own.push_back(&row);
        } else {
          others.push_back(row);
        }
      }
      LeftOut left{
          .chip = chip, .source = source, .rows = static_cast<int>(own.size())};
      const std::optional<double> mean = MeanError(own, as_is);
      if (!mean.has_value()) continue;
      left.mean = *mean;
      if (!others.empty()) {
        ASSIGN_OR_RETURN(const KernelCalibration fit,
                         CalibrateKernels(protos, RowsToFit(others, chip)));
        left.refitted_mean = MeanError(own, fit.timers);
      }
      result.push_back(std::move(left));
    }
  }
  return result;
}

}  // namespace orrery
