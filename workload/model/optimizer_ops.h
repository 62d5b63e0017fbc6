#pragma once
// The end of a training step as ops: gradient norm, clipping, Adam.
//
// Mixed-precision Adam reads gradient, both moments and the master weight, and
// writes moments, master and the weight in the model's format: with FP32
// gradients and a 16-bit weight 2 + 4 + 8 + 4 read and 2 + 8 + 4 written, 32
// bytes and 14 operations per parameter.
//
// Clipping follows Megatron-LM (megatron/core/optimizer/clip_grads.py): the
// norm by Apex's multi_tensor_l2norm, which reads every gradient once, then
// multi_tensor_scale, which reads and writes it; gradients are clipped in every
// run it is used for. Only FP16 has its loss scaled: there the gradient scaler
// reads and writes every gradient before (_unscale_main_grads_and_check_for_nan
// in megatron/core/optimizer/optimizer.py).
//
//   for (const Op& op : OptimizerOps({.parameters = shard})) ...
#include <cstdint>
#include <vector>

#include "topology/machine/dtype.h"
#include "workload/model/op.h"

namespace orrery {

struct OptimizerShape {
  // Parameters whose state this rank holds, and those whose gradients it sees
  // when the norm is taken (the same unless gradients are not sharded).
  int64_t parameters = 0;
  int64_t gradients = 0;
  DType weight = DType::kBf16;
  DType gradient = DType::kFp32;
  DType moments = DType::kFp32;
  // An FP32 copy of the weights is kept and updated.
  bool master_weights = true;
  // Gradients are scaled to a maximal norm.
  bool clip = true;
  // The scaling is part of the optimizer's kernel.
  bool fused_clip = true;
  // Gradients were scaled up for FP16: they are scaled back and checked first.
  bool loss_scaling = false;
  // Weights are also cast to an 8-bit copy and its transpose.
  bool narrow_copy = false;
  // Adam as a row of operations over all tensors (PyTorch's foreach), each of
  // which reads and writes what it works on.
  bool separate = false;
};

std::vector<Op> OptimizerOps(const OptimizerShape& shape);

}  // namespace orrery
