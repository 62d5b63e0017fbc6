#include "cost/ownership/network_parts.h"

#include <algorithm>

namespace orrery {
namespace {

bool IsSwitch(const Graph& graph, VertexId id) {
  return graph.kind(id) == VertexKind::kSwitch;
}

}  // namespace

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
