#pragma once
// AlphaBeta: the cost of a message on paper, latency plus bytes over bandwidth
// (Hockney, "The communication challenge for MPP", 1994).
#include <chrono>

#include "base/units.h"

namespace orrery {

// Real-valued seconds: closed forms are not rounded to picoseconds.
using Seconds = std::chrono::duration<double>;

// The cost of one message over one port.
struct AlphaBeta {
  Seconds latency{};
  BytesPerSecond bandwidth;

  // Time of `share` of `bytes` on the wire, without latency.
  Seconds Wire(double share, Bytes bytes) const {
    return Seconds(share * static_cast<double>(bytes.value()) /
                   bandwidth.value());
  }
};

}  // namespace orrery
