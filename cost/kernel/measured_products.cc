#include "cost/kernel/measured_products.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace orrery {
namespace {

auto Covered(const ProductTable& table) {
  return std::tuple(table.dtype, table.columns, table.reduction);
}

}  // namespace

MeasuredProducts::MeasuredProducts(const KernelConstants& constants) {
  if (!constants.use_measured) return;
  tables_ = constants.measured;
  std::stable_sort(tables_.begin(), tables_.end(),
                   [](const ProductTable& a, const ProductTable& b) {
                     return Covered(a) < Covered(b);
                   });
}

std::optional<double> MeasuredProducts::Seconds(const Gemm& gemm) const {
  if (gemm.batch != 1 || gemm.accumulate || gemm.weight ||
      Bits(gemm.output) != 16) {
    return std::nullopt;
  }
  const auto wanted = std::tuple(gemm.operand, gemm.n, gemm.k);
  const auto table = std::partition_point(tables_.begin(), tables_.end(),
                                          [&](const ProductTable& candidate) {
                                            return Covered(candidate) < wanted;
                                          });
  if (table == tables_.end() || Covered(*table) != wanted) return std::nullopt;
  const auto& points = table->points;
  const auto above = std::partition_point(
      points.begin(), points.end(),
      [&](const ProductTable::Point& point) { return point.rows < gemm.m; });
  if (above == points.end()) return std::nullopt;
  if (above->rows == gemm.m) return ToSeconds(above->time);
  if (above == points.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const double share = static_cast<double>(gemm.m - below->rows) /
                       static_cast<double>(above->rows - below->rows);
  return ToSeconds(below->time) * (1 - share) + ToSeconds(above->time) * share;
}

}  // namespace orrery
