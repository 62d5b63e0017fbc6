#pragma once
// KernelParts: what the running time of one kernel was made of.
#include "base/units.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

// They sum to the time from start to end.
struct KernelParts {
  Duration arithmetic{};
  Duration memory_bound{};
  Duration launch{};
  // The kernels of the optimizer, whole.
  Duration optimizer{};
  // What a chip that is slower than others adds.
  Duration slow_chip{};
  // What communication beside the kernel adds, which holds part of the chip.
  Duration shared_chip{};

  KernelParts& operator+=(const KernelParts& other);
  Duration total() const {
    return arithmetic + memory_bound + launch + optimizer + slow_chip +
           shared_chip;
  }
};

// Requires: the span of a kernel.
KernelParts PartsOfKernel(const Program& program, const TaskSpan& span);

}  // namespace orrery
