#include "cost/kernel/op_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/overload.h"

namespace orrery {
namespace {

// 10^19 FLOP are a day on 100 TFLOP/s; 10^15 elements are far beyond any
// memory.
constexpr double kMaxFlops = 1e19;
constexpr double kMaxElements = 1e15;

double LargestOperand(const Gemm& g) {
  const auto m = static_cast<double>(g.m);
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  return std::max({m * n, m * k, n * k}) * static_cast<double>(g.batch);
}

double LargestOperand(const GroupedGemm& g) {
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  return std::max(g.total_rows() * std::max(n, k), g.groups * n * k);
}

double LargestOperand(const FusedAttention& a) {
  const double width = std::max(a.head_dimension, a.value_dimension);
  return static_cast<double>(a.batch) * width *
         std::max(static_cast<double>(a.queries) * a.query_heads,
                  static_cast<double>(a.keys) * a.kv_heads);
}

double LargestOperand(const Pointwise& p) {
  return static_cast<double>(std::max(p.read, p.written).value());
}

}  // namespace

absl::Status CheckSize(const Op& op) {
  const double elements = std::visit(
      [](const auto& work) { return LargestOperand(work); }, op.work);
  if (!(elements <= kMaxElements)) {
    return absl::InvalidArgumentError(fmt::format(
        "{:.3g} elements in one tensor are more than can be timed ({:.0e})",
        elements, kMaxElements));
  }
  const double flops =
      std::max(MatrixFlops(op).value(), VectorFlops(op).value());
  if (!(flops <= kMaxFlops)) {
    return absl::InvalidArgumentError(
        fmt::format("{:.3g} FLOP in one kernel are more than can be timed "
                    "({:.0e})",
                    flops, kMaxFlops));
  }
  return absl::OkStatus();
}

}  // namespace orrery
