#include "topology/collectives/reduction_tree.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace orrery {
namespace {

// A switch of the tree whose parent is not known yet.
struct Open {
  int32_t participant = 0;
  std::vector<VertexId> vertices;  // in the order of ids
  std::vector<int32_t> children = {};
};

class TreeFinder {
 public:
  TreeFinder(const Graph& graph, SharedSegments& segments, int32_t ranks,
             bool spread)
      : graph_(graph),
        segments_(segments),
        tiers_(
            HopsFrom(graph, VertexKind::kChip, [](VertexId) { return true; })),
        ranks_(ranks),
        spread_(spread) {
    tree_.parents.resize(static_cast<size_t>(ranks), -1);
  }

  // Adds the tree over some of the ranks; false if there is none.
  bool Add(absl::Span<const VertexId> chips, int32_t first, int32_t stride) {
    // One of equals: the trees of a group take them in turn, and so do
    // neighbouring groups.
    turn_ = Index(chips[0]) + static_cast<size_t>(first);
    std::map<VertexId, int32_t> leaves;
    std::vector<Open> open;
    for (int32_t r = first; r < ranks_; r += stride) {
      const VertexId chip = chips[static_cast<size_t>(r)];
      const SharedSegment& up = segments_.Leaving(chip);
      if (up.count == 0 || segments_.Entering(chip).end != up.end ||
          graph_.kind(up.end) != VertexKind::kSwitch) {
        return false;
      }
      const auto [leaf, is_new] = leaves.try_emplace(up.end, 0);
      if (is_new) {
        leaf->second = NewSwitch({up.end});
        open.push_back({leaf->second, {up.end}});
      }
      tree_.parents[static_cast<size_t>(r)] = leaf->second;
    }
    while (open.size() > 1) {
      if (!Climb(open)) return false;
    }
    return true;
  }

  ReductionTree Take() && { return std::move(tree_); }

 private:
  int32_t NewSwitch(std::vector<VertexId> vertices) {
    tree_.switches.push_back(std::move(vertices));
    tree_.parents.push_back(-1);
    return ranks_ + static_cast<int32_t>(tree_.switches.size()) - 1;
  }

  // Switches one tier above any of `vertices`.
  std::vector<VertexId> Above(absl::Span<const VertexId> vertices) const {
    std::vector<VertexId> above;
    for (VertexId v : vertices) {
      for (LinkId id : graph_.leaving(v)) {
        const VertexId to = graph_.link(id).to;
        if (graph_.kind(to) == VertexKind::kSwitch && tiers_[to] > tiers_[v]) {
          above.push_back(to);
        }
      }
    }
    std::sort(above.begin(), above.end());
    above.erase(std::unique(above.begin(), above.end()), above.end());
    return above;
  }

  // Joins those that have switches above them in common.
  bool Climb(std::vector<Open>& open) {
    std::vector<Open> next;
    for (const Open& o : open) {
      std::vector<VertexId> above = Above(o.vertices);
      bool joined = false;
      for (Open& n : next) {
        std::vector<VertexId> common;
        std::set_intersection(above.begin(), above.end(), n.vertices.begin(),
                              n.vertices.end(), std::back_inserter(common));
        if (common.empty()) continue;
        n.vertices = std::move(common);
        n.children.push_back(o.participant);
        joined = true;
        break;
      }
      if (joined) continue;
      if (above.empty()) return false;
      next.push_back({0, std::move(above), {o.participant}});
    }
    for (Open& n : next) {
      if (!spread_) n.vertices = {n.vertices[turn_ % n.vertices.size()]};
      n.participant = NewSwitch(n.vertices);
      for (int32_t child : n.children) {
        tree_.parents[static_cast<size_t>(child)] = n.participant;
      }
    }
    open = std::move(next);
    return true;
  }

  const Graph& graph_;
  SharedSegments& segments_;
  IdVector<VertexId, int32_t> tiers_;  // hops from the nearest chip
  int32_t ranks_;
  bool spread_;
  size_t turn_ = 0;
  ReductionTree tree_;
};

}  // namespace

std::optional<ReductionTree> FindReductionTree(const Graph& graph,
                                               SharedSegments& segments,
                                               absl::Span<const VertexId> chips,
                                               int32_t island_size,
                                               bool spread) {
  const auto ranks = static_cast<int32_t>(chips.size());
  const int32_t places = std::max(1, island_size);
  if (ranks < 2 || places >= ranks) return std::nullopt;
  TreeFinder finder(graph, segments, ranks, spread);
  for (int32_t place = 0; place < places; ++place) {
    if (!finder.Add(chips, place, places)) return std::nullopt;
  }
  return std::move(finder).Take();
}

}  // namespace orrery
