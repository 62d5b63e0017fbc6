#pragma once
// PassDelays: how long after its start a pass of a rank ends.
//
// A pass knows two moments of its rank: the kernels before it have ended, and
// its input is there. Both of its own, the end of its last kernel and the
// result that the next pass needs, are the later of two sums, one from each:
//
//   PassMoment at;
//   for (const PassDelays& unit : units) at = unit.After(at);
#include <algorithm>
#include <limits>

namespace orrery {

// Seconds.
struct PassMoment {
  double kernels = 0;
  double result = 0;
};

struct PassDelays {
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  // A pass that does nothing.
  constexpr PassDelays() = default;
  // One in which nothing hides: it begins when both are there, and both of its
  // ends are at the same time.
  constexpr PassDelays(double seconds)
      : after_kernels{seconds, seconds}, after_input{seconds, seconds} {}

  // Calls alone are something, too.
  bool empty() const {
    return after_kernels.kernels == 0 && after_input.kernels == kNever &&
           after_input.result == 0;
  }
  PassMoment After(const PassMoment& start) const {
    return {std::max(start.kernels + after_kernels.kernels,
                     start.result + after_input.kernels),
            std::max(start.kernels + after_kernels.result,
                     start.result + after_input.result)};
  }
  // Then so many seconds of everything.
  PassDelays& operator+=(double seconds) {
    after_kernels.kernels += seconds;
    after_kernels.result += seconds;
    after_input.kernels += seconds;
    after_input.result += seconds;
    return *this;
  }
  // One pass after the other.
  PassDelays Then(const PassDelays& next) const {
    PassDelays both;
    both.after_kernels = next.After(after_kernels);
    both.after_input = next.After(after_input);
    return both;
  }

  PassMoment after_kernels = {0, kNever};
  PassMoment after_input = {kNever, 0};
};

// Calls that run beside passes, in a row of their own: when the last that a
// pass makes ready has ended, after the row before, the kernels before the pass
// and its input.
struct RowDelays {
  double after_row = 0;
  double after_kernels = PassDelays::kNever;
  double after_input = PassDelays::kNever;
};

// A forward and a backward pass that take turns: after the kernels before them,
// the input of the one and that of the other. What they yield is there when
// both are done.
struct PairDelays {
  PassMoment after_kernels = {0, 0};
  PassMoment after_first = {PassDelays::kNever, 0};
  PassMoment after_second = {PassDelays::kNever, 0};
};

// The four passes of a unit, or of a stage.
struct PassSet {
  PassDelays forward = {};
  PassDelays input_gradient = {};
  PassDelays weight_gradient = {};
  PassDelays backward = {};  // both gradients in one pass
};

// Of each pass of a unit, both of its ends after the host has started its last
// kernel, which does not run before.
struct LaunchTails {
  PassMoment forward = {PassDelays::kNever, PassDelays::kNever};
  PassMoment input_gradient = forward;
  PassMoment weight_gradient = forward;
  PassMoment backward = forward;
};

}  // namespace orrery
