// Links that are told alike carry the same of every sprayed route, and as many
// are found as a fat tree has.
#include "topology/routing/alike_links.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/status_matchers.h"
#include "tests/topology/graph/fabrics.h"
#include "topology/routing/route.h"

namespace orrery {
namespace {

// Sets of more than one link.
size_t SetsOf(const Graph& graph) {
  const IdVector<LinkId, LinkId> first = FirstAlikeLinks(graph);
  std::set<LinkId> sets;
  for (const LinkId id : graph.links()) {
    if (first[id] != id) sets.insert(first[id]);
  }
  return sets.size();
}

// Of all pairs of chips, as far as two searches can tell.
void ExpectAlikeOnAllRoutes(const Graph& graph) {
  const IdVector<LinkId, LinkId> first = FirstAlikeLinks(graph);
  for (const LinkId id : graph.links()) {
    EXPECT_LE(first[id], id);
    EXPECT_EQ(first[first[id]], first[id]);
    EXPECT_EQ(graph.link(first[id]).bandwidth, graph.link(id).bandwidth);
    if (first[id] == id) continue;
    EXPECT_EQ(graph.kind(graph.link(id).from), VertexKind::kSwitch);
    EXPECT_EQ(graph.kind(graph.link(id).to), VertexKind::kSwitch);
  }
  Router router(graph, Routing::kSpray);
  const std::vector<VertexId> chips = Chips(graph);
  for (const VertexId from : chips) {
    for (const VertexId to : chips) {
      if (from == to) continue;
      ASSERT_OK_AND_ASSIGN(const Route route, router.Find(from, to));
      std::map<LinkId, double> shares;
      for (const LinkShare& l : route.links) shares[l.link] = l.share;
      for (const LinkId id : graph.links()) {
        if (first[id] == id) continue;
        ASSERT_EQ(shares.contains(id), shares.contains(first[id]));
        if (shares.contains(id)) {
          ASSERT_EQ(shares[id], shares[first[id]]);
        }
      }
    }
  }
}

TEST(AlikeLinks, AreThoseFromALeafAndThoseToIt) {
  // 16 leaves of 4 below 4 spines.
  const Graph graph = UnitGraph(FatTreeFabric{2, 8, 1, false}, 32);
  EXPECT_EQ(SetsOf(graph), 8 * 2);
  ExpectAlikeOnAllRoutes(graph);
}

TEST(AlikeLinks, AreOfWholePlanes) {
  // 4 pods of 2 leaves and 2 switches above them, which have 2 ways up each.
  const Graph graph = UnitGraph(FatTreeFabric{3, 4, 1, false}, 16);
  // Up and down at each leaf, and at each pod.
  EXPECT_EQ(SetsOf(graph), (8 + 4) * 2);
  ExpectAlikeOnAllRoutes(graph);
}

TEST(AlikeLinks, AreFoundWherePodsAreNotFull) {
  for (const int points : {10, 13, 23}) {
    SCOPED_TRACE(points);
    ExpectAlikeOnAllRoutes(UnitGraph(FatTreeFabric{3, 6, 1, false}, points));
    ExpectAlikeOnAllRoutes(UnitGraph(FatTreeFabric{3, 6, 2, false}, points));
  }
}

TEST(AlikeLinks, AreNotThoseOfAPlaneWithAFault) {
  const Graph whole = UnitGraph(FatTreeFabric{3, 6, 1, false}, 36);
  const size_t sets = SetsOf(whole);
  EXPECT_GT(sets, 0);
  for (const double left : {0.0, 0.5}) {
    for (const LinkId id : whole.links()) {
      const Link& link = whole.link(id);
      if (whole.kind(link.from) != VertexKind::kSwitch ||
          whole.kind(link.to) != VertexKind::kSwitch || Index(id) % 7 != 0) {
        continue;
      }
      std::vector<double> remaining(whole.link_count(), 1);
      remaining[Index(id)] = left;
      const Graph graph = WithFaults(whole, remaining);
      // Two planes of three are as they were.
      EXPECT_GT(SetsOf(graph), 0);
      EXPECT_EQ(FirstAlikeLinks(graph)[id], id);
      ExpectAlikeOnAllRoutes(graph);
    }
  }
}

TEST(AlikeLinks, AreNoneWhereEverySwitchHasChips) {
  EXPECT_EQ(SetsOf(UnitGraph(RailOnlyFabric{8}, 16, 2)), 0);
}

}  // namespace
}  // namespace orrery
