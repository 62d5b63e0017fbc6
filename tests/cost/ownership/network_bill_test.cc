// Every port and cable of the network between nodes is in the bill exactly
// once, whatever the topology: the bill is held against ports counted vertex by
// vertex on the graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catalog/resolve.h"
#include "cost/ownership/machine_cost.h"
#include "run/silicon_catalog.h"
#include "tests/status_matchers.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

// By kinds of the two ends, in the order of VertexKind.
using CableCount = std::map<std::pair<VertexKind, VertexKind>, double>;

// Ports are the cables that leave a vertex, and a cable has two of them.
CableCount CountByPorts(const Graph& graph) {
  CableCount ports;
  for (const VertexId id : graph.vertices()) {
    for (const LinkId link : graph.leaving(id)) {
      const VertexKind here = graph.kind(id);
      const VertexKind there = graph.kind(graph.link(link).to);
      ports[{std::min(here, there), std::max(here, there)}] +=
          graph.link(link).cables;
    }
  }
  for (auto& [ends, count] : ports) count /= 2;
  return ports;
}

std::map<std::string, double> BillOf(const MachineCost& cost) {
  std::map<std::string, double> bill;
  for (const BillItem& item : cost.items()) bill[item.what] += item.count;
  return bill;
}

struct Machine {
  const char* fabric;
  int nodes;
  int nics;
};

MachineCost Priced(const System& system, const Graph& graph) {
  const auto prices = LoadPrices(Catalog(), {});
  CHECK(prices.ok()) << prices.status().ToString();
  auto cost = MachineCost::Create(system, graph, *prices, {});
  CHECK(cost.ok()) << cost.status().ToString();
  return *std::move(cost);
}

// Trees are full: one that is not is bought as far as it is used.
TEST(NetworkBill, HasEveryPortAndCableOnce) {
  const Machine machines[] = {
      {"torus={shape: [2,3,4]}", 3, 8},
      {"torus={shape: [3,5]}", 15, 1},
      {"torus={shape: [8,8,16]}", 128, 8},
      {"torus={shape: [4,4,8] twisted: true}", 16, 8},
      {"mesh={shape: [3,7]}", 21, 1},
      {"mesh={shape: [2,2,6]}", 3, 8},
      {"ring={}", 7, 1},
      {"ring={}", 3, 8},
      {"fully_connected={}", 5, 1},
      {"fully_connected={}", 3, 8},
      {"switch={planes: 3 links_per_endpoint: 5}", 3, 8},
      {"switch={planes: 1 links_per_endpoint: 1}", 5, 4},
      {"fat_tree={tiers: 2 radix: 8 taper: 1}", 4, 8},
      {"fat_tree={tiers: 3 radix: 8 taper: 1}", 16, 8},
      {"rail_optimized={tiers: 2 radix: 16 taper: 1}", 16, 8},
      {"dragonfly={hosts_per_router: 2 routers_per_group: 4 "
       "globals_per_router: 2 groups: 9}",
       9, 8},
      {"rail_only={radix: 16}", 8, 8},
      {"links={switches: 2 link: [{from: 0 to: 3}, {from: 1 to: 4}, "
       "{from: 2 to: 4}, {from: 3 to: 4}, {from: 3 to: 4}, {from: 0 to: 1}]}",
       3, 1},
      {"hyperx={shape: [3,4] hosts_per_router: 2 links: [2,1]}", 3, 8},
  };
  for (const Machine& machine : machines) {
    SCOPED_TRACE(machine.fabric);
    ASSERT_OK_AND_ASSIGN(
        const pb::System proto,
        ResolveSystem(
            Catalog(), "dgx_h100_ib400",
            {fmt::format("system.nodes={}", machine.nodes),
             fmt::format("system.scale_out.nics_per_node={}", machine.nics),
             std::string("system.scale_out.fabric.") + machine.fabric}));
    ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
    ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
    const MachineCost cost = Priced(system, graph);
    auto bill = BillOf(cost);
    CableCount cables = CountByPorts(graph);
    using enum VertexKind;
    EXPECT_EQ(bill["NDR links between NICs"], (cables[{kNic, kNic}]));
    EXPECT_EQ(bill["NDR host links"], (cables[{kNic, kSwitch}]));
    const double nics = machine.nodes * machine.nics;
    EXPECT_EQ(bill["NDR NICs"], nics);
    EXPECT_EQ(bill["NDR NICs"] + bill["NDR further NIC ports"],
              (2 * cables[{kNic, kNic}] + cables[{kNic, kSwitch}]));
    double switches = 0;
    double fabric = 0;
    for (const VertexId id : graph.vertices()) {
      if (graph.kind(id) != kSwitch || graph.island(id)) continue;
      ++switches;
      for (const LinkId link : graph.leaving(id)) {
        if (graph.kind(graph.link(link).to) == kSwitch) {
          fabric += graph.link(link).cables / 2.0;
        }
      }
    }
    EXPECT_EQ(bill["NDR switches"], switches);
    EXPECT_EQ(bill["NDR fabric links"], fabric);
    // Everything that is on has power: it is neither free nor dark.
    EXPECT_GT(cost.network_power().value(), 25 * nics);
  }
}

// 8 x 8 x 16 NICs: three cables and six ports each.
TEST(NetworkBill, OfATorusOfNicsIsThatOfTheTextbook) {
  ASSERT_OK_AND_ASSIGN(
      const pb::System proto,
      ResolveSystem(Catalog(), "dgx_h100_ib400",
                    {"system.nodes=128",
                     "system.scale_out.fabric.torus={shape: [8,8,16]}"}));
  ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
  ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
  auto bill = BillOf(Priced(system, graph));
  EXPECT_EQ(bill["NDR links between NICs"], 3 * 1024);
  EXPECT_EQ(bill["NDR NICs"], 1024);
  EXPECT_EQ(bill["NDR further NIC ports"], 5 * 1024);
  EXPECT_EQ(bill["NDR switches"], 0);
}

// A tree that is not full is bought as far as it is used: its switches still
// have a port for every cable end, and every NIC has its cable.
TEST(NetworkBill, OfAPartFilledTreeHasAPortForEveryCableEnd) {
  for (const char* tree : {"fat_tree={tiers: 2 radix: 16 taper: 1}",
                           "fat_tree={tiers: 3 radix: 16 taper: 3}",
                           "rail_optimized={tiers: 2 radix: 16 taper: 1}"}) {
    for (const int nodes : {2, 3, 5, 7, 11, 13}) {
      SCOPED_TRACE(fmt::format("{} of {} nodes", tree, nodes));
      ASSERT_OK_AND_ASSIGN(
          const pb::System proto,
          ResolveSystem(Catalog(), "dgx_h100_ib400",
                        {fmt::format("system.nodes={}", nodes),
                         std::string("system.scale_out.fabric.") + tree}));
      ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
      ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
      auto bill = BillOf(Priced(system, graph));
      EXPECT_EQ(bill["NDR host links"], 8 * nodes);
      EXPECT_EQ(bill["NDR NICs"], 8 * nodes);
      EXPECT_LE(bill["NDR host links"] + 2 * bill["NDR fabric links"],
                16 * bill["NDR switches"]);
    }
  }
}

// Stock machines: as many NICs as the graph has, and every cable between chips
// of a pod once.
TEST(NetworkBill, OfStockMachinesHasTheirNicsAndLinksOfChips) {
  for (const std::string& name : Catalog().Names("systems")) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const pb::System proto,
                         ResolveSystem(Catalog(), name, {"system.nodes=4"}));
    ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
    ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
    double nics = 0;
    for (const VertexId id : graph.vertices()) {
      nics += graph.kind(id) == VertexKind::kNic;
    }
    double bought = 0;
    double links = 0;
    for (const auto& [what, count] : BillOf(Priced(system, graph))) {
      if (what.ends_with(" links between chips")) links += count;
      if (what.ends_with(" NICs") && what.find("between") == what.npos) {
        bought += count;
      }
    }
    EXPECT_EQ(bought, nics);
    if (system.scale_up() && system.scale_up()->spans_nodes) {
      EXPECT_EQ(links,
                (CountByPorts(graph)[{VertexKind::kChip, VertexKind::kChip}]));
    }
  }
}

}  // namespace
}  // namespace orrery
