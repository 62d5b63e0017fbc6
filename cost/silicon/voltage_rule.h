#pragma once
// How fast a core may run at a power, by the alpha-power law.
//
// The clock follows the voltage as (v - threshold)^alpha / v (Sakurai and
// Newton, IEEE JSSC 1990), the power as v^2 times the clock, and the voltage
// has a least value, below which only the clock falls. Everything is over its
// nominal value.

namespace orrery {

// Power of a core at a clock: the voltage that holds the clock, squared, times
// the clock.
double CorePower(double clock);

// The clock at which a core draws this power.
double ClockFor(double power);

}  // namespace orrery
