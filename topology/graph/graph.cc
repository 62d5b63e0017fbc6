#include "topology/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

// Links grouped by one of their ends, in the order of link ids.
template <class End>
void GroupBy(const IdVector<LinkId, Link>& links, size_t vertex_count, End end,
             std::vector<int32_t>& begin, std::vector<LinkId>& grouped) {
  begin.assign(vertex_count + 1, 0);
  for (const Link& link : links) {
    if (link.bandwidth.value() > 0) ++begin[Index(end(link)) + 1];
  }
  for (size_t v = 0; v < vertex_count; ++v) begin[v + 1] += begin[v];
  grouped.assign(static_cast<size_t>(begin[vertex_count]), LinkId{});
  std::vector<int32_t> next(begin.begin(), begin.end() - 1);
  for (LinkId id : links.ids()) {
    const Link& link = links[id];
    if (link.bandwidth.value() <= 0) continue;
    grouped[static_cast<size_t>(next[Index(end(link))]++)] = id;
  }
}

}  // namespace

VertexId GraphBuilder::AddVertex(VertexKind kind) {
  graph_.forwards_.Add(kind != VertexKind::kChip);
  graph_.islands_.Add(-1);
  graph_.groups_.Add(-1);
  graph_.places_.Add({static_cast<GridId>(-1), -1});
  return graph_.kinds_.Add(kind);
}

std::vector<VertexId> GraphBuilder::AddVertices(VertexKind kind,
                                                int32_t count) {
  std::vector<VertexId> ids;
  ids.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) ids.push_back(AddVertex(kind));
  return ids;
}

LinkId GraphBuilder::AddLink(VertexId from, VertexId to, const LinkSpec& spec) {
  CHECK(from != to) << "link from vertex " << Index(from) << " to itself";
  CHECK(spec.bandwidth.value() > 0 && spec.cables > 0);
  return graph_.links_.Add({.from = from,
                            .to = to,
                            .bandwidth = spec.bandwidth * spec.cables,
                            .latency = spec.latency,
                            .link_class = spec.link_class,
                            .cables = spec.cables});
}

void GraphBuilder::AddDuplex(VertexId a, VertexId b, const LinkSpec& spec) {
  AddLink(a, b, spec);
  AddLink(b, a, spec);
}

GridId GraphBuilder::AddGrid(Grid grid) {
  const GridId id = static_cast<GridId>(graph_.grids_.size());
  for (size_t i = 0; i < grid.vertices.size(); ++i) {
    GridPlace& place = graph_.places_[grid.vertices[i]];
    CHECK(!Graph::InGrid(place)) << "vertex in two grids";
    place = {id, static_cast<int32_t>(i)};
  }
  return graph_.grids_.Add(std::move(grid));
}

Graph GraphBuilder::Build() && {
  GroupBy(
      graph_.links_, graph_.vertex_count(),
      [](const Link& l) { return l.from; }, graph_.leaving_begin_,
      graph_.leaving_);
  GroupBy(
      graph_.links_, graph_.vertex_count(), [](const Link& l) { return l.to; },
      graph_.entering_begin_, graph_.entering_);
  return std::move(graph_);
}

std::vector<VertexId> Chips(const Graph& graph) {
  std::vector<VertexId> chips;
  for (VertexId id : graph.vertices()) {
    if (graph.kind(id) == VertexKind::kChip) chips.push_back(id);
  }
  return chips;
}

IdVector<VertexId, int32_t> HopsFrom(const Graph& graph, VertexKind kind,
                                     absl::FunctionRef<bool(VertexId)> enters) {
  IdVector<VertexId, int32_t> hops(graph.vertex_count(), -1);
  std::vector<VertexId> order;
  for (VertexId v : graph.vertices()) {
    if (graph.kind(v) != kind) continue;
    hops[v] = 0;
    order.push_back(v);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (LinkId id : graph.leaving(order[i])) {
      const VertexId to = graph.link(id).to;
      if (hops[to] >= 0 || !enters(to)) continue;
      hops[to] = hops[order[i]] + 1;
      order.push_back(to);
    }
  }
  return hops;
}

std::string VertexName(const Graph& graph, VertexId id) {
  switch (graph.kind(id)) {
    case VertexKind::kChip:
      return fmt::format("chip {}", Index(id));
    case VertexKind::kNic:
      return fmt::format("NIC {}", Index(id));
    case VertexKind::kSwitch:
      return fmt::format("switch {}", Index(id));
  }
  CHECK(false) << "no such kind";
  return "";
}

Graph WithFaults(const Graph& graph, absl::Span<const double> remaining) {
  CHECK_EQ(remaining.size(), graph.link_count());
  GraphBuilder builder;
  builder.graph_ = graph;
  for (LinkId id : graph.links()) {
    const double share = remaining[Index(id)];
    CHECK(share >= 0 && share <= 1) << share;
    Link& link = builder.graph_.links_[id];
    link.bandwidth = link.bandwidth * share;
  }
  return std::move(builder).Build();
}

}  // namespace orrery
