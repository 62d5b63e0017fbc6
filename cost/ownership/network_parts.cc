#include "cost/ownership/network_parts.h"

#include <algorithm>
#include <optional>
#include <tuple>
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

// Cables of one class between two vertices. One that serves both directions
// counts once, and so does one that serves a single direction.
struct Cables {
  VertexId a;
  VertexId b;
  LinkClassId link_class;
  int64_t count = 0;
};
std::vector<Cables> CablesOf(const Graph& graph) {
  // Low end, high end, class, whether it leads from low to high, cables.
  std::vector<std::tuple<VertexId, VertexId, LinkClassId, bool, int64_t>> all;
  all.reserve(graph.link_count());
  for (const LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    const bool rises = link.from < link.to;
    all.emplace_back(rises ? link.from : link.to, rises ? link.to : link.from,
                     link.link_class, rises, link.cables);
  }
  std::sort(all.begin(), all.end());
  std::vector<Cables> pairs;
  int64_t by_direction[2] = {0, 0};
  for (const auto& [a, b, link_class, rises, count] : all) {
    if (pairs.empty() || pairs.back().a != a || pairs.back().b != b ||
        pairs.back().link_class != link_class) {
      pairs.push_back({a, b, link_class});
      by_direction[0] = by_direction[1] = 0;
    }
    by_direction[rises] += count;
    pairs.back().count = std::max(by_direction[0], by_direction[1]);
  }
  return pairs;
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
    // A fabric of chips that spans nodes is no part of the tree of NICs.
    if (of.nic_ports == 0 || of.switches == 0) continue;
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
  IdVector<VertexId, int64_t> ports(graph.vertex_count(), 0);
  for (const auto& [a, b, link_class, between] : CablesOf(graph)) {
    const auto count = [&](VertexKind kind) {
      return (graph.kind(a) == kind) + (graph.kind(b) == kind);
    };
    const int nics = count(VertexKind::kNic);
    if (nics == 1 && count(VertexKind::kChip) == 1) continue;
    NetworkParts::OfClass& of = parts.classes[Index(link_class)];
    const int switches = count(VertexKind::kSwitch);
    (switches == 2   ? of.fabric_links
     : switches == 1 ? of.host_links
                     : of.direct_links) += between;
    of.nic_ports += nics * between;
    if (graph.island(a).has_value() && graph.island(a) == graph.island(b)) {
      of.inside = true;
    }
    for (const VertexId end : {a, b}) {
      // A switch belongs to the class of its first cable.
      if (IsSwitch(graph, end) && ports[end] == 0) ++of.switches;
      ports[end] += between;
      if (IsSwitch(graph, end)) {
        of.most_ports = std::max(of.most_ports, ports[end]);
      }
    }
  }
  for (const VertexId id : graph.vertices()) {
    if (graph.kind(id) != VertexKind::kNic) continue;
    ++parts.nics;
    parts.more_nic_ports += std::max<int64_t>(0, ports[id] - 1);
  }
  // Islands of one class each leave a class per island behind: one is enough.
  std::vector<NetworkParts::OfClass> merged;
  for (NetworkParts::OfClass& of : parts.classes) {
    if (of.host_links + of.fabric_links + of.direct_links == 0) continue;
    const auto same = std::find_if(
        merged.begin(), merged.end(), [&](const NetworkParts::OfClass& other) {
          return other.name == of.name && other.price_id == of.price_id &&
                 other.inside == of.inside &&
                 (other.nic_ports > 0) == (of.nic_ports > 0);
        });
    if (same == merged.end()) {
      merged.push_back(std::move(of));
      continue;
    }
    same->host_links += of.host_links;
    same->fabric_links += of.fabric_links;
    same->direct_links += of.direct_links;
    same->nic_ports += of.nic_ports;
    same->switches += of.switches;
    same->most_ports = std::max(same->most_ports, of.most_ports);
  }
  parts.classes = std::move(merged);
  return parts;
}

}  // namespace orrery
