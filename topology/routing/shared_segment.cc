#include "topology/routing/shared_segment.h"

namespace orrery {

SharedSegments::SharedSegments(const Graph& graph) : graph_(graph) {
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

SharedSegment SharedSegments::Grow(VertexId point, Direction direction) const {
  SharedSegment segment = {.end = point};
  const std::optional<int32_t> island = graph_.island(point);
  if (graph_.forwards(point) ||
      (island && static_cast<size_t>(*island) < open_islands_.size() &&
       open_islands_[static_cast<size_t>(*island)])) {
    return segment;
  }
  VertexId before = point;
  while (segment.count < SharedSegment::kMostLinks) {
    LinkId only{};
    int choices = 0;
    for (LinkId id : graph_.links_at(segment.end, direction)) {
      const VertexId next = graph_.far_end(id, direction);
      if (next == before && segment.count > 0) continue;
      // What stays in the island leads to nobody outside it, and nor does a
      // chip of the island that hangs on the same NIC.
      if (island && graph_.island(next) == island) continue;
      // Another end point: a choice.
      if (!graph_.forwards(next)) return segment;
      only = id;
      ++choices;
    }
    if (choices != 1) return segment;
    before = segment.end;
    segment.links[static_cast<size_t>(segment.count++)] = only;
    segment.end = graph_.far_end(only, direction);
  }
  return segment;
}

const SharedSegment& SharedSegments::Find(VertexId point, Direction direction) {
  Found& found = direction == Direction::kLeaving ? leaving_ : entering_;
  if (found.segments.empty()) {
    found.segments.resize(graph_.vertex_count());
    found.known.resize(graph_.vertex_count(), false);
  }
  const size_t place = Index(point);
  if (!found.known[place]) {
    found.known[place] = true;
    found.segments[place] = Grow(point, direction);
  }
  return found.segments[place];
}

}  // namespace orrery
