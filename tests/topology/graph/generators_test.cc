// Counts, diameters and bisections of generated fabrics against closed forms.
#include <chrono>

#include "tests/status_matchers.h"
#include "tests/topology/graph/fabrics.h"
#include "topology/graph/build.h"
#include "topology/graph/generate_grid.h"
#include "topology/graph/metrics.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

TEST(Generators, ARingHasOneCablePerPointAndTwoAcrossItsMiddle) {
  for (int p : {3, 4, 5, 8, 17}) {
    const Graph graph = UnitGraph(RingFabric{}, p);
    EXPECT_EQ(CableCount(graph), p);
    EXPECT_EQ(Diameter(graph), p / 2);
    EXPECT_EQ(Bisection(graph).value(), 2);
    EXPECT_EQ(SwitchCount(graph), 0);
  }
}

TEST(Generators, AFullMeshConnectsEveryPair) {
  const Graph graph = UnitGraph(FullyConnectedFabric{}, 8);
  EXPECT_EQ(CableCount(graph), 8 * 7 / 2);
  EXPECT_EQ(Diameter(graph), 1);
  EXPECT_EQ(Bisection(graph).value(), 8 * 8 / 4);
}

// 18 links over 4 switches are 5, 4, 4, 5, and half of them cross the middle.
TEST(Generators, ASwitchSpreadsLinksOverItsPlanes) {
  const Graph graph = UnitGraph(SwitchFabric{4, 18, true}, 8);
  EXPECT_EQ(SwitchCount(graph), 4);
  EXPECT_EQ(CableCount(graph), 8 * 18);
  EXPECT_EQ(Diameter(graph), 2);
  EXPECT_DOUBLE_EQ(Bisection(graph).value(), 8 / 2 * 18);
  std::vector<int> cables;
  for (LinkId id : graph.leaving(VertexId(0))) {
    cables.push_back(graph.link(id).cables);
    EXPECT_DOUBLE_EQ(graph.link(id).bandwidth.value(), 18.0 / 4);
  }
  EXPECT_THAT(cables, testing::ElementsAre(5, 4, 4, 5));
}

// D k^(D-1) (k-1) links, diameter D (k-1), bisection k^(D-1).
TEST(Generators, AMeshHasOpenEnds) {
  const Graph line = UnitGraph(MeshFabric{{6}}, 6);
  EXPECT_EQ(CableCount(line), 5);
  EXPECT_EQ(Diameter(line), 5);
  EXPECT_EQ(Bisection(line).value(), 1);
  const Graph cube = UnitGraph(MeshFabric{{4, 4, 4}}, 64);
  EXPECT_EQ(CableCount(cube), 3 * 16 * 3);
  EXPECT_EQ(Diameter(cube), 3 * 3);
  EXPECT_EQ(Bisection(cube).value(), 16);
}

// D p links, diameter sum floor(k_i/2), bisection 2 p / k_max.
TEST(Generators, ATorusMatchesItsClosedForms) {
  const std::vector<std::vector<int>> shapes = {
      {4, 4}, {8, 4}, {3, 5}, {4, 4, 8}, {6, 3, 4}, {2, 4}, {2, 2, 2}};
  for (const std::vector<int>& shape : shapes) {
    int p = 1;
    int diameter = 0;
    int largest = 0;
    for (int side : shape) {
      p *= side;
      diameter += side / 2;
      largest = std::max(largest, side);
    }
    const Graph graph = UnitGraph(TorusFabric{shape, false}, p);
    EXPECT_EQ(CableCount(graph), static_cast<int>(shape.size()) * p);
    EXPECT_EQ(Diameter(graph), diameter);
    EXPECT_NEAR(Bisection(graph).value(), 2.0 * p / largest, 1e-9);
  }
}

// n x n x 2n: diameter 3n/2 instead of 2n.
TEST(Generators, TwistingATorusShortensIt) {
  EXPECT_EQ(Diameter(UnitGraph(TorusFabric{{4, 4, 8}, true}, 128)), 6);
  EXPECT_EQ(Diameter(UnitGraph(TorusFabric{{4, 4, 8}, false}, 128)), 8);
  EXPECT_EQ(CableCount(UnitGraph(TorusFabric{{4, 4, 8}, true}, 128)), 3 * 128);
}

TEST(Generators, ATwistNeedsSidesOfNAndTwoN) {
  EXPECT_THAT(
      BuildFabric(UnitFabric(TorusFabric{{4, 4, 4}, true}, 64)).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4x4x4")));
}

// k = 64: 2048 hosts and 96 switches in two tiers; 65536 and 5120 in three;
// 32768 hosts need 1024 + 1024 + 512.
TEST(Generators, FatTreesHaveTheSwitchesOfTheTable) {
  const Graph two = UnitGraph(FatTreeFabric{2, 64, 1, false}, 2048);
  EXPECT_EQ(SwitchCount(two), 96);
  EXPECT_EQ(CableCount(two), 64 * 64);
  EXPECT_EQ(LargestRadix(two), 64);
  EXPECT_NEAR(Bisection(two).value(), 64 * 64 / 4, 1e-6);
  const Graph three = UnitGraph(FatTreeFabric{3, 64, 1, false}, 65536);
  EXPECT_EQ(SwitchCount(three), 5120);
  EXPECT_EQ(CableCount(three), 3 * 64 * 64 * 64 / 4);
  EXPECT_EQ(LargestRadix(three), 64);
  const Graph half = UnitGraph(FatTreeFabric{3, 64, 1, false}, 32768);
  EXPECT_EQ(SwitchCount(half), 1024 + 1024 + 512);
  EXPECT_EQ(LargestRadix(half), 64);
}

TEST(Generators, FatTreesHaveDiameterFourAndSix) {
  EXPECT_EQ(Diameter(UnitGraph(FatTreeFabric{2, 8, 1, false}, 32)), 4);
  const Graph three = UnitGraph(FatTreeFabric{3, 8, 1, false}, 128);
  EXPECT_EQ(Diameter(three), 6);
  EXPECT_NEAR(Bisection(three).value(), 8 * 8 * 8 / 8, 1e-9);
}

// Radix 12 tapered 3:1: 9 down, 3 up; a leaf carries 9 hosts x 2o/(1+o) of the
// untapered 6, and the cut is a third per host.
TEST(Generators, TaperTradesBisectionForHosts) {
  const Graph graph = UnitGraph(FatTreeFabric{2, 12, 3, false}, 9 * 12);
  EXPECT_EQ(SwitchCount(graph), 12 + 3);
  EXPECT_NEAR(Bisection(graph).value(), 9 * 12 / 2.0 / 3, 1e-9);
}

TEST(Generators, ATreeThatIsTooSmallSaysSo) {
  EXPECT_THAT(
      BuildFabric(UnitFabric(FatTreeFabric{2, 8, 1, false}, 33)).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hold 32")));
}

// Same rail and leaf group: host, leaf, host. Across rails: through the spine.
TEST(Generators, RailOptimisedPutsARailOnItsOwnLeaves) {
  const Graph graph = UnitGraph(RailOptimizedFabric{2, 16, 1, false}, 8 * 8, 8);
  // 8 islands of 8 rails: 8 leaves with 8 hosts each, 4 spines.
  EXPECT_EQ(SwitchCount(graph), 8 + 4);
  const VertexId leaf = graph.link(graph.leaving(VertexId(0))[0]).to;
  EXPECT_EQ(graph.link(graph.leaving(VertexId(8))[0]).to, leaf);
  EXPECT_NE(graph.link(graph.leaving(VertexId(1))[0]).to, leaf);
  EXPECT_NEAR(Bisection(graph).value(), 32, 1e-9);
}

// 32768 chips in islands of 256: radix 64 needs 256 x (4 + 2) = 1536 switches
// against 2560 with a spine; radix 128 needs 256 against 1280.
TEST(Generators, RailOnlySavesTheSpine) {
  EXPECT_EQ(SwitchCount(UnitGraph(RailOnlyFabric{64}, 32768, 256)), 1536);
  EXPECT_EQ(SwitchCount(UnitGraph(RailOnlyFabric{128}, 32768, 256)), 256);
  EXPECT_EQ(
      SwitchCount(UnitGraph(RailOptimizedFabric{3, 64, 1, false}, 32768, 256)),
      2560);
  EXPECT_EQ(
      SwitchCount(UnitGraph(RailOptimizedFabric{3, 128, 1, false}, 32768, 256)),
      1280);
}

// h = 4, a = 8, p = 4: 1056 hosts in 33 groups, radix 15.
TEST(Generators, DragonfliesHaveTheHostsOfTheTable) {
  for (int h : {4, 8}) {
    const int a = 2 * h;
    const int groups = a * h + 1;
    const int hosts = h * a * groups;
    EXPECT_EQ(hosts, h == 4 ? 1056 : 16512);
    const Graph graph = UnitGraph(DragonflyFabric{h, a, h, groups}, hosts);
    EXPECT_EQ(SwitchCount(graph), a * groups);
    EXPECT_EQ(LargestRadix(graph), h + a - 1 + h);
    EXPECT_EQ(CableCount(graph),
              hosts + groups * a * (a - 1) / 2 + groups * (groups - 1) / 2);
  }
  // Host, three routers, host: at most 5 links; (g^2-1)/4 global links cross
  // the middle of 9 groups, less the middle group's share.
  const Graph small = UnitGraph(DragonflyFabric{2, 4, 2, 9}, 72);
  EXPECT_EQ(Diameter(small), 5);
}

// An even number of groups: (g/2)^2 global links cross the middle.
TEST(Generators, ADragonflyIsCutAtItsGlobalLinks) {
  const Graph graph = UnitGraph(DragonflyFabric{4, 4, 2, 8}, 4 * 4 * 8);
  EXPECT_NEAR(Bisection(graph).value(), 4 * 4, 1e-9);
}

// S = 4 x 6, T = 3: diameter L + 2 with the host links; links
// sum_i K_i (S_i - 1)/2 x routers; bisection min_i K_i S_i/4 x routers.
TEST(Generators, AHyperXIsFullyConnectedPerDimension) {
  const Graph graph = UnitGraph(HyperXFabric{{4, 6}, 8, {2, 1}}, 24 * 8);
  EXPECT_EQ(Diameter(graph), 2 + 2);
  EXPECT_EQ(CableCount(graph), 24 * 8 + 24 * (2 * 3) / 2 + 24 * (1 * 5) / 2);
  EXPECT_NEAR(Bisection(graph).value(), std::min(2 * 4, 1 * 6) * 24 / 4.0,
              1e-9);
}

// 16^3 torus at 45 GB/s: 2 x 16 x 16 links cross the middle.
TEST(Generators, ATpuPodHasItsPublishedBisection) {
  Fabric fabric = UnitFabric(TorusFabric{{16, 16, 16}, false}, 4096);
  fabric.link.bandwidth = BytesPerSecond(45e9);
  ASSERT_OK_AND_ASSIGN(const Graph graph, BuildFabric(fabric));
  EXPECT_NEAR(Bisection(graph).value(), 23.04e12, 1e3);
  EXPECT_NEAR(Injection(graph).value(), 4096 * 6 * 45e9, 1e3);
}

TEST(Generators, AnExplicitListIsTakenAsGiven) {
  // Two chips on a switch, one of them also one way to a third.
  const Graph graph =
      UnitGraph(LinkListFabric{1,
                               {{0, 3, false, BytesPerSecond(2), Duration(0)},
                                {1, 3, false, BytesPerSecond(2), Duration(0)},
                                {1, 2, true, BytesPerSecond(3), Duration(0)}}},
                3);
  EXPECT_EQ(graph.link_count(), 5u);
  EXPECT_EQ(graph.kind(VertexId(3)), VertexKind::kSwitch);
  EXPECT_EQ(graph.leaving(VertexId(2)).size(), 0u);
}

TEST(Generators, ABadListIsRefused) {
  EXPECT_THAT(
      BuildFabric(UnitFabric(
                      LinkListFabric{
                          0, {{0, 9, false, BytesPerSecond(1), Duration(0)}}},
                      2))
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 0 to 9")));
}

TEST(Generators, AHundredThousandEndPointsAreBuilt) {
  const Graph tree = UnitGraph(FatTreeFabric{3, 128, 1, false}, 100'000);
  EXPECT_EQ(Chips(tree).size(), 100'000u);
  EXPECT_LE(LargestRadix(tree), 128);
  const Graph torus = UnitGraph(TorusFabric{{40, 50, 50}, false}, 100'000);
  EXPECT_EQ(CableCount(torus), 300'000);
  const Graph rails =
      UnitGraph(RailOptimizedFabric{3, 128, 1, false}, 100'000, 8);
  EXPECT_EQ(Chips(rails).size(), 100'000u);
}

TEST(Generators, TooManyPairsAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_THAT(BuildFabric(UnitFabric(FullyConnectedFabric{}, 100'000)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4096")));
}

}  // namespace
}  // namespace orrery
