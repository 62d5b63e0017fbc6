#pragma once
// Energy of a step, from what the step did.
//
// A chip draws a share of its power limit while it waits, and the rest in
// proportion to the use of the resource that limits it: a chip is built so that
// full use of its matrix units, or of its memory, takes it to the limit.
//
//   P / limit = base + (1 - base) min(1, u_matrix + u_memory)
//
// u_matrix is arithmetic over the rate held under load, u_memory traffic over
// bandwidth. Links add what a bit costs a chip to drive. The base is in the
// price list (power/base) with its source; everything else is the chip's and
// the run's.
#include <string>
#include <vector>

#include "base/units.h"
#include "topology/machine/system.h"

namespace orrery {

// What the whole machine did in a step.
struct StepWork {
  Duration time{};
  Flops arithmetic{};
  // Of main memory, all chips.
  double memory_bytes = 0;
  // Sent by chips over their links, by each on the way. What switches send is
  // theirs to draw, and in the power they are rated at.
  double link_bytes = 0;

  // One after the other.
  StepWork& operator+=(const StepWork& other) {
    time += other.time;
    arithmetic = arithmetic + other.arithmetic;
    memory_bytes += other.memory_bytes;
    link_bytes += other.link_bytes;
    return *this;
  }
};

struct EnergyRates {
  // Share of a chip's limit that it draws whatever it does.
  double base = 0;
  // Share of its own limit that a host draws.
  double host = 0;
  double link_joules_per_byte = 0;
  // Switches and optics, always on.
  Watts network{};
};

struct StepEnergy {
  Joules arithmetic{};
  Joules memory{};
  Joules links{};
  Joules idle{};
  Joules hosts{};
  Joules network{};
  Joules chips() const { return arithmetic + memory + links + idle; }
  Joules machine() const { return chips() + hosts + network; }
};

// `peak` is the dense rate at the plan's precision. Requires: time > 0, and a
// chip whose power limit is known.
StepEnergy EnergyOf(const System& system, FlopsPerSecond peak,
                    const StepWork& work, const EnergyRates& rates);

}  // namespace orrery
