// Routes and link loads, against exhaustive counts of the literature.
#include "topology/routing/route.h"

#include <algorithm>
#include <numeric>

#include "tests/status_matchers.h"
#include "tests/topology/graph/fabrics.h"
#include "tests/topology/machine/protos.h"
#include "tests/topology/routing/link_loads.h"
#include "topology/graph/build.h"
#include "topology/graph/metrics.h"
#include "topology/routing/leaf_flows.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

// Every chip sends one byte to every other.
std::vector<Demand> AllPairs(int chips) {
  std::vector<Demand> demands;
  for (int from = 0; from < chips; ++from) {
    for (int to = 0; to < chips; ++to) {
      if (from != to) demands.push_back({V(from), V(to), 1.0});
    }
  }
  return demands;
}

// The links of a route form a unit flow from one end to the other.
void ExpectUnitFlow(const Graph& graph, const Route& route, VertexId from,
                    VertexId to) {
  std::vector<double> balance(graph.vertex_count(), 0);
  for (const LinkShare& l : route.links) {
    balance[Index(graph.link(l.link).from)] += l.share;
    balance[Index(graph.link(l.link).to)] -= l.share;
  }
  for (VertexId v : graph.vertices()) {
    const double want = v == from ? 1 : v == to ? -1 : 0;
    EXPECT_NEAR(balance[Index(v)], want, 1e-12) << VertexName(graph, v);
  }
}

// All links of a route of a set; no link twice.
std::vector<LinkShare> LinksOf(const RouteSet& set,
                               const RouteSet::Entry& route) {
  std::vector<LinkShare> links;
  for (int32_t i = route.own_begin; i < route.own_end; ++i) {
    links.push_back({set.own[static_cast<size_t>(i)], 1});
  }
  if (route.middle >= 0) {
    const auto& middle = *set.middles[static_cast<size_t>(route.middle)].links;
    links.insert(links.end(), middle.begin(), middle.end());
  }
  return links;
}

// A slice of 8 x 16 chips whose short side has open ends: from end to end it is
// 7 links along the one and 1 along the other.
TEST(Route, SidesWithOpenEndsAreLines) {
  const Graph graph =
      UnitGraph(TorusFabric{{8, 16}, false, {true, false}}, 128);
  // 7 x 16 along the first side, 8 x 16 along the second, both ways.
  EXPECT_EQ(graph.link_count(), size_t{2 * (7 * 16 + 8 * 16)});
  Router router(graph, Routing::kDimensionOrdered);
  const auto route = router.Find(V(0), V(7 + 8 * 15));
  ASSERT_TRUE(route.ok());
  EXPECT_EQ(route->links.size(), 8u);
  // All to all: m k/4 b along a line of k, m k/8 b along a ring (p - 1 of p
  // blocks of one byte each: 128 x 2 both ways).
  EXPECT_NEAR(LargestLoad(graph, Routing::kDimensionOrdered, AllPairs(128)),
              128.0 * 2, 1e-9);
}

TEST(Route, EveryKindOfRouteIsAUnitFlow) {
  const std::vector<Graph> graphs = {
      UnitGraph(TorusFabric{{4, 3, 2}, false}, 24),
      UnitGraph(TorusFabric{{2, 4}, true}, 8),
      UnitGraph(TorusFabric{{4, 3, 2}, false, {true, false, true}}, 24),
      UnitGraph(FatTreeFabric{3, 4, 1, false}, 16),
      UnitGraph(HyperXFabric{{3, 3}, 2, {1, 1}}, 18),
      UnitGraph(DragonflyFabric{2, 2, 2, 5}, 20),
      UnitGraph(SwitchFabric{3, 6, false}, 8),
  };
  for (const Graph& graph : graphs) {
    for (Routing routing :
         {Routing::kMinimal, Routing::kDimensionOrdered, Routing::kSpray,
          Routing::kEcmp, Routing::kValiant, Routing::kAdaptive}) {
      Router router(graph, routing);
      for (int to = 1; to < 8; ++to) {
        ASSERT_OK_AND_ASSIGN(const Route route, router.Find(V(0), V(to), 7));
        if (routing != Routing::kValiant) {
          ExpectUnitFlow(graph, route, V(0), V(to));
        }
        EXPECT_GT(route.latency, Duration(0));
      }
    }
  }
}

TEST(Route, MinimalAndEcmpUseOneShortestPath) {
  const Graph graph = UnitGraph(FatTreeFabric{3, 4, 1, false}, 16);
  for (Routing routing : {Routing::kMinimal, Routing::kEcmp}) {
    Router router(graph, routing);
    ASSERT_OK_AND_ASSIGN(const Route route, router.Find(V(0), V(15)));
    EXPECT_EQ(route.links.size(), 6u);
    for (const LinkShare& l : route.links) EXPECT_EQ(l.share, 1);
  }
}

// Cross-pod in a 4-ary tree: 2 aggregation switches x 2 cores = 4 paths.
TEST(Route, SprayUsesAllShortestPathsEvenly) {
  const Graph graph = UnitGraph(FatTreeFabric{3, 4, 1, false}, 16);
  Router router(graph, Routing::kSpray);
  ASSERT_OK_AND_ASSIGN(const Route route, router.Find(V(0), V(15)));
  std::vector<double> shares;
  for (const LinkShare& l : route.links) shares.push_back(l.share);
  std::sort(shares.begin(), shares.end());
  EXPECT_THAT(shares, testing::ElementsAre(.25, .25, .25, .25, .25, .25, .25,
                                           .25, .5, .5, .5, .5, 1, 1));
  EXPECT_EQ(route.latency, Duration(6));
}

// m k_max/8 per link when every chip sends m in all, own block included: with
// one byte per pair m = p, so p k_max/8.
TEST(Route, TorusAllToAllMeetsTheExhaustiveCount) {
  const std::vector<std::vector<int>> shapes = {
      {8}, {16}, {4, 4}, {8, 8}, {4, 4, 4}, {8, 8, 8}, {4, 4, 8}};
  for (const std::vector<int>& shape : shapes) {
    const int p =
        std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
    const int longest = *std::max_element(shape.begin(), shape.end());
    const Graph graph = UnitGraph(TorusFabric{shape, false}, p);
    EXPECT_NEAR(LargestLoad(graph, Routing::kDimensionOrdered, AllPairs(p)),
                p * longest / 8.0, 1e-9 * p);
  }
}

// A line of k: the middle link carries k/2 x k/2 of the p^2 bytes: m k/4.
TEST(Route, MeshAllToAllMeetsTheExhaustiveCount) {
  for (int k : {4, 8}) {
    EXPECT_NEAR(LargestLoad(UnitGraph(MeshFabric{{k}}, k),
                            Routing::kDimensionOrdered, AllPairs(k)),
                k * k / 4.0, 1e-9);
  }
}

// Largest load over m: 1, 1, 2 regular; 0.572917, 0.71875, 1.161458 twisted:
// gains of 1.745, 1.391 and 1.722.
TEST(Route, TwistingGainsWhatThePathCountSays) {
  struct Row {
    std::vector<int> shape;
    double regular;
    double twisted;
    double gain;
  };
  const std::vector<Row> rows = {{{4, 4, 8}, 1, 0.572917, 1.745},
                                 {{4, 8, 8}, 1, 0.71875, 1.391},
                                 {{8, 8, 16}, 2, 1.161458, 1.722}};
  for (const Row& row : rows) {
    const int p = row.shape[0] * row.shape[1] * row.shape[2];
    const std::vector<Demand> demands = AllPairs(p);
    const double regular =
        LargestLoad(UnitGraph(TorusFabric{row.shape, false}, p),
                    Routing::kSpray, demands) /
        p;
    const double twisted =
        LargestLoad(UnitGraph(TorusFabric{row.shape, true}, p), Routing::kSpray,
                    demands) /
        p;
    EXPECT_NEAR(regular, row.regular, 1e-9);
    EXPECT_NEAR(twisted, row.twisted, 5e-7);  // the table's six digits
    EXPECT_NEAR(regular / twisted, row.gain, 5e-4);
  }
}

// The search from one source and the pair-by-pair routes agree.
TEST(Route, DenseAndSparseLoadsAgree) {
  const Graph graph = UnitGraph(TorusFabric{{3, 4, 2}, false}, 24);
  Router router(graph, Routing::kSpray);
  const std::vector<Demand> demands = AllPairs(24);
  const std::vector<double> dense =
      LinkLoadsOf(graph, Routing::kSpray, demands);
  std::vector<double> sparse(graph.link_count(), 0);
  for (const Demand& d : demands) {
    ASSERT_OK_AND_ASSIGN(const Route route, router.Find(d.from, d.to));
    for (const LinkShare& l : route.links) sparse[Index(l.link)] += l.share;
  }
  for (size_t i = 0; i < dense.size(); ++i) {
    EXPECT_NEAR(dense[i], sparse[i], 1e-9);
  }
}

// HyperX, dimension-ordered all-to-all: T m/(S_i K_i) on the busiest dimension,
// less the pairs that share a coordinate, which stay off it.
// Routes with common parts kept once are the routes of each pair by itself, on
// machines with shared segments (leaves, NICs, rails) and without (rings,
// islands whose chips forward).
TEST(Route, CommonPartsChangeNothing) {
  const auto graph_of = [](int nodes, const std::string& scale_out) {
    pb::System proto = With(TestSystem(), scale_out);
    proto.set_nodes(nodes);
    return BuildGraph(System::FromProto(proto).value()).value();
  };
  std::vector<Graph> graphs;
  graphs.push_back(UnitGraph(FatTreeFabric{3, 4, 1, false}, 16));
  graphs.push_back(UnitGraph(FatTreeFabric{2, 8, 3, false}, 24));
  graphs.push_back(UnitGraph(SwitchFabric{2, 2, false}, 6));
  graphs.push_back(UnitGraph(TorusFabric{{4, 4}, false}, 16));
  graphs.push_back(UnitGraph(DragonflyFabric{2, 4, 2, 9}, 72));
  graphs.push_back(
      graph_of(4,
               "scale_out { fabric { rail_optimized { radix: 8 taper: 1 } "
               "} }"));
  graphs.push_back(
      graph_of(3, "scale_out { fabric { rail_only { radix: 8 } } }"));
  graphs.push_back(
      graph_of(2,
               "scale_out { fabric { fully_connected {} } nics_per_node: 1 "
               "}"));
  for (size_t g = 0; g < 2 * graphs.size(); ++g) {
    const Graph& graph = graphs[g / 2];
    Router router(graph, g % 2 == 0 ? Routing::kSpray : Routing::kMinimal);
    const std::vector<Demand> demands =
        AllPairs(static_cast<int>(Chips(graph).size()));
    ASSERT_OK(router.FindSet(demands));  // what it keeps is as good
    ASSERT_OK_AND_ASSIGN(const RouteSet set, router.FindSet(demands));
    ASSERT_OK_AND_ASSIGN(const std::vector<Route> routes,
                         router.FindAll(demands));
    for (size_t i = 0; i < demands.size(); ++i) {
      std::vector<LinkShare> together = LinksOf(set, set.routes[i]);
      std::vector<LinkShare> alone = routes[i].links;
      const auto by_link = [](const LinkShare& a, const LinkShare& b) {
        return a.link < b.link;
      };
      std::sort(together.begin(), together.end(), by_link);
      std::sort(alone.begin(), alone.end(), by_link);
      ASSERT_EQ(together.size(), alone.size());
      for (size_t l = 0; l < alone.size(); ++l) {
        EXPECT_EQ(together[l].link, alone[l].link);
        EXPECT_NEAR(together[l].share, alone[l].share, 1e-12);
      }
      EXPECT_EQ(set.routes[i].latency, routes[i].latency);
    }
  }
}

// Two leaves that nothing joins. Who is cut off matters only if it has anybody
// to send to: here the second leaf holds the sink's own island.
TEST(LeafFlows, OnlyWhoSendsHasToReachTheSink) {
  GraphBuilder builder;
  const std::vector<VertexId> chips = builder.AddVertices(VertexKind::kChip, 3);
  const std::vector<VertexId> leaves =
      builder.AddVertices(VertexKind::kSwitch, 2);
  const Graph graph = std::move(builder).Build();
  LeafFlows flows(graph, leaves);
  std::vector<double> loads(graph.link_count());
  const LeafFlows::EndPoint sink = {chips[0], /*island=*/0, /*leaf=*/0,
                                    Duration(3)};
  const LeafFlows::EndPoint near = {chips[1], /*island=*/1, /*leaf=*/0,
                                    Duration(4)};
  LeafFlows::EndPoint far = {chips[2], /*island=*/0, /*leaf=*/1, Duration(5)};
  Duration slowest{};
  EXPECT_TRUE(
      flows.Hashed(0, {near, far}, {sink}, absl::MakeSpan(loads), slowest));
  EXPECT_EQ(slowest, Duration(4 + 3));
  far.island = 2;
  EXPECT_FALSE(
      flows.Hashed(0, {near, far}, {sink}, absl::MakeSpan(loads), slowest));
}

TEST(Route, HyperXAllToAll) {
  const int side = 4;
  const int hosts = 2;
  const int p = side * side * hosts;
  const Graph graph = UnitGraph(HyperXFabric{{side, side}, hosts, {1, 1}}, p);
  // From one router's T hosts to T p/S destinations with the other coordinate.
  const double network = static_cast<double>(hosts) * p / side;
  EXPECT_NEAR(LargestLoad(graph, Routing::kDimensionOrdered, AllPairs(p)),
              std::max<double>(network, p - 1), 1e-9);
}

// Group i sends to group i+1: one global link carries a p hosts' traffic under
// minimal routing; spreading over other groups helps, and the adaptive split is
// no worse than either.
TEST(Route, DragonflyAdversaryNeedsDetours) {
  const int p = 4;
  const int a = 8;
  const int h = 4;
  const int groups = a * h + 1;
  const int per_group = a * p;
  const Graph graph =
      UnitGraph(DragonflyFabric{p, a, h, groups}, per_group * groups);
  std::vector<Demand> demands;
  for (int i = 0; i < per_group * groups; ++i) {
    demands.push_back({V(i), V((i + per_group) % (per_group * groups)), 1.0});
  }
  const double minimal = LargestLoad(graph, Routing::kSpray, demands);
  const double valiant = LargestLoad(graph, Routing::kValiant, demands);
  const double adaptive = LargestLoad(graph, Routing::kAdaptive, demands);
  EXPECT_NEAR(minimal, per_group, 1e-9);  // throughput 1/(a p)
  // In the mean h/(2p) = 1/2; the worst of 1056 global links, hit by chance,
  // carries a few times that.
  EXPECT_LT(valiant, per_group / 3.0);
  EXPECT_LE(adaptive, std::min(minimal, valiant) + 1e-9);
}

// The worst of n uplinks under a uniform hash, over 400 draws: 8 flows on 8
// uplinks 2.60, 32 on 32 3.52 (Monte Carlo of 4000 trials; 3 % for our fewer).
TEST(Route, EcmpCollidesAsAUniformHashDoes) {
  struct Row {
    int radix;
    int flows;
    double worst;
  };
  for (const Row row :
       {Row{16, 8, 2.60}, Row{64, 32, 3.52}, Row{64, 64, 5.43}}) {
    const int down = row.radix / 2;
    const Graph graph =
        UnitGraph(FatTreeFabric{2, row.radix, 1, false}, down * row.radix);
    Router router(graph, Routing::kEcmp);
    double sum = 0;
    constexpr int kTrials = 400;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<int> load(graph.link_count(), 0);
      int worst = 0;
      for (int f = 0; f < row.flows; ++f) {
        ASSERT_OK_AND_ASSIGN(
            const Route route,
            router.Find(V(f % down), V(down + f % down),
                        static_cast<uint64_t>(trial * 1000 + f)));
        worst = std::max(worst, ++load[Index(route.links[1].link)]);
      }
      sum += worst;
    }
    EXPECT_NEAR(sum / kTrials, row.worst, 0.03 * row.worst);
  }
}

TEST(Route, TheSameFlowAlwaysTakesTheSameWay) {
  const Graph graph = UnitGraph(FatTreeFabric{2, 16, 1, false}, 128);
  Router a(graph, Routing::kEcmp);
  Router b(graph, Routing::kEcmp);
  ASSERT_OK(b.Find(V(3), V(99), 1).status());
  ASSERT_OK_AND_ASSIGN(const Route first, a.Find(V(0), V(64), 5));
  ASSERT_OK_AND_ASSIGN(const Route second, b.Find(V(0), V(64), 5));
  EXPECT_EQ(first.links, second.links);
}

// Cutting 0-1 on a ring of 6 sends 0 the other way around.
TEST(Route, ACutLinkIsRoutedAround) {
  const Graph ring = UnitGraph(RingFabric{}, 6);
  std::vector<double> remaining(ring.link_count(), 1);
  for (LinkId id : ring.links()) {
    const Link& link = ring.link(id);
    if (Index(link.from) + Index(link.to) == 1) remaining[Index(id)] = 0;
  }
  const Graph graph = WithFaults(ring, remaining);
  for (Routing routing : {Routing::kMinimal, Routing::kDimensionOrdered,
                          Routing::kSpray, Routing::kEcmp}) {
    Router router(graph, routing);
    ASSERT_OK_AND_ASSIGN(const Route route, router.Find(V(0), V(1)));
    EXPECT_EQ(route.links.size(), 5u);
  }
}

TEST(Route, APairThatIsCutOffIsNamed) {
  const Graph line = UnitGraph(MeshFabric{{4}}, 4);
  std::vector<double> remaining(line.link_count(), 1);
  for (LinkId id : line.links()) {
    const Link& link = line.link(id);
    if (Index(link.from) + Index(link.to) == 3) remaining[Index(id)] = 0;
  }
  const Graph graph = WithFaults(line, remaining);
  Router router(graph, Routing::kDimensionOrdered);
  EXPECT_THAT(router.Find(V(0), V(3)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("from chip 0 to chip 3")));
  EXPECT_OK(router.Find(V(0), V(1)).status());
}

TEST(Route, ADegradedLinkKeepsItsPlace) {
  const Graph ring = UnitGraph(RingFabric{}, 4);
  std::vector<double> remaining(ring.link_count(), 1);
  remaining[0] = 0.25;
  const Graph graph = WithFaults(ring, remaining);
  EXPECT_EQ(graph.link(LinkId(0)).bandwidth.value(), 0.25);
  EXPECT_EQ(graph.link_count(), ring.link_count());
}

}  // namespace
}  // namespace orrery
