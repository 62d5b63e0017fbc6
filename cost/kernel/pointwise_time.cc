#include "cost/kernel/pointwise_time.h"

#include <algorithm>

namespace orrery {

KernelEstimate TimePointwise(const Pointwise& p, const KernelChip& chip) {
  const KernelConstants& c = chip.constants;
  auto read = static_cast<double>(p.read.value());
  const auto written = static_cast<double>(p.written.value());
  KernelEstimate estimate;
  estimate.launch = p.launches * chip.launch;
  double rate = chip.memory_rate;
  switch (p.kind) {
    case Pointwise::Kind::kElementwise:
      break;
    case Pointwise::Kind::kNorm:
      if (p.row > c.norm_row_limit) read *= 2;
      break;
    case Pointwise::Kind::kSoftmax:
      if (p.row > c.softmax_row_limit) read *= 2;
      break;
    case Pointwise::Kind::kQuantize:
      read *= 2;
      rate *= c.quantize_efficiency;
      estimate.launch += ToSeconds(c.quantize_launch);
      break;
  }
  const double memory = (read + written) / rate;
  const double vector = p.flops / chip.vector_rate;
  const double work = std::max(memory, vector);
  estimate.seconds = estimate.launch + work;
  estimate.memory_bytes = read + written;
  estimate.cache_bytes = read + written;
  estimate.limit = estimate.launch > work ? Limit::kLaunch
                   : memory >= vector     ? Limit::kMemory
                                          : Limit::kVector;
  return estimate;
}

}  // namespace orrery
