#pragma once
// The one place where remaining work and a rate become a time of completion.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace orrery {

// No event is later than this; one that would be is put here, and the engine
// reports that simulated time ran out of range.
inline constexpr Time kEndOfTime = Time::max();

// `now` + `d`, or kEndOfTime. Requires: d >= 0, now >= 0.
inline Time After(Time now, Duration d) {
  return IsBeyondTime(d) || d > kEndOfTime - now ? kEndOfTime : now + d;
}

// The nearest whole number, up from halves and from what rounding made of them.
// Round sizes at round rates end on halves of a picosecond, and which way these
// go must not depend on the order in which loads were added up. What is left of
// a step that ran at other rates before has errors that are not its own: they
// are the absolute part. Requires: value >= 0, in range.
inline int64_t Nearest(double value) {
  constexpr double kOfValue = 1e-14;
  constexpr double kOfWhatRan = 1e-6;
  constexpr double kMost = 0.25;
  const double rounding = std::min(kMost, kOfWhatRan + kOfValue * value);
  const auto below = static_cast<int64_t>(value);
  return below + (value - static_cast<double>(below) >= 0.5 - rounding ? 1 : 0);
}

// When `work` is done at `rate` units of work per picosecond: to the nearest
// picosecond, but never at once, so that no work is free. Requires: rate > 0.
inline Time CompletionTime(Time now, double work, double rate) {
  if (work <= 0) return now;
  const double picoseconds = work / rate;
  if (!(picoseconds < kMaxSeconds * 1e12)) return kEndOfTime;
  const Duration rounded(Nearest(picoseconds));
  return After(now, rounded < Duration(1) ? Duration(1) : rounded);
}

inline double Picoseconds(Duration d) { return static_cast<double>(d.count()); }

}  // namespace orrery
