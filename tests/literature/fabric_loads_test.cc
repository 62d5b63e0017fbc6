// Loads of links under textbook traffic, against the formulas of the books:
// routes are what the closed form shares with the simulator on machines whose
// loads it has no formula for.
//
//   [D] Dally and Towles, Principles and Practices of Interconnection Networks,
//       2004: chapters 3 and 5 (channel loads of tori and meshes, tornado)
//   [A] Ahn et al., HyperX, SC 2009: section 3
//
// Everyone sends one unit, the same share of it to every end point, itself
// among them.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/topology/graph/fabrics.h"
#include "tests/topology/routing/link_loads.h"

namespace orrery {
namespace {

constexpr double kLoadRounding = 1e-9;

VertexId V(int64_t i) { return static_cast<VertexId>(i); }

std::vector<Demand> Uniform(int points) {
  std::vector<Demand> demands;
  for (int from = 0; from < points; ++from) {
    for (int to = 0; to < points; ++to) {
      if (from != to) demands.push_back({V(from), V(to), 1.0 / points});
    }
  }
  return demands;
}

// [D] k/8 for an even side, k/8 (1 - 1/k^2) for an odd one, whatever the number
// of sides: half of the bytes cross each of two bisections of k^(n-1) links.
TEST(FabricLoads, UniformTrafficOnATorusIsAnEighthOfItsSide) {
  for (const int k : {3, 4, 5, 6, 8}) {
    const double side = k;
    const double expected =
        k % 2 == 0 ? side / 8 : side / 8 * (1 - 1 / (side * side));
    for (const int sides : {1, 2}) {
      SCOPED_TRACE(testing::Message() << k << " to the " << sides);
      const std::vector<int> shape(static_cast<size_t>(sides), k);
      const int points = sides == 1 ? k : k * k;
      const Graph graph = UnitGraph(TorusFabric{shape, false}, points);
      EXPECT_NEAR(
          LargestLoad(graph, Routing::kDimensionOrdered, Uniform(points)),
          expected, kLoadRounding);
    }
  }
}

// [D] k/4, or k/4 (1 - 1/k^2): a mesh has half the bisection of a torus.
TEST(FabricLoads, UniformTrafficOnAMeshIsAQuarterOfItsSide) {
  for (const int k : {3, 4, 5, 6, 8}) {
    SCOPED_TRACE(k);
    const double side = k;
    const double expected =
        k % 2 == 0 ? side / 4 : side / 4 * (1 - 1 / (side * side));
    const Graph graph = UnitGraph(MeshFabric{{k, k}}, k * k);
    EXPECT_NEAR(LargestLoad(graph, Routing::kDimensionOrdered, Uniform(k * k)),
                expected, kLoadRounding);
  }
}

// [D] Everyone sends ceil(k/2) - 1 places on, which all go the same way around.
TEST(FabricLoads, ATornadoLoadsOneWayAround) {
  for (const int k : {5, 6, 7, 8}) {
    SCOPED_TRACE(k);
    const int shift = (k + 1) / 2 - 1;
    std::vector<Demand> demands;
    for (int i = 0; i < k; ++i)
      demands.push_back({V(i), V((i + shift) % k), 1});
    const Graph graph = UnitGraph(TorusFabric{{k}, false}, k);
    EXPECT_NEAR(LargestLoad(graph, Routing::kDimensionOrdered, demands), shift,
                kLoadRounding);
  }
}

// [A] T hosts on a router send T/S of their units along a side of S routers to
// each of the others, over K links.
TEST(FabricLoads, UniformTrafficOnAHyperXIsHostsOverItsSide) {
  constexpr int kHosts = 12;
  for (const int links : {1, 2}) {
    SCOPED_TRACE(links);
    const Graph line =
        UnitGraph(HyperXFabric{{4}, kHosts, {links}}, 4 * kHosts);
    EXPECT_NEAR(LargestLoad(line, Routing::kSpray, Uniform(4 * kHosts)),
                std::max(kHosts / 4.0 / links, 1 - 1 / (4.0 * kHosts)),
                kLoadRounding);
    const Graph plane =
        UnitGraph(HyperXFabric{{3, 3}, kHosts, {links, links}}, 9 * kHosts);
    EXPECT_NEAR(LargestLoad(plane, Routing::kSpray, Uniform(9 * kHosts)),
                kHosts / 3.0 / links, kLoadRounding);
  }
}

}  // namespace
}  // namespace orrery
