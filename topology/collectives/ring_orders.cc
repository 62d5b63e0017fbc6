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

std::vector<RingOrder> RingOrders(const GroupLayout& layout) {
  const std::vector<IslandPart> parts = PartsOfIslands(layout);
  const size_t lanes = parts[0].gates.size();
  std::vector<RingOrder> orders;
  for (size_t lane = 0; lane < lanes; ++lane) {
    RingOrder order;
    for (size_t island = 0; island < parts.size(); ++island) {
      const IslandPart& part = parts[island];
      const int32_t last = part.gates[(lane + lanes - 1) % lanes];
      const auto first = static_cast<ptrdiff_t>(order.size());
      for (int32_t step = 0; step < part.end - part.begin; ++step) {
        const int32_t rank = part.From(lane, step);
        if (step == 0 || rank != last) order.push_back(rank);
      }
      if (last != part.gates[lane]) order.push_back(last);
      if (island % 2 != 0) std::reverse(order.begin() + first, order.end());
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace orrery
