#include "cost/kernel/roofline.h"

#include <algorithm>

#include "base/overload.h"

namespace orrery {
namespace {

// The fastest units that could run the op; for pointwise work it does not
// matter.
double Peak(const Op& op, const Chip& chip) {
  const DType dtype =
      std::visit(Overload{[](const Pointwise&) { return DType::kFp32; },
                          [](const auto& work) { return work.operand; }},
                 op.work);
  if (const auto peak = chip.peak(dtype)) return peak->value();
  // A format without units of its own runs on those of another; the fastest of
  // all is a bound whichever it is.
  double best = chip.vector_rate().value();
  for (const DType other : kAllDTypes) {
    if (const auto peak = chip.peak(other)) {
      best = std::max(best, peak->value());
    }
  }
  return best;
}

}  // namespace

Duration RooflineBound(const Op& op, const Chip& chip) {
  const auto* pointwise = std::get_if<Pointwise>(&op.work);
  const double vector =
      pointwise != nullptr ? pointwise->flops / chip.vector_rate().value() : 0;
  const double matrix = MatrixFlops(op).value() / Peak(op, chip);
  const double memory = static_cast<double>(CompulsoryBytes(op).value()) /
                        chip.memory_bandwidth().value();
  // Rounded down: a bound may not exceed what it bounds.
  const double seconds = std::max({vector, matrix, memory});
  return Duration(static_cast<int64_t>(seconds * 1e12));
}

double RidgePoint(const Chip& chip, DType dtype) {
  const auto peak = chip.peak(dtype);
  return peak.has_value() ? peak->value() / chip.memory_bandwidth().value() : 0;
}

}  // namespace orrery
