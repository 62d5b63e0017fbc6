#include "accuracy/kernels/fit_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

// By how much a constant is moved to see what depends on it.
constexpr double kNudge = 1.1;
// A change of the mean error by less is the same to rows that are measured to a
// percent or so.
constexpr double kTellable = 5e-4;
// Another constant makes a nudge good if it leaves this share of the harm.
constexpr double kMadeGood = 0.25;
constexpr double kAnswers[] = {0.7,  0.8,  0.9, 0.95, 0.98,
                               1.02, 1.05, 1.1, 1.2,  1.4};

double Moved(const FitConstant& constant, double factor) {
  return std::clamp(constant.value * factor, constant.low, constant.high);
}

}  // namespace

std::vector<FitDoubt> DoubtsOf(
    absl::Span<const FitConstant> fitted,
    absl::FunctionRef<double(absl::Span<const FitConstant>)> loss) {
  std::vector<FitConstant> trial(fitted.begin(), fitted.end());
  const double base = loss(trial);
  const auto with = [&](size_t i, double value) {
    const double old = std::exchange(trial[i].value, value);
    const double result = loss(trial);
    trial[i].value = old;
    return result;
  };
  std::vector<FitDoubt> doubts;
  for (size_t i = 0; i < fitted.size(); ++i) {
    const FitConstant& constant = fitted[i];
    if (constant.value <= constant.low) {
      doubts.push_back({FitDoubt::Kind::kAtLow, constant.name, constant.value});
    } else if (constant.value >= constant.high) {
      doubts.push_back(
          {FitDoubt::Kind::kAtHigh, constant.name, constant.value});
    }
    // Away from the end of the range, or up.
    double nudged = Moved(constant, kNudge);
    const double down = Moved(constant, 1 / kNudge);
    double harm = with(i, nudged) - base;
    const double harm_down = with(i, down) - base;
    if (std::max(harm, harm_down) < kTellable) {
      doubts.push_back({FitDoubt::Kind::kFlat, constant.name, constant.value});
      continue;
    }
    if (harm < harm_down) {
      harm = harm_down;
      nudged = down;
    }
    const double old = std::exchange(trial[i].value, nudged);
    for (size_t j = i + 1; j < fitted.size(); ++j) {
      double best = harm;
      for (const double answer : kAnswers) {
        best = std::min(best, with(j, Moved(fitted[j], answer)) - base);
      }
      if (best > kMadeGood * harm) continue;
      doubts.push_back({FitDoubt::Kind::kAlike, constant.name, constant.value,
                        fitted[j].name});
    }
    trial[i].value = old;
  }
  return doubts;
}

std::string DoubtText(const FitDoubt& doubt, absl::string_view text) {
  const std::string what =
      fmt::format("{} = {}", doubt.constant, std::string(text));
  switch (doubt.kind) {
    case FitDoubt::Kind::kAtLow:
      return what + " is at the lower end of its range: the rows ask for less";
    case FitDoubt::Kind::kAtHigh:
      return what + " is at the upper end of its range: the rows ask for more";
    case FitDoubt::Kind::kFlat:
      return what + " is not determined: a tenth more or less fits as well";
    case FitDoubt::Kind::kAlike:
      return fmt::format(
          "{} is not determined by itself: the rows cannot tell it from {}",
          what, doubt.other);
  }
  return what;
}

}  // namespace orrery
