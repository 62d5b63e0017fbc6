// The closed form of a call among all groups like it, against all of them at
// once on the links, in trees of every taper.
#include <gtest/gtest.h>

#include "analytic/collective/group_cost.h"
#include "base/format.h"
#include "catalog/resolve.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/network/run_plans.h"
#include "tests/catalog/presets.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// Of the call: leaves that hold unlike parts of groups count in the mean.
constexpr double kUneven = 0.15;
// Where every leaf holds as many members of every group.
constexpr double kEven = 0.01;

System TaperedMachine(int nodes, const std::string& fabric) {
  auto proto = ResolveSystem(
      Catalog(), "dgx_h100_ib400",
      {fmt::format("system.nodes={}", nodes),
       fmt::format("system.scale_out.fabric={{ link {{ name: \"NDR\" "
                   "bandwidth: \"400 Gb/s\" latency: \"300 ns\" }} {} routing: "
                   "SPRAY }}",
                   fabric)});
  CHECK(proto.ok()) << proto.status().ToString();
  auto system = System::FromProto(*proto);
  CHECK(system.ok()) << system.status().ToString();
  return *std::move(system);
}

// Members of group i of `groups`, each with every groups-th chip.
std::vector<int> Strided(int chips, int groups, int i) {
  std::vector<int> members;
  for (int chip = i; chip < chips; chip += groups) members.push_back(chip);
  return members;
}

std::vector<VertexId> Chips(const std::vector<int>& members) {
  std::vector<VertexId> chips;
  for (int member : members) chips.push_back(static_cast<VertexId>(member));
  return chips;
}

struct Times {
  double closed_form;
  double simulated;
};

Times TimesOf(const System& system, Kind kind, int groups) {
  const Bytes m(1 << 28);
  const Network network = Network::Make(system).value();
  CallPlanner planner(network, {});
  CollectiveCall call = {kind, m, Chips(Strided(system.chips(), groups, 0))};
  for (int i = 1; i < groups; ++i) {
    call.replicas.push_back(Chips(Strided(system.chips(), groups, i)));
  }
  const auto planned = planner.Plan(call);
  CHECK(planned.ok()) << planned.status().ToString();
  GroupCost cost = GroupCost::Create(system, Others::kAlike).value();
  return {
      cost.Time(kind, m, cost.Span(Strided(system.chips(), groups, 0))).count(),
      ToSeconds(RunPlans(network.resources().capacities(),
                         {{planned->plan, Time{}}})[0])};
}

TEST(TaperForms, AgreeWithAllGroupsAtOnce) {
  for (const char* fabric :
       {"fat_tree { tiers: 2 radix: 32 taper: 1 }",
        "fat_tree { tiers: 2 radix: 24 taper: 2 }",
        "fat_tree { tiers: 2 radix: 20 taper: 4 }",
        "fat_tree { tiers: 2 radix: 36 taper: 8 }",
        "rail_optimized { tiers: 2 radix: 32 taper: 4 }"}) {
    // Leaves of 16 or 32 NICs: two nodes, or four.
    const System system = TaperedMachine(16, fabric);
    for (Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                      Kind::kAllToAll}) {
      const Times times = TimesOf(system, kind, 8);
      EXPECT_NEAR(times.closed_form, times.simulated, kEven * times.simulated)
          << fabric << " " << NameOf(kind);
    }
  }
}

TEST(TaperForms, AgreeInTheMeanWhereLeavesAreUneven) {
  for (int radix : {16, 28, 32, 48}) {
    for (double taper : {1.5, 3.0, 5.0}) {
      for (int nodes : {6, 11, 16}) {
        const std::string fabric =
            fmt::format("fat_tree {{ radix: {} taper: {} }}", radix, taper);
        const System system = TaperedMachine(nodes, fabric);
        for (Kind kind : {Kind::kReduceScatter, Kind::kAllToAll}) {
          const Times times = TimesOf(system, kind, 8);
          EXPECT_NEAR(times.closed_form, times.simulated,
                      kUneven * times.simulated)
              << nodes << " nodes, " << fabric << " " << NameOf(kind);
        }
      }
    }
  }
}

// Switches that add up send on once for each tree: eight trees of two to five
// nodes, one for every place, on leaves that hold parts of nodes.
TEST(TaperForms, TreesOfSwitchesShareTheCablesOfLeaves) {
  constexpr double kAlone = 0.001;
  for (const int radix : {8, 12, 20, 36}) {
    for (const double taper : {1.0, 2.0, 4.0}) {
      for (const int nodes : {2, 3, 5}) {
        const System system = TaperedMachine(
            nodes, fmt::format("fat_tree {{ tiers: 3 radix: {} taper: {} "
                               "reduces: true }}",
                               radix, taper));
        const Network network = Network::Make(system).value();
        CallPlanner planner(network, {.fidelity = Fidelity::kClosedForm});
        GroupCost cost = GroupCost::Create(system).value();
        for (const int groups : {1, 2, 4, 8}) {
          const std::vector<int> group = Strided(system.chips(), groups, 0);
          for (const int64_t bytes : {int64_t{1} << 20, int64_t{1} << 28}) {
            const auto planned =
                planner.Plan({Kind::kAllReduce, Bytes(bytes), Chips(group)});
            ASSERT_TRUE(planned.ok());
            const double simulated = ToSeconds(planned->solo);
            EXPECT_NEAR(
                cost.Time(Kind::kAllReduce, Bytes(bytes), cost.Span(group))
                    .count(),
                simulated, kAlone * simulated)
                << "radix " << radix << " taper " << taper << ", " << nodes
                << " nodes, " << groups << " groups, " << bytes << " B by "
                << NameOf(planned->algorithm);
          }
        }
      }
    }
  }
}

// What nobody shares costs the same however many there are.
TEST(TaperForms, TaperIsNoMatterInsideALeaf) {
  const System narrow =
      TaperedMachine(2, "fat_tree { tiers: 2 radix: 36 taper: 8 }");
  const System wide =
      TaperedMachine(2, "fat_tree { tiers: 2 radix: 32 taper: 1 }");
  GroupCost a = GroupCost::Create(narrow, Others::kAlike).value();
  GroupCost b = GroupCost::Create(wide, Others::kAlike).value();
  const Bytes m(1 << 28);
  EXPECT_EQ(a.Time(Kind::kAllReduce, m, a.Span({0, 8})).count(),
            b.Time(Kind::kAllReduce, m, b.Span({0, 8})).count());
}

}  // namespace
}  // namespace orrery
