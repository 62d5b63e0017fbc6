#include "accuracy/kernels/kernel_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace orrery {
namespace {

constexpr int kEvery = 3;
// Steps relative to a constant's value, from coarse to fine.
constexpr std::array<double, 6> kSteps = {0.3, 0.15, 0.08, 0.04, 0.02, 0.01};
constexpr int kRoundsPerStep = 4;
// An improvement smaller than this is noise.
constexpr double kImprovement = 1e-6;
// Constants are written with as many digits as a fit can tell apart.
constexpr double kDigits = 1000;

double Rounded(double value) {
  const double unit =
      std::pow(10, std::floor(std::log10(std::abs(value)))) / (kDigits / 10);
  return value == 0 ? 0 : std::round(value / unit) * unit;
}

}  // namespace

std::vector<const KernelMeasurement*> RowsToFit(
    absl::Span<const KernelMeasurement> rows, absl::string_view chip) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::vector<const KernelMeasurement*> chosen;
  for (const KernelMeasurement& row : rows) {
    if (row.chip != chip) continue;
    if (row.kernel_class == KernelClass::kUnfusedAttention) continue;
    if (seen[{row.source, row.what}]++ % kEvery == 0) chosen.push_back(&row);
  }
  return chosen;
}

double FitLoss(absl::Span<const KernelMeasurement* const> rows,
               const HarnessTimers& timers) {
  struct Mean {
    double sum = 0;
    int count = 0;
  };
  std::map<std::pair<KernelClass, bool>, Mean> classes;
  for (const KernelMeasurement* row : rows) {
    if (timers.Of(row->implementation) == nullptr) continue;
    Mean& mean = classes[{row->kernel_class, IsLargeProduct(*row)}];
    mean.sum += std::abs(std::log(Predict(*row, timers) / row->seconds));
    ++mean.count;
  }
  double loss = 0;
  for (const auto& [key, mean] : classes) loss += mean.sum / mean.count;
  return classes.empty() ? 0 : loss / static_cast<double>(classes.size());
}

std::vector<FitConstant> WithEffect(
    absl::Span<const FitConstant> constants,
    absl::FunctionRef<double(absl::Span<const FitConstant>)> loss) {
  std::vector<FitConstant> trial(constants.begin(), constants.end());
  const double base = loss(trial);
  std::vector<FitConstant> result;
  for (size_t i = 0; i < trial.size(); ++i) {
    const double old = trial[i].value;
    bool matters = false;
    for (const double factor : {1 + kSteps[0], 1 / (1 + kSteps[0])}) {
      trial[i].value = std::clamp(old * factor, trial[i].low, trial[i].high);
      matters = matters || loss(trial) != base;
    }
    trial[i].value = old;
    if (matters) result.push_back(trial[i]);
  }
  return result;
}

FitResult FitConstants(
    std::vector<FitConstant> constants,
    absl::FunctionRef<double(absl::Span<const FitConstant>)> loss) {
  FitResult result;
  result.loss_before = loss(constants);
  result.evaluations = 1;
  double best = result.loss_before;
  for (const double step : kSteps) {
    for (int round = 0; round < kRoundsPerStep; ++round) {
      bool improved = false;
      for (FitConstant& constant : constants) {
        const double old = constant.value;
        for (const double factor : {1 + step, 1 / (1 + step)}) {
          constant.value =
              std::clamp(Rounded(old * factor), constant.low, constant.high);
          if (constant.value == old) continue;
          const double now = loss(constants);
          ++result.evaluations;
          if (now < best - kImprovement) {
            best = now;
            improved = true;
            break;
          }
          constant.value = old;
        }
      }
      if (!improved) break;
    }
  }
  result.constants = std::move(constants);
  result.loss_after = best;
  return result;
}

}  // namespace orrery
