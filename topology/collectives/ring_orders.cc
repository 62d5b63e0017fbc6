#include "topology/collectives/ring_orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace orrery {

std::vector<IslandPart> PartsOfIslands(const GroupLayout& layout) {
  if (!layout.parts.empty()) return layout.parts;
  const int32_t size = layout.lanes();
  std::vector<IslandPart> parts;
  for (int32_t begin = 0; begin < layout.ranks; begin += size) {
    IslandPart& part = parts.emplace_back(IslandPart{begin, begin + size});
    part.gates.resize(static_cast<size_t>(size));
    std::iota(part.gates.begin(), part.gates.end(), begin);
  }
  return parts;
}

RingOrder ChainFrom(const GroupLayout& layout, const IslandPart& part,
                    size_t lane) {
  const bool both_ways = layout.meshed && !layout.parts.empty();
  const int32_t size = part.end - part.begin;
  RingOrder chain;
  for (int32_t step = 0; step < size; ++step) {
    // 0, 1, -1, 2, -2, ...
    const int32_t away = !both_ways      ? step
                         : step % 2 == 0 ? size - step / 2
                                         : step / 2 + 1;
    chain.push_back(part.begin + (part.gates[lane] - part.begin + away) % size);
  }
  return chain;
}

std::vector<RingOrder> RingOrders(const GroupLayout& layout) {
  const std::vector<IslandPart> parts = PartsOfIslands(layout);
  const size_t lanes = parts[0].gates.size();
  const bool opposite = layout.meshed && !layout.parts.empty();
  std::vector<RingOrder> orders;
  for (size_t lane = 0; lane < lanes; ++lane) {
    const size_t other = (lane + (opposite ? lanes / 2 : lanes - 1)) % lanes;
    RingOrder order;
    for (size_t island = 0; island < parts.size(); ++island) {
      const IslandPart& part = parts[island];
      RingOrder inside = ChainFrom(layout, part, lane);
      if (other != lane) {
        const int32_t last = part.gates[other];
        std::erase(inside, last);
        inside.push_back(last);
      }
      if (island % 2 != 0) std::reverse(inside.begin(), inside.end());
      order.insert(order.end(), inside.begin(), inside.end());
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace orrery
