#include "cost/ownership/network_parts.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "topology/graph/generate_fat_tree.h"

namespace orrery {
namespace {

bool IsSwitch(const Graph& graph, VertexId id) {
  return graph.kind(id) == VertexKind::kSwitch;
}

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct TreeParts {
  int64_t switches = 1;
  int64_t fabric_links = 0;
};

// Of the smallest tree for so many end points whose leaves have `down` of their
// ports for them.
TreeParts SmallestTree(int64_t ends, int64_t radix, int64_t down) {
  if (ends <= radix) return {};
  const int64_t leaves = CeilDivide(ends, down);
  const int64_t cables = CeilDivide(ends * (radix - down), down);
  if (ends <= down * radix) {
    return {leaves + CeilDivide(cables, radix), cables};
  }
  // Aggregation switches have as many ports up as down.
  return {leaves + CeilDivide(cables, radix / 2) + CeilDivide(cables, radix),
          2 * cables};
}

// How a tree is cut: so many by themselves, of switches with so many ports.
struct TreeShape {
  int64_t planes = 1;
  FatTreeShape leaf;
};
std::optional<TreeShape> ShapeOf(const System& system) {
  const auto& out = system.scale_out();
  if (!out) return std::nullopt;
  const FabricKind& kind = out->fabric.kind;
  if (const auto* tree = std::get_if<FatTreeFabric>(&kind)) {
    return TreeShape{1, {tree->tiers, tree->radix, tree->taper}};
  }
  if (const auto* tree = std::get_if<RailOptimizedFabric>(&kind)) {
    return TreeShape{1, {tree->tiers, tree->radix, tree->taper}};
  }
  if (const auto* rails = std::get_if<RailOnlyFabric>(&kind)) {
    return TreeShape{out->fabric.endpoints / system.nodes(),
                     {2, rails->radix, 1}};
  }
  return std::nullopt;
}

}  // namespace

NetworkParts BoughtParts(const System& system, NetworkParts built) {
  const std::optional<TreeShape> shape = ShapeOf(system);
  if (!shape || shape->planes < 1) return built;
  const absl::StatusOr<int32_t> down = LeafDownPorts(shape->leaf);
  if (!down.ok()) return built;
  for (NetworkParts::OfClass& of : built.classes) {
    if (of.inside || of.switches == 0) continue;
    const TreeParts needed = SmallestTree(
        CeilDivide(of.host_links, shape->planes), shape->leaf.radix, *down);
    of.switches = std::min(of.switches, shape->planes * needed.switches);
    of.fabric_links =
        std::min(of.fabric_links, shape->planes * needed.fabric_links);
  }
  return built;
}

NetworkParts CountParts(const Graph& graph) {
  NetworkParts parts;
  parts.classes.resize(graph.link_classes().size());
  for (const LinkClassId id : graph.link_classes().ids()) {
    parts.classes[Index(id)].name = graph.link_classes()[id].name;
    parts.classes[Index(id)].price_id = graph.link_classes()[id].price_id;
  }
  // Both directions are counted, and halved at the end.
  for (const LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    NetworkParts::OfClass& of = parts.classes[Index(link.link_class)];
    const int switches = IsSwitch(graph, link.from) + IsSwitch(graph, link.to);
    const bool to_nic = graph.kind(link.from) == VertexKind::kNic ||
                        graph.kind(link.to) == VertexKind::kNic;
    if (switches == 0 && to_nic) continue;
    (switches == 2   ? of.fabric_links
     : switches == 1 ? of.host_links
                     : of.direct_links) += link.cables;
    if (graph.island(link.from).has_value() &&
        graph.island(link.from) == graph.island(link.to)) {
      of.inside = true;
    }
  }
  for (const VertexId id : graph.vertices()) {
    if (graph.kind(id) == VertexKind::kNic) ++parts.nics;
    if (!IsSwitch(graph, id) || graph.leaving(id).empty()) continue;
    int64_t ports = 0;
    for (const LinkId link : graph.leaving(id))
      ports += graph.link(link).cables;
    NetworkParts::OfClass& of =
        parts.classes[Index(graph.link(graph.leaving(id).front()).link_class)];
    ++of.switches;
    of.most_ports = std::max(of.most_ports, ports);
  }
  for (NetworkParts::OfClass& of : parts.classes) {
    of.host_links /= 2;
    of.fabric_links /= 2;
    of.direct_links /= 2;
  }
  // Islands of one class each leave a class per island behind: one is enough.
  std::vector<NetworkParts::OfClass> merged;
  for (NetworkParts::OfClass& of : parts.classes) {
    if (of.host_links + of.fabric_links + of.direct_links == 0) continue;
    const auto same = std::find_if(
        merged.begin(), merged.end(), [&](const NetworkParts::OfClass& other) {
          return other.name == of.name && other.price_id == of.price_id &&
                 other.inside == of.inside;
        });
    if (same == merged.end()) {
      merged.push_back(std::move(of));
      continue;
    }
    same->host_links += of.host_links;
    same->fabric_links += of.fabric_links;
    same->direct_links += of.direct_links;
    same->switches += of.switches;
    same->most_ports = std::max(same->most_ports, of.most_ports);
  }
  parts.classes = std::move(merged);
  return parts;
}

}  // namespace orrery
