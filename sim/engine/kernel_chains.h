#pragma once
// KernelChains: kernels of a role that follow one another with nobody looking.
//
// A run of kernels on one stream of which only the first waits for other
// streams, only the last is waited for by them, and none changes the memory of
// its rank. On a chip that it has to itself such a run is one wait: nothing
// that happens elsewhere depends on where in it the stream is. A chain never
// goes on beyond the end of a loop's body, has no kernel of no time, and is
// short enough that its times can be added. Chains do not overlap: from
// wherever in one it leads to the same end.
//
//   const KernelChains chains(role, streams);
//   chains.length(place)   // kernels from there on, that one included
//
// Cost: O(places + dependencies); four bytes per place.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "workload/program/program.h"

namespace orrery {

class KernelChains {
 public:
  KernelChains(const Role& role, size_t streams);

  // 1 if the task there is no part of a chain, or its end.
  int32_t length(PlaceId place) const { return length_[Index(place)]; }

 private:
  std::vector<int32_t> length_;
};

// When kernels of a role end that run one after the other: sums of their
// durations alone.
class KernelSums {
 public:
  explicit KernelSums(const Role& role);

  // Of `count` tasks from `place` on. Requires: all are kernels of one chain.
  Duration Of(PlaceId place, int32_t count) const {
    return Duration(static_cast<int64_t>(
        before_[Index(place) + static_cast<size_t>(count)] -
        before_[Index(place)]));
  }

 private:
  std::vector<uint64_t> before_;  // by place, one more
};

}  // namespace orrery
