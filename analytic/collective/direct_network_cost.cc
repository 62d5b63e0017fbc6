#include "analytic/collective/direct_network_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace orrery {
namespace {

double Others(int p) { return static_cast<double>(p - 1) / p; }

int Product(absl::Span<const int> shape) {
  int product = 1;
  for (int side : shape) product *= side;
  return product;
}

int Longest(absl::Span<const int> shape) {
  return *std::max_element(shape.begin(), shape.end());
}

}  // namespace

Seconds BidirectionalRingAllReduceCost(int k, Bytes m, const AlphaBeta& link) {
  return 2.0 * (k - 1) * link.latency + link.Wire(Others(k), m);
}

Seconds BidirectionalRingAllGatherCost(int k, Bytes m, const AlphaBeta& link) {
  return (k / 2) * 1.0 * link.latency + link.Wire(Others(k) / 2, m);
}

Seconds LineAllGatherCost(int k, Bytes m, const AlphaBeta& link) {
  return (k - 1.0) * link.latency + link.Wire(Others(k), m);
}

Seconds FullMeshAllReduceCost(int p, Bytes m, const AlphaBeta& link) {
  return 2.0 * (link.latency + link.Wire(1.0 / p, m));
}

Seconds TorusBucketAllReduceCost(absl::Span<const int> shape, Bytes m,
                                 const AlphaBeta& link) {
  const size_t dimensions = shape.size();
  // What each rotation still holds, as a share of its part of the data.
  std::vector<double> left(dimensions, 1.0);
  double steps = 0;
  double moved = 0;
  for (size_t stage = 0; stage < dimensions; ++stage) {
    double longest = 0;
    double largest = 0;
    for (size_t first = 0; first < dimensions; ++first) {
      const int side = shape[(first + stage) % dimensions];
      longest = std::max(longest, side - 1.0);
      largest = std::max(largest, Others(side) * left[first]);
      left[first] /= side;
    }
    steps += longest;
    moved += largest;
  }
  return 2 * steps * link.latency +
         link.Wire(moved / static_cast<double>(dimensions), m);
}

Seconds TorusAllReduceBound(absl::Span<const int> shape, Bytes m,
                            const AlphaBeta& link) {
  return link.Wire(
      2 * Others(Product(shape)) / (2.0 * static_cast<double>(shape.size())),
      m);
}

Seconds TorusAllToAllCost(absl::Span<const int> shape, Bytes m,
                          const AlphaBeta& link) {
  return link.Wire(Longest(shape) / 8.0, m);
}

Seconds MeshAllToAllCost(absl::Span<const int> shape, Bytes m,
                         const AlphaBeta& link) {
  return link.Wire(Longest(shape) / 4.0, m);
}

Seconds SwingAllReduceCost(absl::Span<const int> shape, double congestion,
                           Bytes m, const AlphaBeta& link) {
  return 2 * std::log2(Product(shape)) * link.latency +
         link.Wire(congestion / static_cast<double>(shape.size()), m);
}

Seconds HyperXAllToAllCost(absl::Span<const int> shape,
                           absl::Span<const int> links, int hosts, Bytes m,
                           const AlphaBeta& link) {
  double busiest = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    busiest =
        std::max(busiest, static_cast<double>(hosts) / (shape[i] * links[i]));
  }
  return link.Wire(busiest, m);
}

Seconds DragonflyAllToAllCost(int hosts_per_router, int globals_per_router,
                              Bytes m, const AlphaBeta& link) {
  return link.Wire(static_cast<double>(hosts_per_router) / globals_per_router,
                   m);
}

Seconds FatTreeAllToAllCost(double taper, double leaving, Bytes m,
                            const AlphaBeta& link) {
  return link.Wire(leaving * taper, m);
}

}  // namespace orrery
