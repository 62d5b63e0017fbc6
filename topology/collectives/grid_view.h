#pragma once
// GridView: the ranks of a group as positions and coordinates of a grid, first
// side fastest.
#include <cstdint>
#include <vector>

namespace orrery {

class GridView {
 public:
  // `shape` must outlive it.
  explicit GridView(const std::vector<int32_t>& shape) : shape_(shape) {}

  size_t dimensions() const { return shape_.size(); }
  int32_t side(size_t d) const { return shape_[d]; }
  int32_t stride(size_t d) const {
    int32_t stride = 1;
    for (size_t e = 0; e < d; ++e) stride *= shape_[e];
    return stride;
  }
  int32_t coordinate(int32_t rank, size_t d) const {
    return rank / stride(d) % side(d);
  }
  // The rank `steps` away along dimension d, wrapping around.
  int32_t Moved(int32_t rank, size_t d, int32_t steps) const {
    const int32_t x = coordinate(rank, d);
    const int32_t k = side(d);
    return rank + (((x + steps) % k + k) % k - x) * stride(d);
  }

 private:
  const std::vector<int32_t>& shape_;
};

}  // namespace orrery
