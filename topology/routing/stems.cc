#include "topology/routing/stems.h"

namespace orrery {

Stems::Stems(const Graph& graph) : graph_(graph) {
  for (LinkId id : graph.links()) {
    const Link& link = graph.link(id);
    if (graph.island(link.from) == graph.island(link.to)) continue;
    for (VertexId v : {link.from, link.to}) {
      const std::optional<int32_t> island = graph.island(v);
      if (!island || !graph.forwards(v)) continue;
      const auto place = static_cast<size_t>(*island);
      if (open_islands_.size() <= place) open_islands_.resize(place + 1);
      open_islands_[place] = true;
    }
  }
}

template <bool kLeaving>
Stem Stems::Grow(VertexId point) const {
  Stem stem = {.end = point};
  const std::optional<int32_t> island = graph_.island(point);
  if (graph_.forwards(point) ||
      (island && static_cast<size_t>(*island) < open_islands_.size() &&
       open_islands_[static_cast<size_t>(*island)])) {
    return stem;
  }
  VertexId before = point;
  while (stem.count < Stem::kMostLinks) {
    LinkId only{};
    int choices = 0;
    for (LinkId id :
         kLeaving ? graph_.leaving(stem.end) : graph_.entering(stem.end)) {
      const VertexId next =
          kLeaving ? graph_.link(id).to : graph_.link(id).from;
      if (next == before && stem.count > 0) continue;
      // What stays in the island leads to nobody outside it, and nor does a
      // chip of the island that hangs on the same NIC.
      if (island && graph_.island(next) == island) continue;
      if (!graph_.forwards(next)) return stem;  // another end point: a choice
      only = id;
      ++choices;
    }
    if (choices != 1) return stem;
    before = stem.end;
    stem.links[static_cast<size_t>(stem.count++)] = only;
    stem.end = kLeaving ? graph_.link(only).to : graph_.link(only).from;
  }
  return stem;
}

template <bool kLeaving>
const Stem& Stems::Find(VertexId point) {
  std::vector<Stem>& found = found_[kLeaving ? 0 : 1];
  std::vector<char>& known = known_[kLeaving ? 0 : 1];
  if (found.empty()) {
    found.resize(graph_.vertex_count());
    known.resize(graph_.vertex_count(), false);
  }
  const size_t place = Index(point);
  if (!known[place]) {
    known[place] = true;
    found[place] = Grow<kLeaving>(point);
  }
  return found[place];
}

template const Stem& Stems::Find<true>(VertexId);
template const Stem& Stems::Find<false>(VertexId);

}  // namespace orrery
