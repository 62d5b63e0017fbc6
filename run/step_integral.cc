#include "run/step_integral.h"

#include <cmath>
#include <vector>

#include "base/status.h"

namespace orrery {
namespace {

struct Stretch {
  int64_t from = 0;
  int64_t to = 0;
  double at_from = 0;
  double at_to = 0;

  double steps() const { return static_cast<double>(to - from); }
  // Over [from, to), along the line, and what that may be off.
  double Sum() const {
    return steps() * at_from + (at_to - at_from) * (steps() - 1) / 2;
  }
  double Error() const { return std::abs(at_to - at_from) * (steps() - 1) / 2; }
};

}  // namespace

absl::StatusOr<StepIntegral> SumOverSteps(
    int64_t steps, double precision,
    absl::FunctionRef<absl::StatusOr<double>(int64_t)> at) {
  StepIntegral result;
  ASSIGN_OR_RETURN(result.first, at(0));
  result.evaluations = 1;
  result.last = result.first;
  std::vector<Stretch> open;  // a stack, the earliest on top
  if (steps > 1) {
    ASSIGN_OR_RETURN(result.last, at(steps - 1));
    ++result.evaluations;
    open.push_back({0, steps - 1, result.first, result.last});
  }
  while (!open.empty()) {
    const Stretch i = open.back();
    open.pop_back();
    if (i.Error() <= precision * i.Sum()) {
      result.sum += i.Sum();
      result.error += i.Error();
      continue;
    }
    const int64_t middle = i.from + (i.to - i.from) / 2;
    ASSIGN_OR_RETURN(const double value, at(middle));
    ++result.evaluations;
    open.push_back({middle, i.to, value, i.at_to});
    open.push_back({i.from, middle, i.at_from, value});
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
