#pragma once
// Chips of the catalogue and the kernels they come with, for tests.
#include <string>

#include "base/check.h"
#include "catalog/catalog.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"

namespace orrery {

inline Chip PresetChip(const std::string& name) {
  auto proto = Catalog().Chip(name);
  CHECK(proto.ok()) << proto.status().ToString();
  auto chip = Chip::FromProto(*proto);
  CHECK(chip.ok()) << chip.status().ToString();
  return *std::move(chip);
}

// The message of the default kernels of a chip of that name.
inline pb::Kernels PresetKernelsProto(const std::string& chip) {
  auto proto = Catalog().Chip(chip);
  CHECK(proto.ok()) << proto.status().ToString();
  auto kernels = Catalog().Kernels(proto->default_kernels());
  CHECK(kernels.ok()) << kernels.status().ToString();
  return *std::move(kernels);
}

inline Kernels PresetKernels(const std::string& chip) {
  auto kernels = Kernels::FromProto(PresetKernelsProto(chip));
  CHECK(kernels.ok()) << kernels.status().ToString();
  return *std::move(kernels);
}

}  // namespace orrery
