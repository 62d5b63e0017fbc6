#pragma once
// Timers of catalogue chips with their default kernels, for the tests of this
// folder.
#include <string>

#include "accuracy/kernels/kernel_measurement.h"
#include "base/check.h"
#include "cost/kernel/kernel_timer.h"
#include "tests/catalog/presets.h"

namespace orrery {

// `chip` may differ from the preset whose name it has.
inline HarnessTimers TimersOf(const Chip& chip) {
  auto timers = HarnessTimers::Create(chip, PresetKernels(chip.name()));
  CHECK(timers.ok()) << timers.status().ToString();
  return *std::move(timers);
}

inline KernelTimer TimerOf(const Chip& chip,
                           const KernelOptions& options = {}) {
  auto timer = KernelTimer::Create(chip, PresetKernels(chip.name()), options);
  CHECK(timer.ok()) << timer.status().ToString();
  return *std::move(timer);
}

}  // namespace orrery
