#include "run/step_integral.h"

#include <algorithm>
#include <cmath>
#include <map>
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

// Asks for every value once.
class Values {
 public:
  explicit Values(absl::FunctionRef<absl::StatusOr<double>(int64_t)> at)
      : at_(at) {}
  absl::StatusOr<double> At(int64_t step) {
    const auto known = known_.find(step);
    if (known != known_.end()) return known->second;
    ASSIGN_OR_RETURN(const double value, at_(step));
    known_[step] = value;
    return value;
  }
  int count() const { return static_cast<int>(known_.size()); }

 private:
  absl::FunctionRef<absl::StatusOr<double>(int64_t)> at_;
  std::map<int64_t, double> known_;
};

// Halves intervals until none is longer than `longest` or off by more than
// `precision`; in order.
absl::StatusOr<std::vector<Stretch>> Stretches(int64_t steps, double precision,
                                               int64_t longest,
                                               Values& values) {
  std::vector<Stretch> done;
  if (steps == 1) return done;
  ASSIGN_OR_RETURN(const double first, values.At(0));
  ASSIGN_OR_RETURN(const double last, values.At(steps - 1));
  // A stack, the earliest on top.
  std::vector<Stretch> open = {{0, steps - 1, first, last}};
  while (!open.empty()) {
    const Stretch i = open.back();
    open.pop_back();
    if (i.to - i.from <= longest && i.Error() <= precision * i.Sum()) {
      done.push_back(i);
      continue;
    }
    const int64_t middle = i.from + (i.to - i.from) / 2;
    ASSIGN_OR_RETURN(const double value, values.At(middle));
    open.push_back({middle, i.to, value, i.at_to});
    open.push_back({i.from, middle, i.at_from, value});
  }
  return done;
}

// The most by which a value is below an earlier one.
double Ripple(const std::vector<Stretch>& stretches) {
  double most = 0;
  double highest = 0;
  for (const Stretch& stretch : stretches) {
    highest = std::max(highest, stretch.at_from);
    most = std::max(most, highest - stretch.at_to);
  }
  return most;
}

}  // namespace

absl::StatusOr<StepIntegral> SumOverSteps(
    int64_t steps, double precision,
    absl::FunctionRef<absl::StatusOr<double>(int64_t)> at, Growth growth) {
  constexpr int64_t kPlaces = 32;
  StepIntegral result;
  Values values(at);
  ASSIGN_OR_RETURN(result.first, values.At(0));
  ASSIGN_OR_RETURN(result.last, values.At(steps - 1));
  const bool nearly = growth == Growth::kNearly;
  int64_t longest = nearly ? (steps + kPlaces - 1) / kPlaces : steps;
  for (double within = precision;; within /= 2, longest /= 2) {
    ASSIGN_OR_RETURN(const std::vector<Stretch> stretches,
                     Stretches(steps, within, longest, values));
    result.sum = result.last;
    result.error = 0;
    int64_t between = 0;  // steps that were not asked for
    for (const Stretch& stretch : stretches) {
      result.sum += stretch.Sum();
      result.error += stretch.Error();
      between += stretch.to - stretch.from - 1;
    }
    if (nearly) {
      result.error += Ripple(stretches) * static_cast<double>(between);
    }
    if (!nearly || longest <= 1 || result.error <= precision * result.sum) {
      break;
    }
  }
  result.evaluations = values.count();
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
