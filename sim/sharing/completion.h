#pragma once
// The one place where remaining work and a rate become a time of completion.
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

// std::llround of what is not negative and in range, without the call.
inline int64_t Nearest(double value) {
  const auto below = static_cast<int64_t>(value);
  return below + (value - static_cast<double>(below) >= 0.5 ? 1 : 0);
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
