// With links cut or slow, no collective is faster than the cuts of the graph
// allow, and none stops working as long as chips are connected.
//
// For any set S of n of the p chips, what has to leave or enter S, over the
// links that do: of an all-gather m (p-n)/p enters, of a reduce-scatter as much
// leaves, of an all-to-all m n (p-n)/p leaves; of an all-reduce every byte that
// S adds leaves it, or the sum of the others enters, and the result goes the
// other way: m each way.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.h"
#include "base/random.h"
#include "tests/effort.h"
#include "tests/sim/network/networks.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

constexpr double kBoundRounding = 1e-9;

pb::System RandomMachine(Rng& rng) {
  std::vector<pb::System> machines = {
      FlatSystem(8, "switch { planes: 4 links_per_endpoint: 4 reduces: true }"),
      FlatSystem(8, "fully_connected {}"),
      FlatSystem(8, "ring {}"),
      FlatSystem(16, "torus { shape: [4, 4] } routing: DIMENSION_ORDERED"),
      FlatSystem(12, "mesh { shape: [3, 4] } routing: DIMENSION_ORDERED"),
      FlatSystem(16, "fat_tree { tiers: 2 radix: 8 taper: 1 }"),
      IslandSystem(3, 4),
      IslandSystem(4, 2),
  };
  pb::System system = machines[rng.Below(machines.size())];
  const absl::StatusOr<System> whole = System::FromProto(system);
  CHECK(whole.ok()) << whole.status().ToString();
  const absl::StatusOr<Graph> graph = BuildGraph(*whole);
  CHECK(graph.ok());
  const auto faults = 1 + rng.Below(3);
  for (uint64_t i = 0; i < faults; ++i) {
    auto* fault = system.add_fault();
    const auto chip =
        static_cast<VertexId>(rng.Below(static_cast<uint64_t>(whole->chips())));
    fault->set_from(static_cast<int>(chip));
    // One link of the chip, or all of them; cut only one.
    const bool all = rng.Below(3) == 0;
    if (!all) {
      const auto links = graph->leaving(chip);
      fault->set_to(
          static_cast<int>(graph->link(links[rng.Below(links.size())]).to));
    }
    constexpr double kLeft[] = {0.5, 0.25, 0.1, 0};
    fault->set_remaining(kLeft[rng.Below(all ? 3 : 4)]);
  }
  return system;
}

// The most seconds that a cut asks for.
double CutBound(const Graph& graph, Kind kind, double m,
                const std::vector<char>& inside, int p) {
  int n = 0;
  double out = 0;
  double in = 0;
  for (VertexId chip : Chips(graph)) {
    if (!inside[Index(chip)]) continue;
    ++n;
    for (LinkId id : graph.leaving(chip)) {
      if (!inside[Index(graph.link(id).to)]) {
        out += graph.link(id).bandwidth.value();
      }
    }
    for (LinkId id : graph.entering(chip)) {
      if (!inside[Index(graph.link(id).from)]) {
        in += graph.link(id).bandwidth.value();
      }
    }
  }
  const double others = static_cast<double>(p - n) / p;
  switch (kind) {
    case Kind::kAllGather:
      return m * others / in;
    case Kind::kReduceScatter:
      return m * others / out;
    case Kind::kAllToAll:
      return m * n * others / std::min(in, out);
    default:
      return m / std::min(in, out);
  }
}

TEST(FaultBounds, NoCollectiveBeatsACutOfTheGraph) {
  constexpr int kMachines = 150;
  const Bytes m(1 << 28);
  int checked = 0;
  for (int seed = 0; seed < Rounds(kMachines); ++seed) {
    Rng rng(static_cast<uint64_t>(seed), "fault bounds");
    const pb::System proto = RandomMachine(rng);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, proto.ShortDebugString()));
    const absl::StatusOr<System> system = System::FromProto(proto);
    ASSERT_TRUE(system.ok()) << system.status().ToString();
    const Graph graph = BuildGraph(*system).value();
    const int p = system->chips();
    for (Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                      Kind::kAllToAll}) {
      for (Fidelity fidelity : {Fidelity::kFluid, Fidelity::kStepped}) {
        PlannedNetwork network(proto, {.fidelity = fidelity});
        const CollectiveCall call = {kind, m, ChipRange(0, p)};
        const absl::StatusOr<PlannedCall> planned = network.Plan(call);
        if (!planned.ok()) {
          // Chips that are cut off from each other, and nothing else.
          EXPECT_TRUE(absl::IsFailedPrecondition(planned.status()))
              << planned.status().ToString();
          continue;
        }
        const double time = ToSeconds(RunPlans(network.resources().capacities(),
                                               {{planned->plan, Time{}}})[0]);
        ++checked;
        // Each chip by itself, each island, and some sets at random.
        for (int cut = 0; cut < p + 8; ++cut) {
          std::vector<char> inside(graph.vertex_count(), false);
          const int island = system->chips_per_node();
          for (int chip = 0; chip < p; ++chip) {
            const bool is_in = cut < p ? chip == cut
                               : cut < p + 4 && p > island
                                   ? chip / island == (cut - p) % (p / island)
                                   : rng.Below(2) == 0;
            inside[static_cast<size_t>(chip)] = is_in;
          }
          for (VertexId v : graph.vertices()) {
            if (graph.kind(v) != VertexKind::kSwitch || !graph.island(v)) {
              continue;
            }
            // Switches of an island belong to it.
            inside[Index(v)] = cut >= p && cut < p + 4 && p > island &&
                               *graph.island(v) == (cut - p) % (p / island);
          }
          const auto members =
              std::count(inside.begin(), inside.begin() + p, true);
          if (members == 0 || members == p) continue;
          EXPECT_GE(
              time * (1 + kBoundRounding),
              CutBound(graph, kind, static_cast<double>(m.value()), inside, p))
              << NameOf(kind) << " by " << NameOf(planned->algorithm)
              << ", fidelity " << static_cast<int>(fidelity) << ", cut " << cut;
        }
      }
    }
  }
  EXPECT_GT(checked, Rounds(kMachines) * 4);
}

// A link that is cut in one island leaves the planes of the others bundled.
TEST(FaultBounds, ACutLinkIsTheMatterOfItsIslandAlone) {
  pb::System proto = IslandSystem(3, 4);
  auto* island = proto.mutable_scale_up()->mutable_fabric()->mutable_switch_();
  island->set_planes(4);
  island->set_links_per_endpoint(4);
  const size_t whole = MakeNetwork(proto).resources().capacities().size();
  auto* fault = proto.add_fault();
  fault->set_from(0);
  fault->set_to(12);  // the first switch after 12 chips
  fault->set_remaining(0);
  // 4 chips with 4 planes, both ways, each by itself instead of together.
  EXPECT_EQ(MakeNetwork(proto).resources().capacities().size(),
            whole + 4 * 2 * 3);
}

}  // namespace
}  // namespace orrery
