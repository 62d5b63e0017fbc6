#include "topology/graph/link_tiers.h"

#include <utility>
#include <vector>

#include "base/format.h"

namespace orrery {

LinkTiers::LinkTiers(const Graph& graph)
    : graph_(graph), tiers_(graph.vertex_count(), 0) {
  std::vector<VertexId> last;
  for (const VertexId v : graph.vertices()) {
    if (graph.kind(v) == VertexKind::kNic) last.push_back(v);
  }
  for (int32_t tier = 1; !last.empty(); ++tier) {
    std::vector<VertexId> next;
    for (const VertexId v : last) {
      for (const LinkId link : graph.leaving(v)) {
        const VertexId to = graph.link(link).to;
        if (graph.kind(to) != VertexKind::kSwitch || tiers_[to] > 0) continue;
        tiers_[to] = tier;
        next.push_back(to);
      }
    }
    last = std::move(next);
  }
}

LinkTier LinkTiers::of(LinkId id) const {
  const Link& link = graph_.link(id);
  LinkTier::End low = {graph_.kind(link.from), tiers_[link.from]};
  LinkTier::End high = {graph_.kind(link.to), tiers_[link.to]};
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
