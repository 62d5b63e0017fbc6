#include "run/step_integral.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/status.h"

namespace orrery {
namespace {

// Intervals to begin with: a bend must not hide between two of them.
constexpr int64_t kFirst = 4;

struct Interval {
  int64_t from = 0;
  int64_t to = 0;
  double at_from = 0;
  double at_to = 0;

  double steps() const { return static_cast<double>(to - from); }
  // Over [from, to), along the line.
  double Sum() const {
    return steps() * at_from + (at_to - at_from) * (steps() - 1) / 2;
  }
};

}  // namespace

absl::StatusOr<StepIntegral> SumOverSteps(
    int64_t steps, double precision,
    absl::FunctionRef<absl::StatusOr<double>(int64_t)> at) {
  StepIntegral result;
  const int64_t end = steps - 1;
  ASSIGN_OR_RETURN(result.first, at(0));
  ++result.evaluations;
  std::vector<Interval> open;  // a stack, the earliest on top
  Interval next{0, 0, result.first, result.first};
  std::vector<Interval> first;
  for (int64_t i = 1; i <= kFirst; ++i) {
    const int64_t to = end * i / kFirst;
    if (to == next.to) continue;
    ASSIGN_OR_RETURN(const double value, at(to));
    ++result.evaluations;
    next = {next.to, to, next.at_to, value};
    first.push_back(next);
  }
  result.last = next.at_to;
  open.assign(first.rbegin(), first.rend());
  while (!open.empty()) {
    const Interval i = open.back();
    open.pop_back();
    const int64_t middle = i.from + (i.to - i.from) / 2;
    if (middle == i.from) {
      result.sum += i.Sum();
      continue;
    }
    ASSIGN_OR_RETURN(const double value, at(middle));
    ++result.evaluations;
    const Interval low{i.from, middle, i.at_from, value};
    const Interval high{middle, i.to, value, i.at_to};
    const double line = i.at_from + (i.at_to - i.at_from) *
                                        static_cast<double>(middle - i.from) /
                                        i.steps();
    const double off = std::abs(value - line);
    if (off > precision * value) {
      open.push_back(high);
      open.push_back(low);
      continue;
    }
    result.sum += low.Sum() + high.Sum();
    const double grows = (std::abs(value - i.at_from) * low.steps() +
                          std::abs(i.at_to - value) * high.steps()) /
                         2;
    result.error += std::min(off * i.steps(), grows);
  }
  result.sum += result.last;
  return result;
}

absl::StatusOr<StepIntegral> SumEveryStep(
    int64_t steps, absl::FunctionRef<absl::StatusOr<double>(int64_t)> at) {
  StepIntegral result;
  for (int64_t i = 0; i < steps; ++i) {
    ASSIGN_OR_RETURN(const double value, at(i));
    if (i == 0) result.first = value;
    result.last = value;
    result.sum += value;
    ++result.evaluations;
  }
  return result;
}

}  // namespace orrery
