#pragma once
// Chips of the catalogue for the tests of this folder.
#include <string>

#include "accuracy/kernel_measurement.h"
#include "base/check.h"
#include "catalog/catalog.h"
#include "cost/kernel/kernel_timer.h"
#include "proto/chip.pb.h"
#include "topology/machine/chip.h"

namespace orrery {

inline Chip PresetChip(const std::string& name) {
  auto proto = Catalog().Chip(name);
  CHECK(proto.ok()) << proto.status().ToString();
  auto chip = Chip::FromProto(*proto);
  CHECK(chip.ok()) << chip.status().ToString();
  return *std::move(chip);
}

inline HarnessTimers TimersOf(const Chip& chip) {
  auto timers = HarnessTimers::Create(chip);
  CHECK(timers.ok()) << timers.status().ToString();
  return *std::move(timers);
}

inline KernelTimer TimerOf(const Chip& chip,
                           const KernelOptions& options = {}) {
  auto timer = KernelTimer::Create(chip, options);
  CHECK(timer.ok()) << timer.status().ToString();
  return *std::move(timer);
}

}  // namespace orrery
