// A fabric without taper never slows a permutation: whoever sends to whom, with
// one destination each, no link carries more than its bandwidth.
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "tests/effort.h"
#include "tests/status_matchers.h"
#include "tests/topology/graph/fabrics.h"
#include "topology/routing/route.h"

namespace orrery {
namespace {

// Sums of shares that add up to 1.
constexpr double kRounding = 1e-9;

// The longest time any link is busy when i sends a byte to to[i].
double LongestOf(const Graph& graph, Router& router,
                 const std::vector<int>& to) {
  std::vector<Demand> demands;
  for (size_t from = 0; from < to.size(); ++from) {
    if (to[from] == static_cast<int>(from)) continue;
    demands.push_back({V(static_cast<int64_t>(from)), V(to[from]), 1});
  }
  const absl::StatusOr<RouteSet> found = router.FindSet(demands);
  CHECK(found.ok()) << found.status().ToString();
  // Middles are common to many.
  std::vector<double> through(found->middles.size(), 0);
  std::vector<double> loads(graph.link_count(), 0);
  for (const RouteSet::Entry& route : found->routes) {
    for (int32_t i = route.own_begin; i < route.own_end; ++i) {
      loads[Index(found->own[static_cast<size_t>(i)])] += 1;
    }
    if (route.middle >= 0) through[static_cast<size_t>(route.middle)] += 1;
  }
  for (size_t m = 0; m < through.size(); ++m) {
    for (const LinkShare& l : *found->middles[m].links) {
      loads[Index(l.link)] += l.share * through[m];
    }
  }
  double longest = 0;
  for (LinkId id : graph.links()) {
    longest =
        std::max(longest, loads[Index(id)] / graph.link(id).bandwidth.value());
  }
  return longest;
}

// A leaf to the next, one half to the other, and at random.
std::vector<std::vector<int>> Permutations(int points, int per_leaf,
                                           uint64_t seed) {
  std::vector<std::vector<int>> result;
  for (int shift : {per_leaf, points / 2}) {
    std::vector<int> to(static_cast<size_t>(points));
    for (int i = 0; i < points; ++i) {
      to[static_cast<size_t>(i)] = (i + shift) % points;
    }
    result.push_back(std::move(to));
  }
  std::vector<int> to(static_cast<size_t>(points));
  std::iota(to.begin(), to.end(), 0);
  Rng(seed, "permutation").Shuffle(to);
  result.push_back(std::move(to));
  return result;
}

TEST(Permutation, IsNotSlowedByAFabricWithoutTaper) {
  // Nodes of 8 NICs on rails of 64 ports, as in dgx_h100_ib400: two tiers, and
  // from 257 nodes on three. Small switches need many tiers early.
  constexpr int kMostNodes = 300;
  for (int nodes = 1; nodes <= Rounds(kMostNodes); ++nodes) {
    SCOPED_TRACE(nodes);
    struct Machine {
      FabricKind kind;
      int points;
      int rails;
      int per_leaf;
    };
    const int stock = nodes * 8;
    const int tiers = stock <= 2048 ? 2 : 3;
    std::vector<Machine> machines = {
        {RailOptimizedFabric{tiers, 64, 1, false}, stock, 8, 32},
        {FatTreeFabric{nodes <= 128 ? 2 : 3, 16, 1, false}, nodes, 1, 8}};
    if (nodes <= 128) {
      machines.push_back({FatTreeFabric{3, 8, 1, false}, nodes, 1, 4});
    }
    for (const Machine& machine : machines) {
      const Graph graph =
          UnitGraph(machine.kind, machine.points, machine.rails);
      Router router(graph, Routing::kSpray);
      for (const std::vector<int>& to :
           Permutations(machine.points, machine.per_leaf,
                        static_cast<uint64_t>(nodes))) {
        ASSERT_LE(LongestOf(graph, router, to), 1 + kRounding)
            << "radix of leaves with " << machine.per_leaf << " down";
      }
    }
  }
}

// 4 + 4 hosts on two leaves, joined by three spines with as many cables as
// listed.
Graph ThreeSpines(const std::vector<double>& left,
                  const std::vector<double>& right) {
  LinkListFabric list{.switches = 5, .links = {}};
  const auto link = [&](int from, int to, double bandwidth) {
    list.links.push_back(
        {from, to, false, BytesPerSecond(bandwidth), Duration(1)});
  };
  for (int host = 0; host < 8; ++host) link(host, host < 4 ? 8 : 9, 1);
  for (int spine = 0; spine < 3; ++spine) {
    link(8, 10 + spine, left[static_cast<size_t>(spine)]);
    link(9, 10 + spine, right[static_cast<size_t>(spine)]);
  }
  return UnitGraph(list, 8);
}

TEST(Permutation, SprayGoesByCables) {
  const std::vector<int> across = {4, 5, 6, 7, 0, 1, 2, 3};
  const auto longest = [&](const Graph& graph) {
    Router router(graph, Routing::kSpray);
    return LongestOf(graph, router, across);
  };
  // 4 hosts over 2 + 1 + 1 cables.
  EXPECT_NEAR(longest(ThreeSpines({2, 1, 1}, {2, 1, 1})), 1, kRounding);
  EXPECT_NEAR(longest(ThreeSpines({3, 0.5, 0.5}, {3, 0.5, 0.5})), 1, kRounding);
  // Wide cables on different spines: min(2, 1) + min(1, 2) + 1 = 3 of them can
  // be used, whatever the routing.
  EXPECT_NEAR(longest(ThreeSpines({2, 1, 1}, {1, 2, 1})), 4.0 / 3, kRounding);
  // One spine at half its speed: 2.5 cables for 4 hosts, each as busy.
  EXPECT_NEAR(longest(ThreeSpines({1, 1, 0.5}, {1, 1, 1})), 4 / 2.5, kRounding);
}

}  // namespace
}  // namespace orrery
