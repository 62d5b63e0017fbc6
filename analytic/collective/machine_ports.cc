#include "analytic/collective/machine_ports.h"

#include <algorithm>
#include <cmath>

#include "base/overload.h"

namespace orrery {
namespace {

int CeilDivide(int a, int b) { return (a + b - 1) / b; }

// A leaf has radix o/(1+o) ports down, a pod radix/2 leaves.
ClosPorts Clos(int tiers, int radix, double taper) {
  const int up = static_cast<int>(std::lround(radix / (1 + taper)));
  ClosPorts clos = {.tiers = tiers,
                    .leaf_nics = tiers == 1 ? radix : radix - up,
                    .leaves_per_pod = tiers == 2 ? radix : radix / 2};
  if (tiers > 1) clos.up = up;
  return clos;
}

// Short rails share a leaf where one each would be more leaves than fit.
ClosPorts Rails(const RailOptimizedFabric& fabric, int nodes, int rails) {
  ClosPorts clos = Clos(fabric.tiers, fabric.radix, fabric.taper);
  clos.rails = true;
  const int leaves = CeilDivide(nodes, clos.leaf_nics) * rails;
  const int most = fabric.tiers == 1   ? 1
                   : fabric.tiers == 2 ? fabric.radix
                                       : fabric.radix / 2 * fabric.radix;
  if (leaves > most && nodes < clos.leaf_nics) {
    clos.rails_per_leaf = clos.leaf_nics / nodes;
  }
  return clos;
}

void AddIsland(const ScaleUp& scale_up, MachinePorts& ports) {
  ports.island_link = Seconds(ToSeconds(scale_up.fabric.link.latency));
  const auto grid = [&](const std::vector<int>& sides, bool closes) {
    ports.wiring = IslandWiring::kGrid;
    ports.sides = sides;
    if (!closes) ports.open.assign(sides.size(), true);
  };
  std::visit(
      Overload{[&](const FullyConnectedFabric&) {
                 ports.wiring = IslandWiring::kLinks;
               },
               [&](const SwitchFabric& f) { ports.island_reduces = f.reduces; },
               [&](const RingFabric&) { grid({ports.island_chips}, true); },
               [&](const MeshFabric& f) { grid(f.shape, false); },
               [&](const TorusFabric& f) {
                 grid(f.shape, true);
                 ports.twisted = f.twisted;
                 ports.open = f.open;
               },
               [](const auto&) {}},
      scale_up.fabric.kind);
  ports.rates[0] = ports.wiring == IslandWiring::kPorts
                       ? scale_up.chip_bandwidth
                       : scale_up.fabric.link.bandwidth;
}

void AddNetwork(const ScaleOut& scale_out, int nodes, MachinePorts& ports) {
  ports.nics = scale_out.nics_per_node;
  ports.nics_per_chip = std::max(1, ports.nics / ports.island_chips);
  ports.nic_latency = Seconds(ToSeconds(scale_out.nic_latency));
  ports.network_link = Seconds(ToSeconds(scale_out.fabric.link.latency));
  // A NIC sends no faster than the fabric takes it.
  ports.rates[1] =
      std::min(scale_out.nic_bandwidth, EndpointBandwidth(scale_out.fabric)) *
      ports.nics_per_chip;
  std::visit(Overload{[&](const FatTreeFabric& f) {
                        ports.clos = Clos(f.tiers, f.radix, f.taper);
                        ports.network_reduces = f.reduces;
                      },
                      [&](const RailOptimizedFabric& f) {
                        ports.clos = Rails(f, nodes, ports.nics);
                        ports.network_reduces = f.reduces;
                      },
                      [&](const SwitchFabric& f) {
                        ports.network_reduces = f.reduces && f.planes == 1;
                      },
                      [](const auto&) {}},
             scale_out.fabric.kind);
  // A tree of switches needs one way from each chip to its leaf: not by
  // several NICs, nor by those of neighbours.
  ports.network_reduces &=
      ports.nics_per_chip == 1 && ports.wiring != IslandWiring::kGrid;
  // Cables of the fabric may be wider than what a NIC sends.
  const double cable = scale_out.fabric.link.bandwidth.value();
  if (ports.clos) {
    ports.clos->up *= cable / std::min(cable, scale_out.nic_bandwidth.value());
  }
}

// Those of a node, or all where the fabric of the island spans the nodes.
int IslandChips(const System& system) {
  return system.scale_up() && system.scale_up()->spans_nodes
             ? static_cast<int>(system.chips())
             : system.chips_per_node();
}

}  // namespace

int MachinePorts::LeafOf(int nic) const {
  if (!clos->rails) return nic / clos->leaf_nics;
  const int leaves = CeilDivide(nics, clos->rails_per_leaf);
  return nic / nics / clos->leaf_nics * leaves +
         nic % nics / clos->rails_per_leaf;
}

int MachinePorts::NicsOn(int leaf) const {
  const int islands = chips / island_chips;
  if (!clos->rails) {
    return std::min(clos->leaf_nics, islands * nics - leaf * clos->leaf_nics);
  }
  const int leaves = CeilDivide(nics, clos->rails_per_leaf);
  const int first_island = leaf / leaves * clos->leaf_nics;
  const int first_rail = leaf % leaves * clos->rails_per_leaf;
  return std::min(clos->leaf_nics, islands - first_island) *
         std::min(clos->rails_per_leaf, nics - first_rail);
}

int MachinePorts::NetworkHops(int from, int to) const {
  constexpr int kSameLeaf = 2;
  if (!clos) return kSameLeaf;
  const int a = LeafOf(NicOf(from));
  const int b = LeafOf(NicOf(to));
  if (a == b) return kSameLeaf;
  return a / clos->leaves_per_pod == b / clos->leaves_per_pod ? 4 : 6;
}

MachinePorts PortsOf(const System& system) {
  MachinePorts ports{.chips = system.chips(),
                     .island_chips = IslandChips(system)};
  if (system.scale_up()) AddIsland(*system.scale_up(), ports);
  if (system.scale_out()) {
    AddNetwork(*system.scale_out(), system.nodes(), ports);
  }
  return ports;
}

}  // namespace orrery
