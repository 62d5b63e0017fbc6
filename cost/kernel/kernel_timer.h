#pragma once
// KernelTimer: the time of any op on one chip with one set of libraries.
//
//   ASSIGN_OR_RETURN(const KernelTimer timer,
//                    KernelTimer::Create(chip, kernels));
//   const OpTime time = timer.Time(op);        // from the formulas
//   OpTimeCache cache(timer);
//   const OpTime same = cache.Time(op);        // computed once per distinct op
//
// A measured table of the kernels, if it is switched on, replaces the formulas
// for the products it covers. But for that, a time is never below the chip's
// roofline bound, grows with every size of the op, and grows with no rate of
// the chip. It depends on nothing but its arguments; no allocation.
#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "cost/kernel/kernel_chip.h"
#include "cost/kernel/measured_products.h"
#include "cost/kernel/op_time.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"
#include "workload/model/op.h"

namespace orrery {

class KernelTimer {
 public:
  static absl::StatusOr<KernelTimer> Create(const Chip& chip,
                                            const Kernels& kernels,
                                            const KernelOptions& options = {});

  OpTime Time(const Op& op) const;
  // What every launch costs on its own.
  Duration launch() const { return FromSeconds(chip_.launch); }
  const KernelChip& chip() const { return chip_; }

 private:
  explicit KernelTimer(KernelChip chip)
      : chip_(std::move(chip)), measured_(chip_.constants) {}

  KernelChip chip_;
  MeasuredProducts measured_;
};

struct OpHash {
  size_t operator()(const Op& op) const;
};

// Remembers every distinct op it was asked for.
class OpTimeCache {
 public:
  explicit OpTimeCache(KernelTimer timer) : timer_(std::move(timer)) {}

  const OpTime& Time(const Op& op) { return Entry(op).time; }
  // Ops are numbered in the order in which they were first asked for.
  OpId Id(const Op& op) { return Entry(op).id; }
  const IdVector<OpId, Op>& ops() const { return ops_; }
  size_t size() const { return times_.size(); }
  // Starts anew.
  void Clear();

 private:
  struct Timed {
    OpTime time;
    OpId id{};
  };
  const Timed& Entry(const Op& op);

  KernelTimer timer_;
  absl::flat_hash_map<Op, Timed, OpHash> times_;
  IdVector<OpId, Op> ops_;
};

}  // namespace orrery
