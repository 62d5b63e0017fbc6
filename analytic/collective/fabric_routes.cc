#include "analytic/collective/fabric_routes.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/overload.h"
#include "base/status.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

bool Sprays(const Fabric& fabric) { return fabric.routing == Routing::kSpray; }

// Whether there is nothing to choose.
bool TakesTheDirectLink(const Fabric& fabric) {
  return fabric.routing != Routing::kValiant &&
         fabric.routing != Routing::kAdaptive;
}

bool HasFormula(const ScaleUp& up) {
  const auto grid = [&] {
    return up.fabric.routing == Routing::kDimensionOrdered;
  };
  return std::visit(
      Overload{[&](const SwitchFabric&) { return Sprays(up.fabric); },
               [&](const FullyConnectedFabric&) {
                 return TakesTheDirectLink(up.fabric);
               },
               [&](const RingFabric&) { return grid(); },
               [&](const MeshFabric&) { return grid(); },
               [&](const TorusFabric& f) { return grid() && !f.twisted; },
               [](const auto&) { return false; }},
      up.fabric.kind);
}

// Whether chips pass on what is not for them: then some ways to another island
// lead by a neighbour's NIC.
bool Forwards(const ScaleUp& up) {
  return !std::holds_alternative<SwitchFabric>(up.fabric.kind) &&
         !std::holds_alternative<FullyConnectedFabric>(up.fabric.kind);
}

bool HasFormula(const ScaleOut& out) {
  return Sprays(out.fabric) &&
         (std::holds_alternative<SwitchFabric>(out.fabric.kind) ||
          std::holds_alternative<FatTreeFabric>(out.fabric.kind) ||
          std::holds_alternative<RailOptimizedFabric>(out.fabric.kind));
}

// A fabric that spans the nodes joins chips that are on no island.
MachineRouting RoutingOf(const System& system) {
  MachineRouting routing = {Routing::kSpray, Routing::kSpray};
  if (const auto& up = system.scale_up()) {
    routing = {up->fabric.routing, up->fabric.routing};
  }
  if (const auto& out = system.scale_out()) {
    routing.fabric = out->fabric.routing;
  }
  return routing;
}

// Whether traffic inside islands takes all planes of their switches evenly.
bool TakesAllPlanes(Routing routing) {
  return routing == Routing::kSpray || routing == Routing::kValiant ||
         routing == Routing::kAdaptive;
}

}  // namespace

FabricRoutes::FabricRoutes(Graph graph, MachineRouting routing,
                           const std::array<BytesPerSecond, kTiers>& rates)
    : graph_(std::move(graph)), router_(graph_, routing), rates_(rates) {
  FindLines(TakesAllPlanes(routing.island));
}

std::vector<LinkId> FabricRoutes::Planes(VertexId chip,
                                         Direction direction) const {
  constexpr double kRounding = 1e-9;
  std::vector<LinkId> planes;
  for (const LinkId id : graph_.links_at(chip, direction)) {
    const VertexId end = graph_.far_end(id, direction);
    if (graph_.kind(end) != VertexKind::kSwitch ||
        graph_.island(end) != graph_.island(chip)) {
      continue;
    }
    planes.push_back(id);
    const double bandwidth = graph_.link(id).bandwidth.value();
    const double first = graph_.link(planes[0]).bandwidth.value();
    if (std::abs(bandwidth - first) > kRounding * first) return {};
  }
  return planes;
}

void FabricRoutes::FindLines(bool planes_alike) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  line_of_.assign(graph_.link_count(), kNone);
  for (const VertexId v : graph_.vertices()) {
    if (!planes_alike || graph_.kind(v) != VertexKind::kChip) continue;
    for (const Direction direction :
         {Direction::kLeaving, Direction::kEntering}) {
      const std::vector<LinkId> planes = Planes(v, direction);
      if (planes.size() < 2) continue;
      double bandwidth = 0;
      for (const LinkId id : planes) {
        bandwidth += graph_.link(id).bandwidth.value();
        line_of_[Index(id)] = capacities_.size();
      }
      capacities_.push_back(bandwidth);
    }
  }
  for (const LinkId id : graph_.links()) {
    if (line_of_[Index(id)] != kNone) continue;
    line_of_[Index(id)] = capacities_.size();
    capacities_.push_back(graph_.link(id).bandwidth.value());
  }
}

bool FabricRoutes::Needed(const System& system) {
  const auto& up = system.scale_up();
  const auto& out = system.scale_out();
  const bool joined = out && system.nodes() > 1;
  return !system.faults().empty() || (up && !HasFormula(*up)) ||
         (joined && !HasFormula(*out)) || (joined && up && Forwards(*up));
}

absl::StatusOr<std::unique_ptr<FabricRoutes>> FabricRoutes::Make(
    const System& system, const std::array<BytesPerSecond, kTiers>& rates) {
  ASSIGN_OR_RETURN(Graph graph, BuildGraph(system));
  std::unique_ptr<FabricRoutes> routes(
      new FabricRoutes(std::move(graph), RoutingOf(system), rates));
  // Where chips are cut off, so are some at the end of a cut link.
  for (const LinkFault& fault : system.faults()) {
    if (fault.remaining > 0) continue;
    for (const int chip : {fault.chip, fault.peer.value_or(fault.chip)}) {
      if (chip >= system.chips() || system.chips() < 2) continue;
      const auto here = static_cast<VertexId>(chip == 0 ? 1 : 0);
      const auto there = static_cast<VertexId>(chip);
      RETURN_IF_ERROR(routes->router_.Find(there, here).status());
      RETURN_IF_ERROR(routes->router_.Find(here, there).status());
    }
  }
  return routes;
}

RouteSet FabricRoutes::Find(absl::Span<const Demand> demands) {
  absl::StatusOr<RouteSet> found = router_.FindSet(demands);
  CHECK(found.ok()) << found.status().ToString();
  return *std::move(found);
}

double FabricRoutes::PortWeight(int chip) const {
  const auto vertex = static_cast<VertexId>(chip);
  double most = 0;
  for (const Direction direction :
       {Direction::kLeaving, Direction::kEntering}) {
    double bandwidth = 0;
    for (const LinkId id : graph_.links_at(vertex, direction)) {
      const VertexId end = graph_.far_end(id, direction);
      if (graph_.kind(end) != VertexKind::kSwitch) continue;
      bandwidth += graph_.link(id).bandwidth.value();
    }
    most = std::max(most, rates_[0].value() / bandwidth);
  }
  return most;
}

}  // namespace orrery
