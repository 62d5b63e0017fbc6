#include "cost/ownership/step_energy.h"

#include <algorithm>

#include "cost/kernel/power_limit.h"

namespace orrery {

StepEnergy EnergyOf(const System& system, FlopsPerSecond peak,
                    const StepWork& work, const EnergyRates& rates) {
  const Chip& chip = system.chip();
  const double chips = system.chips();
  const double seconds = ToSeconds(work.time);
  const double limit = chip.power()->value() * chips * seconds;
  // The rate that the power limit leaves.
  const double held = peak.value() *
                      PowerLimit::Of(chip).Clock(DType::kBf16, 1, 0) * chips *
                      seconds;
  double matrix = work.arithmetic.value() / held;
  double memory =
      work.memory_bytes / (chip.memory_bandwidth().value() * chips * seconds);
  const double over = std::max(1.0, matrix + memory);
  matrix /= over;
  memory /= over;
  StepEnergy energy;
  energy.idle = Joules(limit * rates.base);
  energy.arithmetic = Joules(limit * (1 - rates.base) * matrix);
  energy.memory = Joules(limit * (1 - rates.base) * memory);
  energy.links = Joules(work.link_bytes * rates.link_joules_per_byte);
  if (system.host()) {
    energy.hosts = Joules(system.host()->power.value() * system.nodes() *
                          rates.host * seconds);
  }
  energy.network = Joules(rates.network.value() * seconds);
  return energy;
}

}  // namespace orrery
