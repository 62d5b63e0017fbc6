#include "sim/network/resource_places.h"

#include <map>

#include "base/format.h"

namespace orrery {

ResourcePlaces::ResourcePlaces(const Graph& graph, const LinkTiers& tiers)
    : graph_(graph), tiers_(tiers), number_(graph.vertex_count(), -1) {
  std::map<int32_t, int32_t> next;  // by tier
  for (const VertexId id : graph.vertices()) {
    if (graph.kind(id) != VertexKind::kSwitch) continue;
    number_[id] = next[tiers.tier(id)]++;
  }
}

std::optional<int32_t> ResourcePlaces::ChipOf(VertexId id) const {
  switch (graph_.kind(id)) {
    case VertexKind::kChip:
      return static_cast<int32_t>(Index(id));
    case VertexKind::kNic:
      for (const LinkId link : graph_.leaving(id)) {
        const VertexId to = graph_.link(link).to;
        if (graph_.kind(to) == VertexKind::kChip) {
          return static_cast<int32_t>(Index(to));
        }
      }
      return std::nullopt;
    case VertexKind::kSwitch:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string ResourcePlaces::Name(VertexId id) const {
  if (graph_.kind(id) != VertexKind::kSwitch) return VertexName(graph_, id);
  const int32_t tier = tiers_.tier(id);
  return tier > 0 ? fmt::format("tier {} switch {}", tier, number_[id])
                  : fmt::format("switch {}", number_[id]);
}

ResourcePlace ResourcePlaces::of(LinkId id) const {
  const Link& link = graph_.link(id);
  const std::string& kind = graph_.link_classes()[link.link_class].name;
  ResourcePlace place;
  place.scale_up = tiers_.Name(tiers_.of(id)).rfind("scale-up", 0) == 0;
  const std::optional<int32_t> from = ChipOf(link.from), to = ChipOf(link.to);
  if (from && to && *from != *to) {
    place.chip = from;  // between two chips: the sender's
    place.name = fmt::format("{} to chip {}", kind, *to);
  } else if (from || to) {
    // A chip and its NIC are of one chip; then the chip's end decides.
    const bool out = from && to ? graph_.kind(link.from) == VertexKind::kChip
                                : from.has_value();
    place.chip = from ? from : to;
    place.name = fmt::format("{} {}", kind, out ? "out" : "in");
  } else {
    place.name =
        fmt::format("{} {} to {}", kind, Name(link.from), Name(link.to));
  }
  return place;
}

}  // namespace orrery
