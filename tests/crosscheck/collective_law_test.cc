// One law for all collectives: none is slower than others that together do its
// job, and none is faster than its bound.
//
// A library that says which algorithms it has is what it is: NCCL's all-gather
// goes around rings, and for small messages is slower than its all-reduce,
// which has trees. Of those an all-gather is held against the all-reduce by the
// same algorithm.
//
// Over every machine of the catalogue and over bare fabrics of every kind, for
// groups of all chips, of odd numbers of them, of parts of islands and of
// scattered chips, from latency to bandwidth, in CLOSED_FORM and FLUID.
#include <absl/strings/str_cat.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "analytic/collective/collective_bounds.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// Sums of picoseconds and of doubles.
constexpr double kRounding = 1e-6;

constexpr Kind kKinds[] = {Kind::kAllReduce, Kind::kReduceScatter,
                           Kind::kAllGather, Kind::kAllToAll,
                           Kind::kBroadcast, Kind::kReduce};

// The bytes of a call mean the same in all of them: m of an all-gather is the
// gathered result, of an all-to-all what a rank sends in all.
struct Law {
  Kind kind;
  std::vector<Kind> others;
  const char* why;
};
const std::vector<Law>& Laws() {
  static const auto& laws = *new std::vector<Law>{
      {Kind::kAllReduce,
       {Kind::kReduceScatter, Kind::kAllGather},
       "sums are scattered, then gathered"},
      {Kind::kAllGather, {Kind::kAllReduce}, "with nothing in others' shards"},
      {Kind::kReduceScatter,
       {Kind::kAllReduce},
       "and others' sums are dropped"},
      {Kind::kAllGather, {Kind::kAllToAll}, "its own shard to everyone"},
      {Kind::kReduceScatter, {Kind::kAllToAll}, "and every rank adds up"},
      {Kind::kBroadcast, {Kind::kAllReduce}, "with nothing from the others"},
      {Kind::kReduce, {Kind::kAllReduce}, "and others' sums are dropped"},
      {Kind::kReduce,
       {Kind::kReduceScatter, Kind::kAllGather},
       "and others' sums are dropped"}};
  return laws;
}

std::vector<std::vector<VertexId>> GroupsOf(int chips, int per_node) {
  std::vector<std::vector<VertexId>> groups = {ChipRange(0, chips)};
  const auto add = [&](int begin, int count, int stride) {
    if (count < 2 || begin + (count - 1) * stride >= chips) return;
    groups.push_back(ChipRange(begin, count, stride));
  };
  add(0, chips - 1, 1);                           // odd, and islands differ
  add(1, chips / 2, 1);                           // across the middle
  add(0, 3, 1);                                   // part of a node
  add(per_node / 2, chips / per_node, per_node);  // one of each node
  add(0, chips / 2, 2);                           // every other one
  return groups;
}

Seconds BoundOf(const Graph& graph, const CollectiveCall& call,
                bool in_network) {
  return CollectiveLowerBound(call.kind, call.bytes, graph, call.chips,
                              in_network);
}

bool MovesShards(Kind kind) {
  return kind == Kind::kAllGather || kind == Kind::kReduceScatter;
}

void ExpectLaws(const pb::System& proto, const std::string& name,
                bool only_bounds = false) {
  ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
  ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(system));
  const bool listed = !system.collectives().algorithms.empty();
  for (const Fidelity fidelity : {Fidelity::kClosedForm, Fidelity::kFluid}) {
    CallPlanner planner(network, {.fidelity = fidelity});
    for (const auto& chips :
         GroupsOf(system.chips(), system.chips_per_node())) {
      for (const int64_t bytes : {int64_t{1} << 10, int64_t{1} << 17,
                                  int64_t{1} << 23, int64_t{1} << 30}) {
        std::map<Kind, double> times;
        std::map<Kind, std::string> how;
        std::map<Kind, CollectiveAlgorithm> algorithms;
        for (const Kind kind : kKinds) {
          const CollectiveCall call = {kind, Bytes(bytes), chips};
          ASSERT_OK_AND_ASSIGN(PlannedCall planned, planner.Plan(call));
          algorithms[kind] = planned.algorithm;
          const bool in_network = ReducesInNetwork(planned.algorithm);
          times[kind] = ToSeconds(
              RunPlans(network.resources().capacities(),
                       std::vector<StartedPlan>{{std::move(planned.plan)}})[0]);
          how[kind] = fmt::format("{} by {} {} {:.2f} us", NameOf(kind),
                                  NameOf(planned.algorithm), planned.protocol,
                                  times[kind] * 1e6);
          EXPECT_GE(times[kind] * (1 + kRounding),
                    BoundOf(network.graph(), call, in_network).count())
              << name << ": " << how[kind];
        }
        if (only_bounds) continue;
        if (listed) {
          for (const Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
            CallPlanner same(
                network, {.fidelity = fidelity, .algorithm = algorithms[kind]});
            ASSERT_OK_AND_ASSIGN(
                const PlannedCall sum,
                same.Plan({Kind::kAllReduce, Bytes(bytes), chips}));
            EXPECT_LE(times[kind], ToSeconds(sum.solo) * (1 + kRounding))
                << name << ": " << how[kind];
          }
        }
        for (const Law& law : Laws()) {
          if (listed && MovesShards(law.kind)) continue;
          double others = 0;
          std::string names;
          for (const Kind kind : law.others) {
            others += times[kind];
            absl::StrAppend(&names, " ", how[kind]);
          }
          EXPECT_LE(times[law.kind], others * (1 + kRounding))
              << name << ", " << chips.size() << " chips, " << bytes
              << " bytes: " << how[law.kind] << " against" << names << ", "
              << law.why;
        }
      }
    }
  }
}

TEST(CollectiveLaw, HoldsOnEveryMachineOfTheCatalogue) {
  const std::vector<std::string> systems = Catalog().Names("systems");
  ASSERT_GT(systems.size(), 10u);
  for (const std::string& name : systems) {
    for (const int nodes : {1, 3, 8}) {
      ASSERT_OK_AND_ASSIGN(
          const pb::System proto,
          ResolveSystem(Catalog(), name,
                        {fmt::format("system.nodes={}", nodes)}));
      // Racks of 72 by the dozen show nothing that nodes of 8 do not.
      constexpr int kMostChips = 150;
      if (proto.nodes() * proto.chips_per_node() > kMostChips) continue;
      ExpectLaws(proto, fmt::format("{} of {} nodes", name, nodes));
    }
  }
}

// Rail by rail, then node by node, or the other way round: where chips of a
// node have links of their own to each other, whole machines are no slower.
TEST(CollectiveLaw, MachinesOfMeshesAreNoSlowerThanTheirRailsAndNodes) {
  for (const char* name : {"mi300x_8x400", "mi355x_8x400"}) {
    for (const int nodes : {2, 4, 8}) {
      ASSERT_OK_AND_ASSIGN(
          const pb::System proto,
          ResolveSystem(Catalog(), name,
                        {fmt::format("system.nodes={}", nodes)}));
      const int g = proto.chips_per_node();
      for (const Fidelity fidelity :
           {Fidelity::kClosedForm, Fidelity::kFluid}) {
        PlannedNetwork network(proto, {.fidelity = fidelity});
        for (int64_t m = 16'000'000; m <= 4'096'000'000; m *= 2) {
          const auto all = [&](Kind kind) {
            return TimeAlone(network,
                             {kind, Bytes(m), ChipRange(0, nodes * g)});
          };
          const auto node = [&](Kind kind) {
            return TimeAlone(network, {kind, Bytes(m), ChipRange(0, g)});
          };
          // A rail has the g-th part that a chip of the node has.
          const auto rail = [&](Kind kind) {
            return TimeAlone(network,
                             {kind, Bytes(m / g), ChipRange(0, nodes, g)});
          };
          const std::string where =
              fmt::format("{} of {} nodes, {} bytes", name, nodes, m);
          for (const Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
            EXPECT_LE(all(kind), (rail(kind) + node(kind)) * (1 + kRounding))
                << where << ", " << NameOf(kind);
          }
          EXPECT_LE(all(Kind::kAllReduce),
                    (node(Kind::kReduceScatter) + rail(Kind::kAllReduce) +
                     node(Kind::kAllGather)) *
                        (1 + kRounding))
              << where;
        }
      }
    }
  }
}

// A rank with slow links need not add up for others: trees beat what its
// neighbours' share of an all-reduce would take it, but not its own bytes. Only
// bounds are held: with one chip unlike the others, sums may best be scattered
// by one algorithm and gathered by another, and no all-reduce mixes two.
TEST(CollectiveLaw, NoneBeatsItsBoundWithSlowLinks) {
  for (const char* name :
       {"dgx_h100_ib400", "mi300x_8x400", "tpu_v5p_pod", "tpu_v5e_pod"}) {
    for (const int nodes : {1, 2, 4}) {
      for (const double remaining : {0.5, 0.05}) {
        ASSERT_OK_AND_ASSIGN(
            const pb::System proto,
            ResolveSystem(
                Catalog(), name,
                {fmt::format("system.nodes={}", nodes),
                 fmt::format("system.fault={{ from: 0 remaining: {} }}",
                             remaining)}));
        ExpectLaws(proto,
                   fmt::format("{} of {} nodes, {} left of a chip's "
                               "links",
                               name, nodes, remaining),
                   /*only_bounds=*/true);
      }
    }
  }
}

TEST(CollectiveLaw, HoldsOnEveryFabric) {
  const std::vector<std::pair<int, std::string>> fabrics = {
      {8, "fully_connected {}"},
      {7, "switch { planes: 1 links_per_endpoint: 1 }"},
      {8, "switch { planes: 2 links_per_endpoint: 2 reduces: true }"},
      {9, "ring {}"},
      {16, "ring {}"},
      {12, "mesh { shape: 12 }"},
      {20, "mesh { shape: 4 shape: 5 }"},
      {64, "mesh { shape: 4 shape: 4 shape: 4 }"},
      {15, "torus { shape: 3 shape: 5 } routing: DIMENSION_ORDERED"},
      {64, "torus { shape: 4 shape: 4 shape: 4 } routing: DIMENSION_ORDERED"},
      {60, "torus { shape: 3 shape: 4 shape: 5 } routing: DIMENSION_ORDERED"},
      {64, "torus { shape: 2 shape: 32 } routing: DIMENSION_ORDERED"},
      {32, "torus { shape: 4 shape: 8 twisted: true }"},
      {32, "fat_tree { tiers: 2 radix: 8 taper: 1 }"},
      {24, "fat_tree { tiers: 2 radix: 12 taper: 2 }"},
      {36,
       "dragonfly { hosts_per_router: 2 routers_per_group: 4 "
       "globals_per_router: 2 }"},
      {32, "hyperx { shape: 4 shape: 4 hosts_per_router: 2 }"}};
  for (const auto& [chips, fabric] : fabrics) {
    ExpectLaws(FlatSystem(chips, fabric), fmt::format("{} {}", chips, fabric));
  }
  for (const int islands : {2, 3, 8}) {
    for (const int size : {1, 4}) {
      if (size == 1 && islands < 3) continue;
      ExpectLaws(IslandSystem(islands, size),
                 fmt::format("{} islands of {}", islands, size));
    }
  }
}

}  // namespace
}  // namespace orrery
