#include "topology/graph/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/overload.h"
#include "base/status.h"
#include "topology/graph/generate_dragonfly.h"
#include "topology/graph/generate_fat_tree.h"
#include "topology/graph/generate_grid.h"
#include "topology/graph/generate_switch.h"

namespace orrery {
namespace {

// A switched island whose chips cannot fill all their links gets slower links;
// a direct network keeps its links, any one of which a chip can fill.
Fabric LimitedToChip(const ScaleUp& scale_up) {
  Fabric fabric = scale_up.fabric;
  if (!std::holds_alternative<SwitchFabric>(fabric.kind)) return fabric;
  const double share =
      scale_up.chip_bandwidth / EndpointBandwidth(scale_up.fabric);
  if (share < 1) fabric.link.bandwidth = fabric.link.bandwidth * share;
  return fabric;
}

absl::Status AddIslands(GraphBuilder& builder, const System& system,
                        absl::Span<const VertexId> chips) {
  const ScaleUp& scale_up = *system.scale_up();
  const Fabric fabric = LimitedToChip(scale_up);
  if (scale_up.spans_nodes) {
    return AddFabric(builder, chips, fabric, system.chips_per_node());
  }
  const size_t size = static_cast<size_t>(system.chips_per_node());
  for (int32_t node = 0; node < system.nodes(); ++node) {
    const absl::Span<const VertexId> members =
        chips.subspan(static_cast<size_t>(node) * size, size);
    const size_t first_switch = builder.vertex_count();
    RETURN_IF_ERROR(AddFabric(builder, members, fabric, 1));
    for (VertexId chip : members) builder.SetIsland(chip, node);
    for (size_t v = first_switch; v < builder.vertex_count(); ++v) {
      builder.SetIsland(static_cast<VertexId>(v), node);
    }
  }
  return absl::OkStatus();
}

absl::Status AddScaleOut(GraphBuilder& builder, const System& system,
                         absl::Span<const VertexId> chips) {
  const ScaleOut& scale_out = *system.scale_out();
  const std::vector<VertexId> nics = builder.AddVertices(
      VertexKind::kNic, scale_out.nics_per_node * system.nodes());
  const LinkSpec port = {
      .bandwidth = scale_out.nic_bandwidth,
      .latency = scale_out.nic_latency / 2,
      .link_class = builder.AddLinkClass({.name = "NIC", .price_id = ""})};
  const int32_t per_chip =
      std::max(1, scale_out.nics_per_node / system.chips_per_node());
  for (size_t c = 0; c < chips.size(); ++c) {
    const size_t node = c / static_cast<size_t>(system.chips_per_node());
    const size_t place = c % static_cast<size_t>(system.chips_per_node());
    const size_t nics_per_node = static_cast<size_t>(scale_out.nics_per_node);
    for (int32_t i = 0; i < per_chip; ++i) {
      const size_t nic = (place * nics_per_node /
                              static_cast<size_t>(system.chips_per_node()) +
                          static_cast<size_t>(i)) %
                         nics_per_node;
      builder.AddDuplex(chips[c], nics[node * nics_per_node + nic], port);
    }
  }
  if (std::holds_alternative<RailOnlyFabric>(scale_out.fabric.kind)) {
    for (VertexId chip : chips) builder.SetForwards(chip);
  }
  RETURN_IF_ERROR(
      AddFabric(builder, nics, scale_out.fabric, scale_out.nics_per_node));
  if (std::holds_alternative<DragonflyFabric>(scale_out.fabric.kind)) {
    const size_t chips_per_node = static_cast<size_t>(system.chips_per_node());
    for (size_t c = 0; c < chips.size(); ++c) {
      const size_t first_nic =
          c / chips_per_node * static_cast<size_t>(scale_out.nics_per_node);
      builder.SetGroup(chips[c], builder.group(nics[first_nic]));
    }
  }
  return absl::OkStatus();
}

// What is left of the links between NICs and switches where chips share a NIC
// that is slower than its links: together they send no more than it.
double LeftOfNicLinks(const System& system) {
  const auto& out = system.scale_out();
  if (!out || out->nics_per_node >= system.chips_per_node()) return 1;
  return std::min(1.0, out->nic_bandwidth / EndpointBandwidth(out->fabric));
}

bool JoinsNicAndSwitch(const Graph& graph, const Link& link) {
  const VertexKind from = graph.kind(link.from);
  const VertexKind to = graph.kind(link.to);
  return (from == VertexKind::kNic && to == VertexKind::kSwitch) ||
         (from == VertexKind::kSwitch && to == VertexKind::kNic);
}

absl::StatusOr<Graph> Limited(Graph graph, const System& system) {
  const double of_nics = LeftOfNicLinks(system);
  if (system.faults().empty() && of_nics == 1) return graph;
  std::vector<double> remaining(graph.link_count(), 1);
  if (of_nics < 1) {
    for (const LinkId id : graph.links()) {
      if (JoinsNicAndSwitch(graph, graph.link(id))) {
        remaining[Index(id)] = of_nics;
      }
    }
  }
  for (const LinkFault& fault : system.faults()) {
    bool found = false;
    const VertexId chip = static_cast<VertexId>(fault.chip);
    const auto apply = [&](LinkId id, VertexId peer) {
      if (fault.peer && static_cast<int>(peer) != *fault.peer) return;
      remaining[Index(id)] *= fault.remaining;
      found = true;
    };
    for (LinkId id : graph.leaving(chip)) apply(id, graph.link(id).to);
    for (LinkId id : graph.entering(chip)) apply(id, graph.link(id).from);
    if (!found) {
      return absl::InvalidArgumentError(fmt::format(
          "system.fault: {} has no link{}; 'orrery topology SYSTEM' "
          "lists the vertices",
          VertexName(graph, chip),
          fault.peer ? fmt::format(" to vertex {}", *fault.peer)
                     : std::string()));
    }
  }
  return WithFaults(graph, remaining);
}

// The vertices that `from` sends to, or that send to it, over vertices that
// forward; itself included.
IdVector<VertexId, uint8_t> Reached(const Graph& graph, VertexId from,
                                    Direction direction) {
  IdVector<VertexId, uint8_t> reached(graph.vertex_count(), 0);
  reached[from] = 1;
  std::vector<VertexId> order = {from};
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && !graph.forwards(order[i])) continue;
    for (const LinkId id : graph.links_at(order[i], direction)) {
      const VertexId next = graph.far_end(id, direction);
      if (std::exchange(reached[next], 1) == 0) order.push_back(next);
    }
  }
  return reached;
}

// The first chip that does not reach `hub`, or that `hub` does not reach.
std::optional<VertexId> ApartFrom(const Graph& graph, VertexId hub,
                                  absl::Span<const VertexId> chips) {
  const auto to = Reached(graph, hub, Direction::kLeaving);
  const auto from = Reached(graph, hub, Direction::kEntering);
  for (const VertexId chip : chips) {
    if (to[chip] == 0 || from[chip] == 0) return chip;
  }
  return std::nullopt;
}

// Two chips of which one has no path to the other. One vertex that forwards and
// that all chips reach and are reached from proves that there are none; only
// without such a vertex beside chip 0 is each chip searched from. Cost:
// O(links), or O(chips x links).
std::optional<std::pair<VertexId, VertexId>> ApartChips(
    const Graph& graph, absl::Span<const VertexId> chips) {
  std::vector<VertexId> hubs = {chips[0]};
  for (const LinkId id : graph.leaving(chips[0])) {
    hubs.push_back(graph.link(id).to);
  }
  for (const VertexId hub : hubs) {
    if (graph.forwards(hub) && !ApartFrom(graph, hub, chips)) return {};
  }
  for (const VertexId chip : chips) {
    if (const auto other = ApartFrom(graph, chip, chips)) {
      return std::pair(chip, *other);
    }
  }
  return std::nullopt;
}

bool IsLinkList(const Fabric& fabric) {
  return std::holds_alternative<LinkListFabric>(fabric.kind);
}

// Only a list of links can leave chips apart; every generator joins them.
absl::Status CheckJoined(const Graph& graph, const System& system,
                         absl::Span<const VertexId> chips) {
  const bool up = system.scale_up() && IsLinkList(system.scale_up()->fabric);
  const bool out = system.scale_out() && IsLinkList(system.scale_out()->fabric);
  if (!up && !out) return absl::OkStatus();
  const auto apart = ApartChips(graph, chips);
  if (!apart) return absl::OkStatus();
  const auto node = [&](VertexId chip) {
    return static_cast<int>(Index(chip)) / system.chips_per_node();
  };
  const bool inside = !out || (up && node(apart->first) == node(apart->second));
  return absl::InvalidArgumentError(fmt::format(
      "system.{}.fabric.links: they do not join {} and {} in both directions; "
      "add links until every chip has a path to every other",
      inside ? "scale_up" : "scale_out", VertexName(graph, apart->first),
      VertexName(graph, apart->second)));
}

}  // namespace

absl::Status AddFabric(GraphBuilder& builder, absl::Span<const VertexId> points,
                       const Fabric& fabric, int32_t rails) {
  const LinkSpec link = {.bandwidth = fabric.link.bandwidth,
                         .latency = fabric.link.latency,
                         .link_class = builder.AddLinkClass(
                             {fabric.link.name, fabric.link.price_id})};
  return std::visit(
      Overload{[&](const FullyConnectedFabric&) {
                 return AddFullyConnected(builder, points, link);
               },
               [&](const SwitchFabric& f) {
                 return AddSwitch(builder, points, f.planes,
                                  f.links_per_endpoint, link);
               },
               [&](const RingFabric&) {
                 return AddTorus(builder, points,
                                 {static_cast<int32_t>(points.size())}, link);
               },
               [&](const MeshFabric& f) {
                 return AddMesh(builder, points, f.shape, link);
               },
               [&](const TorusFabric& f) {
                 return AddTorus(builder, points, f.shape, link, f.twisted,
                                 f.open);
               },
               [&](const FatTreeFabric& f) {
                 return AddFatTree(builder, points, {f.tiers, f.radix, f.taper},
                                   link);
               },
               [&](const RailOptimizedFabric& f) {
                 return AddRailOptimized(builder, points, rails,
                                         {f.tiers, f.radix, f.taper}, link);
               },
               [&](const RailOnlyFabric& f) {
                 return AddRailOnly(builder, points, rails, f.radix, link);
               },
               [&](const DragonflyFabric& f) {
                 return AddDragonfly(builder, points,
                                     {f.hosts_per_router, f.routers_per_group,
                                      f.globals_per_router, f.groups},
                                     link);
               },
               [&](const HyperXFabric& f) {
                 return AddHyperX(builder, points,
                                  {f.shape, f.links, f.hosts_per_router}, link);
               },
               [&](const LinkListFabric& f) {
                 std::vector<ListedLink> links;
                 for (const LinkListFabric::Link& l : f.links) {
                   links.push_back({l.from,
                                    l.to,
                                    l.one_way,
                                    {.bandwidth = l.bandwidth,
                                     .latency = l.latency,
                                     .link_class = link.link_class}});
                 }
                 return AddLinkList(builder, points, f.switches, links);
               }},
      fabric.kind);
}

absl::StatusOr<Graph> BuildFabric(const Fabric& fabric, int32_t rails) {
  GraphBuilder builder;
  const std::vector<VertexId> points = builder.AddVertices(
      VertexKind::kChip, static_cast<int32_t>(fabric.endpoints));
  RETURN_IF_ERROR(AddFabric(builder, points, fabric, rails));
  return std::move(builder).Build();
}

absl::StatusOr<Graph> BuildGraph(const System& system) {
  GraphBuilder builder;
  const std::vector<VertexId> chips =
      builder.AddVertices(VertexKind::kChip, system.chips());
  if (system.scale_up()) {
    RETURN_IF_ERROR(
        Annotate(AddIslands(builder, system, chips), "system.scale_up.fabric"));
  } else if (system.scale_out()) {
    // Nodes of one chip: what leaves the chip leaves its island.
    for (size_t c = 0; c < chips.size(); ++c) {
      builder.SetIsland(chips[c], static_cast<int32_t>(c));
    }
  }
  if (system.scale_out()) {
    RETURN_IF_ERROR(Annotate(AddScaleOut(builder, system, chips),
                             "system.scale_out.fabric"));
  }
  Graph graph = std::move(builder).Build();
  RETURN_IF_ERROR(CheckJoined(graph, system, chips));
  return Limited(std::move(graph), system);
}

}  // namespace orrery
