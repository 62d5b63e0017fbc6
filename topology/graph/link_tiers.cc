#include "topology/graph/link_tiers.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace orrery {

LinkTiers::LinkTiers(const Graph& graph)
    : graph_(graph), hops_(HopsFrom(graph, VertexKind::kNic, [&](VertexId v) {
        return graph.kind(v) == VertexKind::kSwitch;
      })) {}

LinkTier LinkTiers::of(LinkId id) const {
  const Link& link = graph_.link(id);
  const auto end = [&](VertexId v) {
    return LinkTier::End{graph_.kind(v), std::max(0, hops_[v])};
  };
  LinkTier::End low = end(link.from);
  LinkTier::End high = end(link.to);
  if (high < low) std::swap(low, high);
  return {link.link_class, low, high};
}

std::string LinkTiers::Name(const LinkTier& tier) const {
  const auto is_scale_out = [](const LinkTier::End& end) {
    return end.kind == VertexKind::kNic || end.tier > 0;
  };
  const auto end_name = [](const LinkTier::End& end) -> std::string {
    switch (end.kind) {
      case VertexKind::kChip:
        return "chip";
      case VertexKind::kNic:
        return "NIC";
      case VertexKind::kSwitch:
        return end.tier > 0 ? fmt::format("tier {}", end.tier) : "switch";
    }
    return "";
  };
  return fmt::format("{}: {}, {} to {}",
                     is_scale_out(tier.low) || is_scale_out(tier.high)
                         ? "scale-out"
                         : "scale-up",
                     graph_.link_classes()[tier.name].name, end_name(tier.low),
                     end_name(tier.high));
}

}  // namespace orrery
