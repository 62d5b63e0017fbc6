#include "workload/model/optimizer_ops.h"

namespace orrery {
namespace {

// Per parameter, counted off Kingma and Ba, arXiv 1412.6980, algorithm 1: two
// moments (3 and 4), their corrections (2), root, sum and quotient (3), step
// (2).
constexpr double kAdamFlops = 14;
// A square and a sum for the norm; a product and a test for scaling.
constexpr double kGradientNormFlops = 2;
constexpr double kScaleFlops = 2;
// Operations of Adam over lists of tensors.
constexpr int kForeachLaunches = 9;

}  // namespace

std::vector<Op> OptimizerOps(const OptimizerShape& shape) {
  std::vector<Op> ops;
  ops.reserve(8);
  const auto add = [&](OpName name, const Pointwise& work) {
    ops.push_back(Op{name, Pass::kWeightGradient, work});
  };
  const auto parameters = static_cast<double>(shape.parameters);
  const auto gradients = static_cast<double>(shape.gradients);
  const Bytes seen = StorageBytes(shape.gradient, shape.gradients);
  if (shape.loss_scaling) {
    add(OpName::kGradientScale,
        Pointwise{
            .read = seen, .written = seen, .flops = kScaleFlops * gradients});
  }
  if (shape.clip) {
    add(OpName::kGradientNorm,
        Pointwise{.read = seen, .flops = kGradientNormFlops * gradients});
    if (!shape.fused_clip) {
      add(OpName::kGradientScale,
          Pointwise{
              .read = seen, .written = seen, .flops = kScaleFlops * gradients});
    }
  }
  const Bytes wide = StorageBytes(DType::kFp32, shape.parameters);
  const Bytes weight = StorageBytes(shape.weight, shape.parameters);
  const Bytes moments = StorageBytes(shape.moments, 2 * shape.parameters);
  const Bytes master = shape.master_weights
                           ? StorageBytes(DType::kFp32, shape.parameters)
                           : Bytes(0);
  if (shape.separate) {
    // torch.optim, _multi_tensor_adamw: weight decay; the two moments, the
    // second in two steps; root, correction and epsilon of the denominator;
    // the step; and the weights copied from their masters.
    add(OpName::kOptimizer,
        Pointwise{
            .launches = kForeachLaunches,
            .read = wide * 12 + (shape.master_weights ? wide : Bytes(0)),
            .written = wide * 8 + (shape.master_weights ? weight : Bytes(0)),
            .flops = kAdamFlops * parameters});
  } else {
    add(OpName::kOptimizer,
        Pointwise{
            .read = weight + StorageBytes(shape.gradient, shape.parameters) +
                    moments + master,
            .written = weight + moments + master,
            .flops = kAdamFlops * parameters + (shape.clip && shape.fused_clip
                                                    ? kScaleFlops * parameters
                                                    : 0)});
  }
  if (shape.narrow_copy) {
    add(OpName::kQuantize,
        Pointwise{.kind = Pointwise::Kind::kQuantize,
                  .read = weight,
                  .written = StorageBytes(DType::kFp8, 2 * shape.parameters),
                  .flops = parameters});
  }
  return ops;
}

}  // namespace orrery
