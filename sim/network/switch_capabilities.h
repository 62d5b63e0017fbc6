#pragma once
// SwitchCapabilities: which switches of a machine add up what they forward
// (NVLS inside an island, SHARP in the fabric).
//
// Const after construction, and safe to share between threads.
#include "topology/collectives/group_placement.h"
#include "topology/machine/system.h"
#include "topology/traffic/collective_algorithm.h"

namespace orrery {

class SwitchCapabilities {
 public:
  explicit SwitchCapabilities(const System& system);

  // Whether the switches between chips of different islands reduce.
  bool fabric_reduces() const { return fabric_reduces_; }
  // Whether those between chips of one island do.
  bool island_reduces() const { return island_reduces_; }

  // Whether switches that reduce join the whole group as `algorithm` needs it:
  // one hop away, along a tree, or one hop away on every island.
  bool Join(const GroupPlacement& placement,
            CollectiveAlgorithm algorithm) const;

 private:
  bool island_reduces_ = false;
  bool fabric_reduces_ = false;
};

}  // namespace orrery
