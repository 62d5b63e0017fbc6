#pragma once
// ResourceLoad: what traffic puts on a resource, tier by tier.
#include "sim/sharing/transfer_plan.h"
#include "topology/machine/network_calibration.h"

namespace orrery {

// A load of one segment of a phase: the call's bytes times this, per tier,
// before any protocol's efficiency; and how many messages carry it at a time.
struct TierShares {
  double scale_up = 0;
  double scale_out = 0;
  double flows = 0;
  double& of(Tier tier) {
    return tier == Tier::kScaleUp ? scale_up : scale_out;
  }
  bool empty() const { return scale_up == 0 && scale_out == 0; }
  TierShares& operator+=(const TierShares& other) {
    scale_up += other.scale_up;
    scale_out += other.scale_out;
    flows += other.flows;
    return *this;
  }
};

struct ResourceLoad {
  ResourceId resource;
  TierShares shares;
  ResourceId key() const { return resource; }
  void operator+=(const ResourceLoad& other) { shares += other.shares; }
};

}  // namespace orrery
