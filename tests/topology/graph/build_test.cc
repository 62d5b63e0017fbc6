// The graph of a composed machine.
#include "topology/graph/build.h"

#include "tests/status_matchers.h"
#include "tests/topology/graph/fabrics.h"
#include "tests/topology/machine/protos.h"
#include "topology/graph/metrics.h"
#include "topology/routing/route.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Graph> Build(const std::string& change) {
  ASSIGN_OR_RETURN(const System system,
                   System::FromProto(With(TestSystem(), change)));
  return BuildGraph(system);
}

// Four nodes of 8 chips and 6 switches; 32 NICs; 8 leaves (a rail each) and
// ceil(8 x 20/40) = 4 spines.
TEST(BuildGraph, ComposesIslandsAndRails) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Build(""));
  EXPECT_EQ(Chips(graph).size(), 32u);
  EXPECT_EQ(SwitchCount(graph), 4 * 6 + 8 + 4);
  EXPECT_EQ(graph.island(V(9)), 1);
  Router router(graph, Routing::kSpray);
  // Inside the island: chip, switch, chip, over all six planes.
  ASSERT_OK_AND_ASSIGN(const Route inside, router.Find(V(0), V(7)));
  EXPECT_EQ(inside.links.size(), 12u);
  EXPECT_EQ(inside.latency, Duration(1'000'000));
  // Same rail: chip, NIC, leaf, NIC, chip: 2 x 0.5 us of NIC, 2 x 0.6 of cable.
  ASSERT_OK_AND_ASSIGN(const Route rail, router.Find(V(0), V(8)));
  EXPECT_EQ(rail.links.size(), 4u);
  EXPECT_EQ(rail.latency, Duration(2'200'000));
  // Across rails: through the spine, never through another chip.
  ASSERT_OK_AND_ASSIGN(const Route across, router.Find(V(0), V(9)));
  for (const LinkShare& l : across.links) {
    EXPECT_TRUE(graph.link(l.link).to == V(9) ||
                graph.kind(graph.link(l.link).to) != VertexKind::kChip);
  }
}

TEST(BuildGraph, ChipsShareNicsWhereThereAreFewer) {
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Build("scale_out { nics_per_node: 4 }"));
  const auto nic_of = [&](int chip) {
    for (LinkId id : graph.leaving(V(chip))) {
      if (graph.kind(graph.link(id).to) == VertexKind::kNic) {
        return graph.link(id).to;
      }
    }
    return V(chip);
  };
  EXPECT_EQ(nic_of(0), nic_of(1));
  EXPECT_NE(nic_of(1), nic_of(2));
  // Neighbours on one NIC still talk through the island.
  Router router(graph, Routing::kSpray);
  ASSERT_OK_AND_ASSIGN(const Route route, router.Find(V(0), V(1)));
  for (const LinkShare& l : route.links) {
    EXPECT_NE(graph.kind(graph.link(l.link).to), VertexKind::kNic);
  }
}

TEST(BuildGraph, RailOnlyCrossesRailsThroughTheIsland) {
  pb::System proto = TestSystem();
  proto.mutable_scale_out()->mutable_fabric()->mutable_rail_only()->set_radix(
      40);
  ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
  ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
  EXPECT_EQ(SwitchCount(graph), 4 * 6 + 8);
  Router router(graph, Routing::kMinimal);
  ASSERT_OK_AND_ASSIGN(const Route route, router.Find(V(0), V(9)));
  EXPECT_EQ(route.links.size(), 6u);
}

TEST(BuildGraph, FaultsSlowOrCutTheLinksOfAChip) {
  ASSERT_OK_AND_ASSIGN(const Graph slow,
                       Build("fault { from: 3 remaining: 0.5 }"));
  ASSERT_OK_AND_ASSIGN(const Graph whole, Build(""));
  for (LinkId id : slow.leaving(V(3))) {
    EXPECT_EQ(slow.link(id).bandwidth.value(),
              whole.link(id).bandwidth.value() * 0.5);
  }
  ASSERT_OK_AND_ASSIGN(const Graph cut,
                       Build("fault { from: 3 remaining: 0 }"));
  Router router(cut, Routing::kSpray);
  EXPECT_THAT(router.Find(V(0), V(3)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("chip 0 to chip 3")));
  // One switch plane lost: the other five carry the traffic.
  ASSERT_OK_AND_ASSIGN(const Graph plane,
                       Build("fault { from: 3 to: 32 remaining: 0 }"));
  Router around(plane, Routing::kSpray);
  ASSERT_OK_AND_ASSIGN(const Route route, around.Find(V(0), V(3)));
  EXPECT_EQ(route.links.size(), 10u);
}

TEST(Calibration, AnAlgorithmThatDoesNotExistIsRefused) {
  EXPECT_THAT(Build("collectives { algorithm: 'rong' }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'rong' is not an algorithm")));
  EXPECT_THAT(Build("collectives { algorithm: 'all_reduec/ring' }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("all_reduec/ring")));
  EXPECT_OK(Build("collectives { algorithm: 'all_reduce/ring' }").status());
}

TEST(BuildGraph, AFaultOnALinkThatIsNotThereIsRefused) {
  EXPECT_THAT(Build("fault { from: 3 to: 4 remaining: 0 }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("chip 3 has no link to vertex 4")));
}

}  // namespace
}  // namespace orrery
