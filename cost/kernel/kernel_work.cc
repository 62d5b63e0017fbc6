#include "cost/kernel/kernel_work.h"

#include <algorithm>

namespace orrery {

KernelWork ToKernelWork(const OpTime& time, const Chip& chip,
                        const Kernels& kernels) {
  const double seconds = ToSeconds(time.time);
  const auto share = [seconds](double amount, double rate) {
    return seconds <= 0 ? 0.0 : std::clamp(amount / rate / seconds, 0.0, 1.0);
  };
  const double memory = share(
      static_cast<double>(time.memory_bytes.value()),
      chip.memory_bandwidth().value() * kernels.constants().memory_efficiency);
  const bool memory_bound = time.limit == Limit::kMemory;
  const double arithmetic =
      share(time.flops.value(),
            chip.peak(DType::kBf16)
                .value_or(FlopsPerSecond(chip.vector_rate().value()))
                .value());
  const Duration launch = std::min(time.launch, time.time);
  return {
      .duration = time.time,
      .demand = {.compute = memory_bound ? arithmetic : 1.0, .memory = memory},
      .facts = {.launch = launch,
                .memory_bound = memory_bound ? time.time - launch : Duration(0),
                .flops = time.flops,
                .memory_traffic = time.memory_bytes}};
}

}  // namespace orrery
