#pragma once
// KernelWork from OpTime: what the engine needs to know of an op.
//
//   OpTimeCache cache(timer);
//   const KernelWork work = ToKernelWork(op, cache.Time(op), chip, kernels);
//
// Once it is launched, a kernel at the limit of main memory demands the
// bandwidth it uses and of the compute units only what its arithmetic takes, at
// the peak of its operands' format; any other demands all compute units.
// Communication beside it slows it down accordingly.
#include "cost/kernel/op_time.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"
#include "workload/model/op.h"
#include "workload/program/task.h"

namespace orrery {

KernelWork ToKernelWork(const Op& op, const OpTime& time, const Chip& chip,
                        const Kernels& kernels);

}  // namespace orrery
