#include "sim/network/network_resources.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/match.h>

#include <cmath>
#include <optional>
#include <vector>

#include "base/format.h"
#include "topology/routing/alike_links.h"

namespace orrery {
namespace {

constexpr ResourceId kNone = static_cast<ResourceId>(-1);

bool IsPlane(const Graph& graph, const Link& link) {
  const VertexKind from = graph.kind(link.from);
  const VertexKind to = graph.kind(link.to);
  return graph.island(link.from) == graph.island(link.to) &&
         ((from == VertexKind::kChip && to == VertexKind::kSwitch) ||
          (from == VertexKind::kSwitch && to == VertexKind::kChip));
}

// The links of one end of a chip that lead to switches of its own island.
std::vector<LinkId> Planes(const Graph& graph, VertexId chip,
                           Direction direction) {
  std::vector<LinkId> planes;
  for (LinkId id : graph.links_at(chip, direction)) {
    if (IsPlane(graph, graph.link(id))) planes.push_back(id);
  }
  return planes;
}

// The islands in which no plane is cut or slower than another: a chip that lost
// a plane makes the others' use of it uneven. Chips without an island are as
// one.
class WholeIslands {
 public:
  explicit WholeIslands(const Graph& graph) : graph_(graph) {
    for (LinkId id : graph.links()) {
      const Link& link = graph.link(id);
      if (!IsPlane(graph, link)) continue;
      Island& island = islands_[graph.island(link.from)];
      const double bandwidth = link.bandwidth.value();
      if (!island.bandwidth) island.bandwidth = bandwidth;
      if (bandwidth <= 0 || std::abs(bandwidth - *island.bandwidth) >
                                kRounding * *island.bandwidth) {
        island.whole = false;
      }
    }
  }
  bool Has(VertexId chip) const {
    const auto found = islands_.find(graph_.island(chip));
    return found != islands_.end() && found->second.whole;
  }

 private:
  // Planes of 5 and 4 cables have the same bandwidth up to rounding.
  static constexpr double kRounding = 1e-9;
  struct Island {
    std::optional<double> bandwidth;
    bool whole = true;
  };
  const Graph& graph_;
  absl::flat_hash_map<std::optional<int32_t>, Island> islands_;
};

}  // namespace

NetworkResources::NetworkResources(const Graph& graph, const Options& options)
    : of_link_(graph.link_count(), kNone) {
  if (options.bundle_planes) {
    const WholeIslands whole(graph);
    for (VertexId v : graph.vertices()) {
      if (graph.kind(v) != VertexKind::kChip || !whole.Has(v)) continue;
      for (const Direction direction :
           {Direction::kLeaving, Direction::kEntering}) {
        const std::vector<LinkId> planes = Planes(graph, v, direction);
        if (planes.size() < 2) continue;
        double bandwidth = 0;
        for (LinkId id : planes) bandwidth += graph.link(id).bandwidth.value();
        const ResourceId resource = capacities_.Add(bandwidth);
        from_chip_.Add(direction == Direction::kLeaving);
        for (LinkId id : planes) of_link_[id] = resource;
      }
    }
  }
  for (LinkId id : graph.links()) {
    if (of_link_[id] != kNone) continue;
    // A cut link is on no route; its capacity only has to be positive.
    const double bandwidth = graph.link(id).bandwidth.value();
    of_link_[id] = capacities_.Add(bandwidth > 0 ? bandwidth : 1.0);
    from_chip_.Add(graph.kind(graph.link(id).from) == VertexKind::kChip);
  }
  for (const ResourceId id : capacities_.ids()) first_alike_.Add(id);
  if (!options.sprayed) return;
  const IdVector<LinkId, LinkId> alike = FirstAlikeLinks(graph);
  for (const LinkId id : graph.links()) {
    if (alike[id] != id) first_alike_[of_link_[id]] = of_link_[alike[id]];
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
