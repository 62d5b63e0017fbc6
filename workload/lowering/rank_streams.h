#pragma once
// The streams that every rank has: one for kernels, and one or more for the
// communication of each parallel dimension, as frameworks have them.
//
// A layout with two arms (ZB-V, DualPipe) has pipeline streams for each arm,
// because an arm must not wait behind the other.
#include <cstdint>
#include <vector>

#include "workload/plan/placement.h"
#include "workload/plan/stage_layout.h"
#include "workload/program/program.h"

namespace orrery {

// Whether a pipeline transfer goes on with the forward pass or brings gradients
// back, and which end of it a rank is.
enum class Channel : uint8_t {
  kForwardSend,
  kForwardReceive,
  kBackwardSend,
  kBackwardReceive
};
inline constexpr int kChannels = 4;
constexpr bool IsForward(Channel channel) {
  return channel == Channel::kForwardSend ||
         channel == Channel::kForwardReceive;
}
constexpr bool IsSend(Channel channel) {
  return channel == Channel::kForwardSend || channel == Channel::kBackwardSend;
}

// Streams for a layout, in the order of their ids; with `host`, the last one is
// the host's.
std::vector<Stream> RankStreams(const StageLayout& layout, bool host = false);
StreamId HostStream(const StageLayout& layout);

// The stream on which groups of a family communicate; parameters are gathered
// on another one than gradients, because they go the other way.
StreamId StreamOf(GroupFamily family, bool gathers);
StreamId StreamOf(Channel channel, int arm);

}  // namespace orrery
