#pragma once
// FabricRoutes: the links of a machine whose loads no formula tells.
//
// Formulas (MachinePorts) cover switches and trees that spray, links between
// all chips of an island, and grids routed in dimension order. A dragonfly, a
// HyperX, rails without a spine, a grid between NICs or of chips that pass on
// what is for other islands, one path picked by a hash, detours and slow links
// have none that holds for every group. There a
// closed form counts the messages of its algorithm on the routes of the
// machine: those are facts about the fabric, as its bandwidths are, and have
// tests of their own.
//
//   ASSIGN_OR_RETURN(const auto routes, FabricRoutes::Make(system, rates));
//   const RouteSet set = routes->Find(demands);
//
// Keeps what it has found: one object, one thread.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <array>
#include <memory>
#include <vector>

#include "base/units.h"
#include "topology/graph/graph.h"
#include "topology/machine/system.h"
#include "topology/routing/route.h"

namespace orrery {

class FabricRoutes {
 public:
  // Whether formulas do not hold on the machine.
  static bool Needed(const System& system);

  // `rates`: those of a port of each tier. Fails if the fabric has no room for
  // the machine, or faults cut a chip off.
  static absl::StatusOr<std::unique_ptr<FabricRoutes>> Make(
      const System& system, const std::array<BytesPerSecond, kTiers>& rates);

  // Lines are links; where an island's traffic takes all planes of its switches
  // evenly, those of a chip to them, or from them, are one.
  size_t line_count() const { return capacities_.size(); }
  size_t LineOf(LinkId link) const { return line_of_[Index(link)]; }
  // Of messages that are on their way together. Requires: no chip to itself.
  RouteSet Find(absl::Span<const Demand> demands);

  // What a byte of a tier's messages on a line counts, in bytes on a port of
  // the tier.
  double Weight(size_t line, Tier tier) const {
    return rates_[static_cast<size_t>(tier)].value() / capacities_[line];
  }
  // The same on all links together of a chip to or from the switches of its
  // island, whichever way is slower.
  double PortWeight(int chip) const;

  const Graph& graph() const { return graph_; }

 private:
  FabricRoutes(Graph graph, MachineRouting routing,
               const std::array<BytesPerSecond, kTiers>& rates);
  void FindLines(bool planes_alike);
  // Links of a chip to or from switches of its island; none unless they are
  // equally fast.
  std::vector<LinkId> Planes(VertexId chip, Direction direction) const;

  const Graph graph_;
  Router router_;
  std::array<BytesPerSecond, kTiers> rates_;
  std::vector<size_t> line_of_;     // by link
  std::vector<double> capacities_;  // by line
};

}  // namespace orrery
