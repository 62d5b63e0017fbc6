// A plan moved to a group that lies alike is the plan of that group: the same
// waits, and the same loads on the same links.
#include "sim/folding/chip_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "sim/network/call_planner.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

struct Machine {
  std::string name;
  pb::System system;
};

pb::System Slices(int slices, int chips, const std::string& island,
                  const std::string& fabric) {
  pb::System system = IslandSystem(slices, chips);
  system.mutable_scale_up()->mutable_fabric()->clear_switch_();
  *system.mutable_scale_up()->mutable_fabric() =
      With(system.scale_up().fabric(), island);
  system.mutable_scale_out()->mutable_fabric()->clear_rail_optimized();
  *system.mutable_scale_out()->mutable_fabric() =
      With(system.scale_out().fabric(), fabric);
  return system;
}

std::vector<Machine> Machines() {
  return {
      {"torus", FlatSystem(64,
                           "torus { dimensions: 3 } "
                           "routing: DIMENSION_ORDERED")},
      {"sprayed torus", FlatSystem(60, "torus { shape: [ 5, 4, 3 ] }")},
      {"half open torus", FlatSystem(32,
                                     "torus { shape: [ 8, 4 ] closes_at: 8 } "
                                     "routing: DIMENSION_ORDERED")},
      {"mesh",
       FlatSystem(48, "mesh { shape: [ 6, 8 ] } routing: DIMENSION_ORDERED")},
      {"slices on leaves of their own",
       Slices(6, 16,
              "torus { shape: [ 4, 4 ] closes_at: 4 } "
              "routing: DIMENSION_ORDERED",
              "fat_tree { radix: 8 taper: 1 }")},
      {"slices that share leaves",
       Slices(8, 8, "torus { shape: [ 2, 4 ] } routing: DIMENSION_ORDERED",
              "fat_tree { radix: 32 taper: 1 }")},
      {"slices that leaves cut in two",
       Slices(6, 12, "torus { shape: [ 4, 3 ] } routing: DIMENSION_ORDERED",
              "fat_tree { radix: 16 taper: 1 }")},
      {"rails", IslandSystem(12, 8)},
  };
}

std::vector<VertexId> ToChips(const std::vector<int>& group) {
  std::vector<VertexId> chips;
  for (const int chip : group) chips.push_back(static_cast<VertexId>(chip));
  return chips;
}

// Some chips at one distance of each other, from somewhere on, in any order.
std::vector<int> DrawGroup(Rng& rng, const System& system) {
  const auto chips = static_cast<int>(system.chips());
  const int node = system.chips_per_node();
  const int strides[] = {1, 2, 3, 4, node, 5, 16};
  const int stride = strides[rng.Below(std::size(strides))];
  const auto count = static_cast<int>(rng.Between(2, 8));
  std::vector<int> group;
  const auto first = static_cast<int>(rng.Below(static_cast<uint64_t>(chips)));
  for (int i = 0; i < count && first + i * stride < chips; ++i) {
    group.push_back(first + i * stride);
  }
  if (rng.Below(4) == 0) rng.Shuffle(group);
  return group;
}

using Loads = std::map<ResourceId, double>;

void ExpectSame(const Loads& moved, const Loads& planned) {
  ASSERT_EQ(moved.size(), planned.size());
  for (const auto& [resource, weight] : planned) {
    const auto found = moved.find(resource);
    ASSERT_NE(found, moved.end());
    EXPECT_NEAR(found->second, weight, 1e-12 * weight);
  }
}

TEST(ChipLinks, PlansAreMovedWithTheirGroups) {
  for (const Machine& machine : Machines()) {
    SCOPED_TRACE(machine.name);
    ASSERT_OK_AND_ASSIGN(const System system,
                         System::FromProto(machine.system));
    ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(system));
    const Graph& graph = network.graph();
    CallPlanner planner(network);
    const NodeResources nodes(system, network);
    const ChipLinks links(system, network, nodes,
                          system.scale_out().has_value());
    // Links between switches are covered by ports.
    IdVector<ResourceId, char> counts(network.resources().capacities().size());
    for (const LinkId id : graph.links()) {
      counts[network.resources().of(id)] =
          graph.kind(graph.link(id).from) != VertexKind::kSwitch ||
          graph.kind(graph.link(id).to) != VertexKind::kSwitch;
    }
    Rng rng(1, machine.name);
    std::map<std::vector<int32_t>, std::vector<int>> known;
    int compared = 0;
    for (int i = 0; i < 600; ++i) {
      const std::vector<int> group = DrawGroup(rng, system);
      if (group.size() < 2) continue;
      const auto shape = links.ShapeOf(group);
      if (!shape) continue;
      const auto [like, is_new] = known.try_emplace(*shape, group);
      if (is_new || like->second == group) continue;
      const ChipLinks::Map map = links.MapOf(like->second, group);
      const auto kind = rng.Below(2) == 0 ? CommunicationKind::kAllReduce
                                          : CommunicationKind::kAllToAll;
      const Bytes bytes(rng.Between(1, 1 << 24));
      ASSERT_OK_AND_ASSIGN(const PlannedCall first,
                           planner.Plan({kind, bytes, ToChips(like->second)}));
      ASSERT_OK_AND_ASSIGN(const PlannedCall second,
                           planner.Plan({kind, bytes, ToChips(group)}));
      EXPECT_EQ(first.algorithm, second.algorithm);
      EXPECT_EQ(first.solo, second.solo);
      ASSERT_EQ(first.plan.steps.size(), second.plan.steps.size());
      for (size_t s = 0; s < first.plan.steps.size(); ++s) {
        EXPECT_EQ(first.plan.steps[s].latency, second.plan.steps[s].latency);
        Loads moved;
        Loads planned;
        for (const ResourceUse& use : first.plan.steps[s].uses) {
          if (!counts[use.resource]) continue;
          const auto places = links.PlacesOf({use.resource}, like->second);
          ASSERT_TRUE(places);
          moved[links.At(places->front(), map)] += use.weight;
        }
        for (const ResourceUse& use : second.plan.steps[s].uses) {
          if (counts[use.resource]) planned[use.resource] += use.weight;
        }
        ExpectSame(moved, planned);
      }
      ++compared;
    }
    EXPECT_GT(compared, 50);
  }
}

// A route picked by a hash, or the lowest of several, is not shifted.
TEST(ChipLinks, HashedRoutesAreNotMoved) {
  for (const char* routing : {"ECMP", "VALIANT", "ADAPTIVE", "MINIMAL"}) {
    ASSERT_OK_AND_ASSIGN(
        const System system,
        System::FromProto(FlatSystem(
            64, std::string("torus { dimensions: 3 } routing: ") + routing)));
    ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(system));
    const NodeResources nodes(system, network);
    const ChipLinks links(system, network, nodes, false);
    EXPECT_FALSE(links.ShapeOf({0, 1, 2, 3})) << routing;
  }
}

}  // namespace
}  // namespace orrery
