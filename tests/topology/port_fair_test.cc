#include "topology/port_fair.h"

#include <gmock/gmock.h>

#include "tests/topology/fabrics.h"
#include "topology/route.h"

namespace orrery {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<double> RatesTo(const Graph& graph, int sink,
                            const std::vector<int>& senders) {
  Router router(graph, Routing::kMinimal);
  std::vector<std::vector<LinkId>> paths;
  for (int sender : senders) {
    const auto route =
        router.Find(static_cast<VertexId>(sender), static_cast<VertexId>(sink));
    CHECK(route.ok()) << route.status().ToString();
    std::vector<LinkId> path;
    for (const LinkShare& l : route->links) path.push_back(l.link);
    paths.push_back(std::move(path));
  }
  std::vector<double> rates;
  for (BytesPerSecond rate : PortFairRates(graph, paths)) {
    rates.push_back(rate.value());
  }
  return rates;
}

// A line 0-1-2-3-4, everyone sends to 4: at 3 the line and 3 itself are a port
// each, and so on down: 1/2, 1/4, 1/8, 1/8. Max-min would give 1/4 each.
TEST(PortFair, AParkingLotHalvesAtEverySwitch) {
  EXPECT_THAT(RatesTo(UnitGraph(MeshFabric{{5}}, 5), 4, {0, 1, 2, 3}),
              ElementsAre(DoubleNear(0.125, 1e-9), DoubleNear(0.125, 1e-9),
                          DoubleNear(0.25, 1e-9), DoubleNear(0.5, 1e-9)));
}

// Through one switch every sender is a port of its own: all the same.
TEST(PortFair, AnIncastThroughOneSwitchIsFair) {
  EXPECT_THAT(RatesTo(UnitGraph(SwitchFabric{1, 1, false}, 5), 4, {0, 1, 2, 3}),
              ElementsAre(DoubleNear(0.25, 1e-9), DoubleNear(0.25, 1e-9),
                          DoubleNear(0.25, 1e-9), DoubleNear(0.25, 1e-9)));
}

// What a port does not want goes to the others: two flows of chip 0 share its
// link, so the one to the common sink wants a half and the other sender gets
// the other half, not less.
TEST(PortFair, UnwantedPartsGoToOthers) {
  const Graph graph = UnitGraph(SwitchFabric{1, 1, false}, 4);
  Router router(graph, Routing::kMinimal);
  std::vector<std::vector<LinkId>> paths;
  for (const auto& [from, to] :
       std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {0, 3}, {1, 3}}) {
    const auto route =
        router.Find(static_cast<VertexId>(from), static_cast<VertexId>(to));
    std::vector<LinkId> path;
    for (const LinkShare& l : route->links) path.push_back(l.link);
    paths.push_back(path);
  }
  const std::vector<BytesPerSecond> rates = PortFairRates(graph, paths);
  EXPECT_NEAR(rates[2].value(), 1.0 / 3, 1e-9);
  EXPECT_NEAR(rates[3].value(), 2.0 / 3, 1e-9);
}

}  // namespace
}  // namespace orrery
