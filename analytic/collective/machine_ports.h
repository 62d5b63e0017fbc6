#pragma once
// MachinePorts: a machine as closed forms see it: what chips are joined by
// inside an island, and by which NICs and switches islands are.
//
// Island wirings are ports on a switch that never blocks, a link between every
// two chips, and grids, routed one side after the other, the shorter way
// around. Between islands the NICs of both ends are busy, and in a tree of
// switches what leaves a leaf shares its cables up: with a taper o:1, f_out o m
// b for an exchange of which f_out leaves the leaf, if everyone on it takes
// part. On other fabrics, by other routing and with slow links there is no such
// formula, and what a message loads is read off its route (FabricRoutes).
#include <array>
#include <optional>
#include <vector>

#include "analytic/collective/alpha_beta.h"
#include "topology/machine/system.h"

namespace orrery {

class FabricRoutes;

enum class IslandWiring : uint8_t { kPorts, kLinks, kGrid };

// Leaves and spines between NICs, to count hops: NIC i of node n is NIC
// n x nics + i.
struct ClosPorts {
  int tiers = 1;
  int leaf_nics = 1;
  int leaves_per_pod = 1;
  // Rails: NIC i of every node has leaves of its own, of so many rails each.
  bool rails = false;
  int rails_per_leaf = 1;
  // What a leaf can send up, in NICs; 0: there is nothing above it.
  double up = 0;
};

struct MachinePorts {
  IslandWiring wiring = IslandWiring::kPorts;
  int chips = 1;
  int island_chips = 1;
  // Of a grid: its sides, first fastest, and which of them do not close to
  // rings; empty: all do. A ring of two has both its cables between the same
  // chips.
  std::vector<int> sides = {};
  std::vector<bool> open = {};
  bool twisted = false;
  // Per island; none where islands are not joined.
  int nics = 0;
  // Of a chip: several share one, or one has several.
  int nics_per_chip = 1;
  std::optional<ClosPorts> clos = std::nullopt;
  // Whether switches add up what they forward.
  bool island_reduces = false;
  bool network_reduces = false;
  // Of a link inside an island and of one between NICs, and of a NIC's sending
  // and receiving side together.
  Seconds island_link{};
  Seconds network_link{};
  Seconds nic_latency{};
  // What a chip's port or link carries inside an island, and its NICs together.
  std::array<BytesPerSecond, kTiers> rates = {};
  // Where formulas do not hold; must outlive the ports.
  FabricRoutes* routes = nullptr;

  bool closes(size_t side) const { return open.empty() || !open[side]; }
  int IslandOf(int chip) const { return chip / island_chips; }
  // The first NIC of a chip, counted over all islands.
  int NicOf(int chip) const {
    return IslandOf(chip) * nics + chip % island_chips * nics / island_chips;
  }
  // The chips whose first NIC this is.
  int ChipsOf(int nic) const {
    const int place = nic % nics;
    const int first = (place * island_chips + nics - 1) / nics;
    const int next = ((place + 1) * island_chips + nics - 1) / nics;
    return next - first;
  }
  // Of a Clos: the leaf of a NIC, and how many NICs are on it.
  int LeafOf(int nic) const;
  int NicsOn(int leaf) const;
  // Links between the NICs of two chips of different islands.
  int NetworkHops(int from, int to) const;
  // Of a route of so many links between NICs, theirs included.
  Seconds NetworkLatency(int hops) const {
    return nic_latency + hops * network_link;
  }
};

// Without routes.
MachinePorts PortsOf(const System& system);

}  // namespace orrery
