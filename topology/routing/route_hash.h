#pragma once
// The hash that picks among equal ways: of the pair, the flow and the place
// where the choice is. The same on every machine, and part of the results.
#include <cstdint>

#include "base/mix_bits.h"
#include "topology/graph/graph.h"

namespace orrery {

constexpr uint64_t MixRoute(uint64_t x) {
  return MixBits(x + kSplitMixIncrement);
}

// What all flows from one end point have in common, and all choices of a flow.
inline uint64_t SourceHash(VertexId from) { return MixRoute(Index(from)); }
inline uint64_t FlowHash(uint64_t source_hash, VertexId to, uint64_t flow) {
  return MixRoute(MixRoute(source_hash ^ Index(to)) ^ flow);
}
constexpr uint64_t ChoiceHash(uint64_t flow_hash, uint64_t place) {
  return MixRoute(flow_hash ^ place);
}

}  // namespace orrery
