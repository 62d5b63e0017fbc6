#pragma once
// LeafFlows: what traffic between many leaves puts on the links between them,
// all pairs at once instead of a search for each.
//
// Sprayed traffic of one leaf to all others follows the shortest paths from it:
// counted forward, the paths to every vertex; and backward, what passes each
// link (the accumulation of Brandes, "A faster algorithm for betweenness
// centrality", 2001). Traffic of minimal routes to one leaf runs down a tree,
// since the lowest link of those that lead nearer does not depend on where it
// comes from. Of hashed routes every pair picks by itself, but only where there
// is a choice: what lies behind the last one is counted as a tree as well.
//
//   LeafFlows flows(graph, leaves);
//   for (size_t a = 0; a < leaves.size(); ++a)
//     flows.Spray(a, amounts, loads, latencies);   // of a to each leaf
//
// Cost: O(links between switches) a leaf, and O(choices) a hashed pair. Working
// memory is kept: one object, one thread.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "topology/graph/graph.h"
#include "topology/routing/flow_hashes.h"
#include "topology/routing/route_hash.h"

namespace orrery {

class LeafFlows {
 public:
  // Whether all ways between these vertices are looked for in the whole graph:
  // they are in no island and no dragonfly group.
  static bool Covers(const Graph& graph, absl::Span<const VertexId> leaves);

  // `graph` must outlive it. Requires: Covers; the leaves forward.
  LeafFlows(const Graph& graph, absl::Span<const VertexId> leaves);

  // Adds what `amounts[b]` from leaf `from` to each leaf b, sprayed over all
  // shortest paths, puts on the links to `loads`, by link, and sets the mean
  // latency of each way. What goes to `from` itself is on no link. False, with
  // nothing added, if a leaf is cut off or if a way is not shared evenly,
  // because links side by side differ in bandwidth.
  bool Spray(size_t from, absl::Span<const double> amounts,
             absl::Span<double> loads, absl::Span<Duration> latencies);

  // The same to leaf `to` from each leaf by the lowest links. False if a leaf
  // is cut off.
  bool Minimal(size_t to, absl::Span<const double> amounts,
               absl::Span<double> loads, absl::Span<Duration> latencies);

  // An end point that hangs on a leaf: pairs on one island send nothing.
  struct EndPoint {
    VertexId chip;
    int64_t island;
    size_t leaf;
    Duration latency{};  // to or from the leaf
  };
  // One unit from each source to each of `sinks`, which hang on leaf `to`, by
  // hashed routes of flow 0; less than 2^32 pairs. `slowest` becomes the
  // latency of the slowest pair if it is longer. False if a leaf is cut off.
  bool Hashed(size_t to, absl::Span<const EndPoint> sources,
              absl::Span<const EndPoint> sinks, absl::Span<double> loads,
              Duration& slowest);

 private:
  struct Edge {
    LinkId link;
    int32_t other;  // place of the far end
    Duration latency{};
  };
  // Places of those that are reached, nearest first, and their distances.
  template <bool kForward>
  void Search(int32_t origin);
  bool Reached(int32_t v) const { return depth_[static_cast<size_t>(v)] >= 0; }
  absl::Span<const Edge> edges(bool leaving, int32_t v) const {
    const auto& begin = leaving ? leaving_begin_ : entering_begin_;
    const auto at = static_cast<size_t>(v);
    return absl::MakeConstSpan(leaving ? leaving_ : entering_)
        .subspan(static_cast<size_t>(begin[at]),
                 static_cast<size_t>(begin[at + 1] - begin[at]));
  }
  // Whether an edge of a search from a sink leads nearer to it.
  bool Nearer(int32_t from, const Edge& edge) const {
    return depth_[static_cast<size_t>(edge.other)] ==
           depth_[static_cast<size_t>(from)] - 1;
  }
  // Of all paths to each vertex found: their number, mean latency, and whether
  // links side by side are equal (a class of their bandwidths, or -1).
  void CountPaths();

  const Graph& graph_;
  std::vector<int32_t> leaves_;     // places
  std::vector<VertexId> vertices_;  // by place
  std::vector<int32_t> leaving_begin_;
  std::vector<Edge> leaving_;
  std::vector<int32_t> entering_begin_;
  std::vector<Edge> entering_;

  std::vector<int32_t> depth_;
  std::vector<int32_t> order_;
  std::vector<double> paths_;
  std::vector<double> latency_;  // seconds
  std::vector<int32_t> even_;
  // Classes of bandwidths side by side: the class one link before, and theirs.
  struct Evenness {
    int32_t before;
    double bandwidth;
  };
  std::vector<Evenness> classes_;
  std::vector<double> flow_;
  // Of hashed routes, by place: the links that lead nearer, whether nothing is
  // left to choose, whether all ways take as long, and how long the first does.
  struct Hop {
    uint32_t begin = 0;  // in `choices_`
    uint32_t count = 0;
    uint32_t mask = 0;  // one less than the count, if that is a power of two
    uint32_t vertex = 0;
    bool settled = false;
    bool even = false;

    uint32_t Pick(uint64_t flow_hash) const {
      const uint64_t choice = ChoiceHash(flow_hash, vertex);
      // A division takes longer than the rest.
      if (mask != 0) return begin + static_cast<uint32_t>(choice & mask);
      if (count == 1) return begin;
      return begin + static_cast<uint32_t>(choice % count);
    }
  };
  void FindHops(size_t to);
  // Of one unit to each sink of another island: the slowest of them. Requires:
  // the source has a choice, as do all where ways differ.
  Duration CountTimed(const EndPoint& source, absl::Span<const EndPoint> sinks);
  // The same hop by hop for all of them together, without their times.
  void Count(const EndPoint& source, absl::Span<const EndPoint> sinks);
  // The same where there are no more than two choices, each of a power of two
  // of ways, as in trees, and the source is on the island of no sink.
  void CountPairs(const EndPoint& source, absl::Span<const VertexId> sinks);
  // What flows from a place choose; false if that is not so.
  bool FindPair(size_t at);

  std::vector<Hop> hops_;
  std::vector<Edge> choices_;
  // By choice, apart from it, so that what is read for every pair is little:
  // the next place, or its complement if nothing is left to choose from there.
  std::vector<int32_t> next_;
  // So many counts of each choice, taken in turns: a count that is still being
  // written is not read.
  static constexpr size_t kTurns = 4;
  std::vector<uint32_t> taken_;
  std::vector<int64_t> arrived_;  // by place, where the choices end
  // Of the flows under way, which are that many at most.
  struct Flow {
    uint64_t hash;
    int32_t at;
  };
  std::vector<Flow> under_way_;
  // Of the place that was looked at last.
  std::optional<size_t> paired_;
  bool is_pair_ = false;
  ChoicePair pair_;
  std::vector<uint32_t> first_picks_;
  std::vector<uint32_t> second_picks_;
  std::vector<Duration> rest_;
};

}  // namespace orrery
