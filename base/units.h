#pragma once
// Quantities: numbers that know their unit.
//
// Like adds to like, scaling by a plain number keeps the unit, and a few
// products and quotients that physics allows are spelled out below; nothing
// else converts by itself. Time is std::chrono at one picosecond; see
// FromSeconds for the one place where a real number becomes a time.
//
// GB is 10^9 bytes, GiB is 2^30, Gb/s counts bits. Text is in units_text.h.
#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include "base/check.h"

namespace orrery {

// Simulated time: exact picoseconds, good for +-106 days.
using Duration = std::chrono::duration<int64_t, std::pico>;
struct SimClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<SimClock, Duration>;
  static constexpr bool is_steady = true;
};
using Time = std::chrono::time_point<SimClock, Duration>;

template <class Tag, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator-(Quantity a) {
    return Quantity(-a.value_);
  }
  friend constexpr Quantity operator*(Quantity a, Rep factor) {
    return Quantity(a.value_ * factor);
  }
  friend constexpr Quantity operator*(Rep factor, Quantity a) {
    return Quantity(a.value_ * factor);
  }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) {
    return Quantity(a.value_ / divisor);
  }
  // How many times `b` goes into `a`, as a real number.
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, int64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using Flops = Quantity<struct FlopsTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using OpsPerSecond = Quantity<struct OpsPerSecondTag, double>;
using Hertz = Quantity<struct HertzTag, double>;
using Joules = Quantity<struct JoulesTag, double>;
using Watts = Quantity<struct WattsTag, double>;
using Dollars = Quantity<struct DollarsTag, double>;
using DollarsPerHour = Quantity<struct DollarsPerHourTag, double>;
using SquareMillimetres = Quantity<struct SquareMillimetresTag, double>;

// The range of time in seconds: a little less than 2^63 ps.
inline constexpr double kMaxSeconds = 9e6;
// What stands for every time beyond it. Whoever makes times from what a user
// typed looks for it and says so (see IsBeyondTime); the engine stops there.
inline constexpr Duration kBeyondTime{9'000'000'000'000'000'000};

constexpr bool IsBeyondTime(Duration d) { return d >= kBeyondTime; }

// The one place where a real number becomes a time: to the nearest picosecond,
// but never to nothing, so that no work is free.
inline Duration FromSeconds(double s) {
  CHECK(!std::isnan(s)) << "a time that is not a number";
  if (s <= 0) return Duration(0);
  if (s >= kMaxSeconds) return kBeyondTime;
  const Duration rounded(std::llround(s * 1e12));
  return rounded < Duration(1) ? Duration(1) : rounded;
}

// The sum of times, of which any may be beyond the range, or they together.
// Requires: both >= 0.
constexpr Duration AddTimes(Duration a, Duration b) {
  return a >= kBeyondTime - b ? kBeyondTime : a + b;
}

constexpr double ToSeconds(Duration d) {
  return static_cast<double>(d.count()) * 1e-12;
}
constexpr double ToSeconds(Time t) { return ToSeconds(t.time_since_epoch()); }

inline Duration operator/(Bytes b, BytesPerSecond r) {
  return FromSeconds(static_cast<double>(b.value()) / r.value());
}
inline Duration operator/(Flops f, FlopsPerSecond r) {
  return FromSeconds(f.value() / r.value());
}
constexpr Joules operator*(Watts p, Duration d) {
  return Joules(p.value() * ToSeconds(d));
}
constexpr Dollars operator*(DollarsPerHour p, Duration d) {
  return Dollars(p.value() * ToSeconds(d) / 3600.0);
}

}  // namespace orrery
