#include "cost/kernel/kernel_work.h"

#include <algorithm>
#include <variant>

#include "base/overload.h"

namespace orrery {
namespace {

// What the chip's units for the op's arithmetic do at best.
double PeakFor(const Op& op, const Chip& chip) {
  const DType operand =
      std::visit(Overload{[](const Pointwise&) { return DType::kBf16; },
                          [](const auto& product) { return product.operand; }},
                 op.work);
  const auto peak = chip.peak(operand);
  return peak ? peak->value() : chip.vector_rate().value();
}

}  // namespace

KernelWork ToKernelWork(const Op& op, const OpTime& time, const Chip& chip,
                        const Kernels& kernels) {
  const Duration launch = std::min(time.launch, time.time);
  const double working = ToSeconds(time.time - launch);
  const auto share = [working](double amount, double rate) {
    return working <= 0 ? 0.0 : std::clamp(amount / rate / working, 0.0, 1.0);
  };
  const double memory = share(
      static_cast<double>(time.memory_bytes.value()),
      chip.memory_bandwidth().value() * kernels.constants().memory_efficiency);
  const bool memory_bound = time.limit == Limit::kMemory;
  const double compute = memory_bound
                             ? share(time.flops.value(), PeakFor(op, chip))
                             : (working > 0 ? 1.0 : 0.0);
  return {
      .duration = time.time,
      .demand = {.compute = compute, .memory = memory},
      .facts = {.launch = launch,
                .memory_bound = memory_bound ? time.time - launch : Duration(0),
                .flops = time.flops,
                .memory_traffic = time.memory_bytes}};
}

}  // namespace orrery
