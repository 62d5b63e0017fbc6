#include "sim/network/network_resources.h"

#include <absl/strings/match.h>

#include <algorithm>

#include "base/format.h"

namespace orrery {
namespace {

constexpr ResourceId kNone = static_cast<ResourceId>(-1);

// The links of one end of a chip that lead to switches of its own island, if
// there are several and all are equal.
std::vector<LinkId> Planes(const Graph& graph, VertexId chip,
                           Direction direction) {
  std::vector<LinkId> planes;
  for (LinkId id : graph.links_at(chip, direction)) {
    const VertexId other = graph.far_end(id, direction);
    if (graph.kind(other) != VertexKind::kSwitch ||
        graph.island(other) != graph.island(chip)) {
      continue;
    }
    if (!planes.empty() &&
        graph.link(id).bandwidth != graph.link(planes[0]).bandwidth) {
      return {};
    }
    planes.push_back(id);
  }
  return planes;
}

// Whether every chip of the machine reaches as many planes: one that lost a
// plane makes the others' use of it uneven.
bool AllPlanesWhole(const Graph& graph) {
  for (LinkId id : graph.links()) {
    if (graph.link(id).bandwidth.value() <= 0) return false;
  }
  return true;
}

}  // namespace

NetworkResources::NetworkResources(const Graph& graph, bool bundle_planes)
    : of_link_(graph.link_count(), kNone) {
  if (bundle_planes && AllPlanesWhole(graph)) {
    for (VertexId v : graph.vertices()) {
      if (graph.kind(v) != VertexKind::kChip) continue;
      for (const Direction direction :
           {Direction::kLeaving, Direction::kEntering}) {
        const std::vector<LinkId> planes = Planes(graph, v, direction);
        if (planes.size() < 2) continue;
        double bandwidth = 0;
        for (LinkId id : planes) bandwidth += graph.link(id).bandwidth.value();
        const ResourceId resource = capacities_.Add(bandwidth);
        for (LinkId id : planes) of_link_[id] = resource;
      }
    }
  }
  for (LinkId id : graph.links()) {
    if (of_link_[id] != kNone) continue;
    // A cut link is on no route; its capacity only has to be positive.
    of_link_[id] =
        capacities_.Add(std::max(1.0, graph.link(id).bandwidth.value()));
  }
}

std::string LinkName(const Graph& graph, LinkId id) {
  const Link& link = graph.link(id);
  const std::string ends = fmt::format("{} to {}", VertexName(graph, link.from),
                                       VertexName(graph, link.to));
  const std::string& kind = graph.link_classes()[link.link_class].name;
  if (absl::StrContains(ends, kind)) return ends;
  return fmt::format("{} {}", kind, ends);
}

IdVector<ResourceId, LinkId> FirstLinks(const Graph& graph,
                                        const NetworkResources& resources) {
  IdVector<ResourceId, LinkId> first(resources.capacities().size());
  IdVector<ResourceId, bool> seen(first.size(), false);
  for (const LinkId id : graph.links()) {
    const ResourceId resource = resources.of(id);
    if (seen[resource]) continue;
    seen[resource] = true;
    first[resource] = id;
  }
  return first;
}

IdVector<ResourceId, std::string> ResourceNames(
    const Graph& graph, const NetworkResources& resources) {
  IdVector<ResourceId, std::string> names;
  for (const LinkId link : FirstLinks(graph, resources)) {
    names.Add(LinkName(graph, link));
  }
  return names;
}

}  // namespace orrery
