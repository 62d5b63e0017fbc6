#pragma once
// MeasuredProducts: times of matrix products as somebody measured them.
//
// A table holds products with the same weights (columns, reduction, format) by
// their number of rows. Between two measured numbers of rows the time is
// interpolated linearly in the FLOPs, which for one set of weights is linearly
// in the rows; outside of them, and for other weights, the table says nothing.
//
//   const MeasuredProducts measured(kernels.constants());
//   if (const auto seconds = measured.Seconds(gemm)) ...
#include <optional>
#include <vector>

#include "topology/machine/kernel_constants.h"
#include "workload/model/op.h"

namespace orrery {

class MeasuredProducts {
 public:
  // Empty unless the kernels have tables and say to use them.
  explicit MeasuredProducts(const KernelConstants& constants);

  bool empty() const { return tables_.empty(); }
  // Nothing if no table covers the product: one that is batched, accumulates,
  // or writes another format than its library does. Cost: O(log n), no
  // allocation.
  std::optional<double> Seconds(const Gemm& gemm) const;

 private:
  // Sorted by what they cover.
  std::vector<ProductTable> tables_;
};

}  // namespace orrery
