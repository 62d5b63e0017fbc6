#pragma once
// The exchange of tokens between the ranks of an expert group, as steps of
// amounts: the mean over tokens.
//
// By island duplicates are removed (DeepEP): a token crosses once to every
// island that has an expert for it, to the chip of its own rail, and fans out
// from there, once to every rank; on the way back a rank adds up first, then an
// island, and crosses once. Stages stream. On one island, on islands of one
// rank, and where islands differ a token goes straight to each rank it needs,
// once.
#include "topology/collectives/collective.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// `traffic` is in the order of the layout. Requires: MovesTokens(shape).
Schedule ExpertSchedule(const GroupLayout& layout, const ExpertTraffic& traffic,
                        CallShape shape);

}  // namespace orrery
