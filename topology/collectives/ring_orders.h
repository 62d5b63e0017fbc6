#pragma once
// The rings, or chains, of a group: in which order each visits the ranks.
//
// Without islands one ring in rank order. With islands one ring per place, each
// for its share of the data: ring c enters an island at place c and leaves it
// at the place before, and the next island is walked backwards, so that every
// crossing stays on one rail and all rails carry the same.
#include <cstdint>
#include <vector>

#include "topology/collectives/collective.h"

namespace orrery {

using RingOrder = std::vector<int32_t>;

std::vector<RingOrder> RingOrders(const GroupLayout& layout);

}  // namespace orrery
