#pragma once
// ShortestPaths: all shortest paths between two vertices as one set of links.
//
// Equal paths have equal shares. Where links side by side, as far from the
// start as each other, differ in bandwidth (cables that do not divide, a slow
// link), a path weighs the least bandwidth of such links on it: wide cables get
// more, and a slow link less.
//
// Searches from both ends at once, level by level, so that the work depends on
// the distance and not on the size of the machine. Only vertices that forward
// are passed through; two vertices of one island are connected inside it, and
// two of different dragonfly groups through these two groups alone, as long as
// it can be done. Scratch space is kept between calls: one object, many
// searches, one thread.
#include <absl/types/span.h>

#include <optional>
#include <utility>
#include <vector>

#include "topology/graph/graph.h"

namespace orrery {

// A link and the share of the traffic that crosses it.
struct LinkShare {
  LinkId link;
  double share;
  friend bool operator==(const LinkShare&, const LinkShare&) = default;
};

class ShortestPaths {
 public:
  explicit ShortestPaths(const Graph& graph);

  // Every link on a shortest path from `from` to `to`, in order of its distance
  // from `from`, with the share of the traffic that uses it. Empty when there
  // is no path. Valid until the next call. Requires: from != to.
  absl::Span<const LinkShare> Between(VertexId from, VertexId to);

 private:
  // One direction of a search.
  struct Side {
    std::vector<int32_t> stamp;  // which search reached the vertex
    std::vector<int32_t> depth;
    std::vector<double> paths;  // shortest paths to the vertex
    std::vector<VertexId> order;
    size_t level_begin = 0;  // of the deepest level in `order`
  };
  // The vertices a search may enter.
  struct Domain {
    std::optional<int32_t> island;
    std::optional<std::pair<int32_t, int32_t>> groups;
  };
  bool Allows(const Domain& domain, VertexId v) const;
  void Start(Side& side, VertexId at);
  template <Direction kDirection>
  void Advance(Side& side, VertexId origin, const Domain& domain);
  bool Reached(const Side& side, VertexId v) const {
    return side.stamp[Index(v)] == search_;
  }
  bool Search(VertexId from, VertexId to, const Domain& domain);
  void Collect();
  size_t LevelBegin(const Side& side, size_t last) const;
  absl::Span<const LinkId> LinksBack(const Side& side, bool is_forward,
                                     VertexId at, size_t begin, size_t end);
  // Shares by bandwidth, if links side by side differ in it.
  void WeighByBandwidth(VertexId from, VertexId to);

  const Graph& graph_;
  // Some link of a class is wider than another.
  bool bandwidths_differ_ = false;
  int32_t search_ = 0;
  Side forward_;
  Side backward_;
  std::vector<VertexId> meeting_;
  std::vector<double> flow_;
  std::vector<LinkId> back_;
  std::vector<LinkShare> result_;
  size_t forward_links_ = 0;  // of `result_`, found by the forward search
};

}  // namespace orrery
