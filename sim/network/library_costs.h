#pragma once
// What a collective library adds to the bytes of a call: a protocol on each
// tier, and an overhead.
#include <string>

#include "base/check.h"
#include "base/units.h"
#include "topology/machine/network_calibration.h"

namespace orrery {

// A protocol for each tier that a call touches; null where it touches none. The
// protocols are the library's, which must outlive this.
struct ProtocolPair {
  const Protocol* scale_up = nullptr;
  const Protocol* scale_out = nullptr;

  // Requires: the call touches the tier.
  const Protocol& of(Tier tier) const {
    const Protocol* protocol = tier == Tier::kScaleUp ? scale_up : scale_out;
    CHECK(protocol != nullptr);
    return *protocol;
  }
  // Share of the tier's bandwidth.
  double Efficiency(Tier tier) const {
    return of(tier).EfficiencyIn(/*across=*/scale_out != nullptr);
  }
  // After the outer one; both go by one name but where switches add up.
  const std::string& name() const {
    return (scale_out != nullptr ? scale_out : scale_up)->name;
  }
};

// What a call costs besides its messages.
struct CallOverhead {
  // Before the first message.
  Duration base{};
  // Filling the pipeline and copying the chip's own part: passes while the
  // bytes flow.
  Duration alongside{};
};

}  // namespace orrery
