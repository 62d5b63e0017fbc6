#pragma once
// Graph: a machine as vertices (chips, NICs, switches) and directed links.
//
// A Graph is flat and immutable: arrays indexed by VertexId and LinkId, with
// the links that leave and enter a vertex as spans. Parallel cables between two
// vertices are one link of their summed bandwidth that knows how many they are.
// End points, the vertices that send and receive, come first: chip i of the
// machine is vertex i.
//
//   GraphBuilder builder;
//   const VertexId a = builder.AddVertex(VertexKind::kChip);
//   const VertexId b = builder.AddVertex(VertexKind::kChip);
//   builder.AddDuplex(a, b, {.bandwidth = BytesPerSecond(50e9)});
//   const Graph graph = std::move(builder).Build();
//
// Memory: about 60 bytes per directed link, 20 per vertex.
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace orrery {

enum class VertexId : int32_t {};
enum class LinkId : int32_t {};
enum class LinkClassId : int32_t {};
enum class GridId : int32_t {};

enum class VertexKind : uint8_t { kChip, kNic, kSwitch };

// Of links at a vertex: those that lead away from it, or to it.
enum class Direction : uint8_t { kLeaving, kEntering };

// Where a link is in the machine and in the price table.
struct LinkClassName {
  std::string name;
  std::string price_id;
};

// One cable, one direction; `cables` of them side by side make one link.
struct LinkSpec {
  BytesPerSecond bandwidth;
  Duration latency{};
  LinkClassId link_class{};
  int32_t cables = 1;
};

// A directed link. The bandwidth is that of all its cables together.
struct Link {
  VertexId from;
  VertexId to;
  BytesPerSecond bandwidth;
  Duration latency;
  LinkClassId link_class;
  int32_t cables;
};

// A regular arrangement of vertices that dimension-ordered routing can use:
// position x_0 + s_0 (x_1 + s_1 (x_2 ...)) of `vertices`.
struct Grid {
  enum class Step : uint8_t {
    kLine,  // neighbours only, no wrap-around (mesh)
    kRing,  // neighbours, wrapping around (torus)
    kAll,   // every position of the dimension at once (HyperX)
  };
  std::vector<int32_t> shape;
  Step step;
  // A wrap-around also shifts other dimensions: no dimension order exists.
  bool twisted = false;
  // Sides of a torus that do not wrap around; empty: all do.
  std::vector<bool> open = {};
  std::vector<VertexId> vertices;
  // Whether side d is a ring.
  bool closes(size_t d) const {
    return step == Step::kRing && (open.empty() || !open[d]);
  }
};

// A vertex' place in a grid.
struct GridPlace {
  GridId grid;
  int32_t position;
};

class Graph {
 public:
  size_t vertex_count() const { return kinds_.size(); }
  size_t link_count() const { return links_.size(); }
  IdRange<VertexId> vertices() const { return kinds_.ids(); }
  IdRange<LinkId> links() const { return links_.ids(); }

  const Link& link(LinkId id) const { return links_[id]; }
  VertexKind kind(VertexId id) const { return kinds_[id]; }
  // Whether traffic of others may pass through.
  bool forwards(VertexId id) const { return forwards_[id] != 0; }
  // The island a vertex belongs to. Traffic within an island stays there as
  // long as it can.
  std::optional<int32_t> island(VertexId id) const {
    const int32_t island = islands_[id];
    return island < 0 ? std::nullopt : std::optional<int32_t>(island);
  }
  // In the order of link ids.
  absl::Span<const LinkId> leaving(VertexId id) const {
    return Slice(leaving_, leaving_begin_, id);
  }
  absl::Span<const LinkId> entering(VertexId id) const {
    return Slice(entering_, entering_begin_, id);
  }
  absl::Span<const LinkId> links_at(VertexId id, Direction direction) const {
    return direction == Direction::kLeaving ? leaving(id) : entering(id);
  }
  // The other end of a link that leaves a vertex, or enters it.
  VertexId far_end(LinkId id, Direction direction) const {
    return direction == Direction::kLeaving ? link(id).to : link(id).from;
  }
  // The dragonfly group a vertex belongs to, negative for none. A minimal way
  // leads through no third group as long as it can.
  int32_t group(VertexId id) const { return groups_[id]; }
  const IdVector<LinkClassId, LinkClassName>& link_classes() const {
    return classes_;
  }
  const IdVector<GridId, Grid>& grids() const { return grids_; }
  // Where `id` stands in a grid; the grid id is negative if in none.
  GridPlace grid_place(VertexId id) const { return places_[id]; }
  static bool InGrid(GridPlace place) {
    return static_cast<int>(place.grid) >= 0;
  }

 private:
  friend class GraphBuilder;
  friend Graph WithFaults(const Graph& graph,
                          absl::Span<const double> remaining);
  Graph() = default;
  static absl::Span<const LinkId> Slice(const std::vector<LinkId>& all,
                                        const std::vector<int32_t>& begin,
                                        VertexId id) {
    const size_t i = Index(id);
    return absl::MakeConstSpan(all).subspan(
        static_cast<size_t>(begin[i]),
        static_cast<size_t>(begin[i + 1] - begin[i]));
  }

  IdVector<VertexId, VertexKind> kinds_;
  IdVector<VertexId, uint8_t> forwards_;
  IdVector<VertexId, int32_t> islands_;
  IdVector<VertexId, int32_t> groups_;
  IdVector<VertexId, GridPlace> places_;
  IdVector<LinkId, Link> links_;
  std::vector<int32_t> leaving_begin_;
  std::vector<LinkId> leaving_;
  std::vector<int32_t> entering_begin_;
  std::vector<LinkId> entering_;
  IdVector<LinkClassId, LinkClassName> classes_;
  IdVector<GridId, Grid> grids_;
};

// Collects vertices and links, then turns them into a Graph.
class GraphBuilder {
 public:
  // Switches and NICs forward; chips do so only where the fabric needs it.
  VertexId AddVertex(VertexKind kind);
  std::vector<VertexId> AddVertices(VertexKind kind, int32_t count);
  void SetForwards(VertexId id) { graph_.forwards_[id] = 1; }
  // Requires: island >= 0.
  void SetIsland(VertexId id, int32_t island) { graph_.islands_[id] = island; }

  // Requires: group >= 0.
  void SetGroup(VertexId id, int32_t group) { graph_.groups_[id] = group; }
  int32_t group(VertexId id) const { return graph_.groups_[id]; }

  LinkClassId AddLinkClass(LinkClassName name) {
    return graph_.classes_.Add(std::move(name));
  }
  // Requires: from != to, bandwidth > 0, cables > 0.
  LinkId AddLink(VertexId from, VertexId to, const LinkSpec& spec);
  void AddDuplex(VertexId a, VertexId b, const LinkSpec& spec);
  // Requires: every vertex is in at most one grid.
  GridId AddGrid(Grid grid);

  size_t vertex_count() const { return graph_.vertex_count(); }
  size_t link_count() const { return graph_.link_count(); }

  Graph Build() &&;

 private:
  friend Graph WithFaults(const Graph& graph,
                          absl::Span<const double> remaining);
  Graph graph_;
};

// The chips in the order of ids: the end points of all traffic.
std::vector<VertexId> Chips(const Graph& graph);

// Links from the nearest vertex of `kind` on, of every vertex that can be
// reached over vertices that `enters` accepts; -1 of the others. Cost:
// O(links).
IdVector<VertexId, int32_t> HopsFrom(const Graph& graph, VertexKind kind,
                                     absl::FunctionRef<bool(VertexId)> enters);

// "chip 3", "NIC 12" or "switch 40": kind and vertex number, for messages.
std::string VertexName(const Graph& graph, VertexId id);

// A copy of `graph` with some links slower or gone: `remaining[link]` is the
// share of the bandwidth that is left, 0 for a cut. Link ids are kept; a cut
// link is no longer among those that leave or enter a vertex.
// Requires: remaining.size() == graph.link_count(), each within [0, 1].
Graph WithFaults(const Graph& graph, absl::Span<const double> remaining);

}  // namespace orrery
