#pragma once
// The bound no kernel can beat: peak arithmetic and nominal bandwidth.
//
//   max(matrix FLOPs / peak, vector FLOPs / vector peak, bytes / bandwidth)
//
// with every operand moved exactly once (Williams et al., CACM 2009). No
// library's constant enters, so a time below it is an error of ours.
#include "base/units.h"
#include "topology/machine/chip.h"
#include "workload/model/op.h"

namespace orrery {

Duration RooflineBound(const Op& op, const Chip& chip);

// FLOP per byte at which the chip's matrix peak and memory balance.
double RidgePoint(const Chip& chip, DType dtype);

}  // namespace orrery
