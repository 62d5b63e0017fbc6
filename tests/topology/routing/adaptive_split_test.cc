#include "topology/routing/adaptive_split.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/topology/graph/fabrics.h"

namespace orrery {
namespace {

// The search for the split ends within this of the best one.
constexpr double kSearched = 1e-6;

// The route passes these vertices in order and is not divided.
Route Path(const Graph& graph, const std::vector<int>& vertices) {
  Route route;
  for (size_t i = 0; i + 1 < vertices.size(); ++i) {
    for (const LinkId link : graph.leaving(V(vertices[i]))) {
      if (graph.link(link).to != V(vertices[i + 1])) continue;
      route.links.push_back({link, 1});
    }
  }
  EXPECT_EQ(route.links.size() + 1, vertices.size());
  return route;
}

// Four chips on a ring of unit links: from 0 to 1 one link, or three the other
// way round. With a share x on the short way the links are busy for x and for
// 1 - x of the bytes: half and half is best, however many bytes there are.
TEST(AdaptiveSplit, HalvesADemandBetweenTwoFreeWays) {
  const Graph graph = UnitGraph(TorusFabric{{4}, false}, 4);
  const std::vector<Route> direct = {Path(graph, {0, 1})};
  const std::vector<Route> detours = {Path(graph, {0, 3, 2, 1})};
  for (const double bytes : {1.0, 10.0, 1e9}) {
    EXPECT_NEAR(AdaptiveSplit(graph, std::vector<Demand>{{V(0), V(1), bytes}},
                              direct, detours),
                0.5, kSearched);
  }
}

// Chip 0 sends a byte to 1, and 3 sends b bytes to 2, each over one link or the
// other way round the ring. With a share x on the short ways two links are the
// busiest, each of them a short way of one and a detour of the other:
//   0 -> 1: x + b (1 - x)        3 -> 2: b x + (1 - x)
// For every b they are busy for (1 + b) / 2 at x = 1/2, and one of them longer
// at any other x.
TEST(AdaptiveSplit, CountsTheDetoursOfOneOnTheShortWayOfTheOther) {
  const Graph graph = UnitGraph(TorusFabric{{4}, false}, 4);
  const std::vector<Route> direct = {Path(graph, {0, 1}), Path(graph, {3, 2})};
  const std::vector<Route> detours = {Path(graph, {0, 3, 2, 1}),
                                      Path(graph, {3, 0, 1, 2})};
  for (const double b : {3.0, 2.0, 0.5}) {
    EXPECT_NEAR(
        AdaptiveSplit(graph,
                      std::vector<Demand>{{V(0), V(1), 1}, {V(3), V(2), b}},
                      direct, detours),
        0.5, kSearched)
        << b;
  }
}

}  // namespace
}  // namespace orrery
