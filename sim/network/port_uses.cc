#include "sim/network/port_uses.h"

#include <absl/container/flat_hash_map.h>

#include <utility>

#include "sim/sharing/keyed_sum.h"

namespace orrery {

std::vector<PortUse> PortsOf(const Graph& graph,
                             const NetworkResources& resources,
                             absl::Span<const LinkShare> links) {
  absl::flat_hash_map<VertexId, std::vector<LinkShare>> arriving;
  for (const LinkShare& l : links) {
    arriving[graph.link(l.link).to].push_back(l);
  }
  std::vector<PortUse> uses;
  for (const LinkShare& l : links) {
    const auto before = arriving.find(graph.link(l.link).from);
    if (before == arriving.end()) {
      uses.push_back({resources.of(l.link), kStartsHere, l.share});
      continue;
    }
    double incoming = 0;
    for (const LinkShare& in : before->second) incoming += in.share;
    for (const LinkShare& in : before->second) {
      uses.push_back({resources.of(l.link), resources.of(in.link),
                      l.share * in.share / incoming});
    }
  }
  return Canonical(std::move(uses));
}

}  // namespace orrery
