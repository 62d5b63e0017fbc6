#include "topology/collectives/ring_orders.h"

#include <numeric>
#include <utility>

namespace orrery {

std::vector<RingOrder> RingOrders(const GroupLayout& layout) {
  const int32_t size = layout.island_size;
  if (size < 2 || size == layout.ranks) {
    RingOrder order(static_cast<size_t>(layout.ranks));
    std::iota(order.begin(), order.end(), 0);
    return {order};
  }
  std::vector<RingOrder> orders;
  for (int32_t ring = 0; ring < size; ++ring) {
    RingOrder order;
    for (int32_t island = 0; island < layout.ranks / size; ++island) {
      for (int32_t step = 0; step < size; ++step) {
        const int32_t place =
            island % 2 == 0 ? ring + step : ring + size - 1 - step;
        order.push_back(island * size + place % size);
      }
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace orrery
