#pragma once
// WorkSplit: what kernels take when nothing is in the way, by what limits them.
#include "base/units.h"
#include "workload/program/task.h"

namespace orrery {

struct WorkSplit {
  Duration compute{};
  Duration memory_bound{};
  Duration launch{};
  Flops flops{};
  // Of these, what repeats the forward pass.
  Flops recomputed{};
  // Work of the host, beside all that.
  Duration host{};
  Duration total() const { return compute + memory_bound + launch; }
  void Add(const KernelWork& kernel, bool is_recomputed = false);
  WorkSplit& operator+=(const WorkSplit& other);
};

}  // namespace orrery
