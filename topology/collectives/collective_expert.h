#pragma once
// The exchange of tokens between the ranks of an expert group, as steps of
// amounts: the mean over tokens.
//
// By island duplicates are removed (DeepEP): a token crosses once to every
// island that has an expert for it, to the chip of its own rail, and fans out
// from there; on the way back an island adds up first and crosses once. Stages
// stream.
#include "topology/collectives/collective.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// `traffic` is in the order of the layout; without islands of equal size
// everything is sent directly. Requires: MovesTokens(shape).
Schedule ExpertSchedule(const GroupLayout& layout, const ExpertTraffic& traffic,
                        CallShape shape);

}  // namespace orrery
