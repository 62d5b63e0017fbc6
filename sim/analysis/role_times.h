#pragma once
// RoleTimes: how long the kernels of a role take, one by one or a chain of them
// at once (sim/engine/kernel_chains.h), each slower than alone by a factor of
// its own.
//
// Cost: O(places); sixteen bytes per place and turn of FewTurns.
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "sim/analysis/role_overlap.h"
#include "sim/engine/kernel_chains.h"
#include "workload/program/program.h"

namespace orrery {

class RoleTimes {
 public:
  // `slowness`: by task of FewTurns; null: 1. Must outlive it.
  RoleTimes(const Role& role, size_t streams,
            const std::vector<double>* slowness);

  // Kernels that may be taken at once from there on.
  int32_t length(PlaceId place) const { return chains_.length(place); }
  // What they take. Requires: no more than the length.
  Duration Of(StreamId stream, LoopPlace first, int32_t count) const {
    const size_t task = Index(few_.StandIn(stream, first));
    return Duration(static_cast<int64_t>(
        before_[task + static_cast<size_t>(count)] - before_[task]));
  }
  double Slowness(StreamId stream, LoopPlace of) const {
    return slowness_ == nullptr ? 1
                                : (*slowness_)[Index(few_.StandIn(stream, of))];
  }

 private:
  FewTurns few_;
  KernelChains chains_;
  const std::vector<double>* slowness_;
  // Of all kernels before each task of FewTurns; their sum at the end.
  std::vector<uint64_t> before_;
};

}  // namespace orrery
