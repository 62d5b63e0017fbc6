#pragma once
// The rings, or chains, of a group: in which order each visits the ranks.
//
// Without islands one ring in rank order. With islands one ring per lane, each
// for its share of the data: ring c enters an island at the gate of lane c and
// leaves it at that of the lane before, and the next island is walked
// backwards, so that every crossing stays on one rail and all rails carry the
// same. Where every island holds the same number of ranks each of them is a
// gate.
#include <cstdint>
#include <vector>

#include "topology/collectives/collective.h"

namespace orrery {

using RingOrder = std::vector<int32_t>;

std::vector<RingOrder> RingOrders(const GroupLayout& layout);

// The islands of a group and the gates of their lanes; without islands every
// rank is one of its own.
std::vector<IslandPart> PartsOfIslands(const GroupLayout& layout);

// The ranks of an island in the order in which a chain from the gate of a lane
// visits them.
RingOrder ChainFrom(const GroupLayout& layout, const IslandPart& part,
                    size_t lane);

}  // namespace orrery
