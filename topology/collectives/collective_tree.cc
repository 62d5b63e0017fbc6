#include <algorithm>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

// The parent of every rank in a binary tree rooted at 0, in which the number of
// trailing zero bits is the height: odd ranks are leaves.
std::vector<int32_t> Parents(int32_t p) {
  std::vector<int32_t> parents(static_cast<size_t>(p), 0);
  for (int32_t rank = 1; rank < p; ++rank) {
    const int32_t bit = rank & -rank;
    const int32_t above = (rank ^ bit) | (bit << 1);
    parents[static_cast<size_t>(rank)] = above < p ? above : rank ^ bit;
  }
  return parents;
}

std::vector<int32_t> Depths(const std::vector<int32_t>& parents) {
  std::vector<int32_t> depths(parents.size(), 0);
  for (size_t rank = 1; rank < parents.size(); ++rank) {
    for (size_t at = rank; at != 0; at = static_cast<size_t>(parents[at])) {
      ++depths[rank];
    }
  }
  return depths;
}

// Two complementary trees over `nodes` nodes: the second makes leaves of the
// first one's inner nodes, mirrored for an even number and shifted by one for
// an odd one.
class TwoTrees {
 public:
  explicit TwoTrees(int32_t nodes)
      : nodes_(nodes), parents_(Parents(nodes)), depths_(Depths(parents_)) {}

  int32_t depth() const {
    return *std::max_element(depths_.begin(), depths_.end());
  }

  // Calls visit(tree, child, parent) for every edge at `depth`.
  template <class Visit>
  void ForEachEdge(int32_t depth, Visit visit) const {
    for (int32_t tree = 0; tree < 2; ++tree) {
      for (int32_t r = 1; r < nodes_; ++r) {
        if (depths_[static_cast<size_t>(r)] != depth) continue;
        visit(tree, NodeIn(tree, r),
              NodeIn(tree, parents_[static_cast<size_t>(r)]));
      }
    }
  }

 private:
  int32_t NodeIn(int32_t tree, int32_t r) const {
    if (tree == 0) return r;
    return nodes_ % 2 == 0 ? nodes_ - 1 - r : (r + 1) % nodes_;
  }

  int32_t nodes_;
  std::vector<int32_t> parents_;
  std::vector<int32_t> depths_;
};

// Up to the roots of both trees and down again, a pair for each of `size`
// places: place g owns chunks 2 g and 2 g + 1.
void AddTrees(ScheduleBuilder& builder, const TwoTrees& trees, int32_t size) {
  const auto level = [&](int32_t depth, bool up) {
    builder.BeginPhase();
    builder.BeginRound();
    trees.ForEachEdge(depth, [&](int32_t tree, int32_t child, int32_t parent) {
      for (int32_t lane = 0; lane < size; ++lane) {
        const ChunkRange half = {.begin = 2 * lane + tree};
        const int32_t from = (up ? child : parent) * size + lane;
        const int32_t to = (up ? parent : child) * size + lane;
        builder.Send(from, to, {&half, 1}, up);
      }
    });
  };
  for (int32_t depth = trees.depth(); depth >= 1; --depth) level(depth, true);
  for (int32_t depth = 1; depth <= trees.depth(); ++depth) level(depth, false);
}

}  // namespace

absl::StatusOr<Schedule> DoubleBinaryTreeSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kDoubleBinaryTree, request));
  const int32_t p = request.layout.ranks;
  // With islands each place has its own pair of trees between the islands, fed
  // by a chain inside: place c + size - 1 hands down to ... to place c.
  const bool islands =
      request.layout.island_size > 1 && request.layout.island_size < p;
  const int32_t size = islands ? request.layout.island_size : 1;
  const TwoTrees trees(p / size);
  ScheduleBuilder builder(request.kind, p, 2 * size, request.segments);
  const auto chain = [&](int32_t link, bool up) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t rank = 0; rank < p; ++rank) {
      const int32_t island = rank / size * size;
      const int32_t lane = rank % size;
      const int32_t near = island + (lane + link) % size;
      const int32_t far = island + (lane + link + 1) % size;
      const ChunkRange both = {.begin = 2 * lane, .count = 2};
      builder.Send(up ? far : near, up ? near : far, {&both, 1}, up);
    }
  };
  for (int32_t link = size - 2; link >= 0; --link) chain(link, true);
  AddTrees(builder, trees, size);
  for (int32_t link = 0; link <= size - 2; ++link) chain(link, false);
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> SwitchTreeSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kSwitchTree, request));
  const int32_t p = request.layout.ranks;
  const int32_t size = request.layout.island_size;
  ScheduleBuilder builder(request.kind, p, 2 * size, request.segments);
  builder.schedule().switches = p / size;
  builder.schedule().switch_per_island = true;
  const ChunkRange all = {.count = 2 * size};
  const auto phase = [&](bool streams, bool up, bool whole, bool reduces) {
    builder.BeginPhase(streams);
    builder.BeginRound();
    for (int32_t rank = 0; rank < p; ++rank) {
      const int32_t island = p + rank / size;
      const ChunkRange own = {.begin = 2 * (rank % size), .count = 2};
      builder.Send(up ? rank : island, up ? island : rank,
                   {whole ? &all : &own, 1}, reduces);
    }
  };
  phase(false, /*up=*/true, /*whole=*/true, true);    // owners pull ...
  phase(true, /*up=*/false, /*whole=*/false, false);  // ... the sums
  AddTrees(builder, TwoTrees(p / size), size);
  phase(false, /*up=*/true, /*whole=*/false, false);  // owners push ...
  phase(true, /*up=*/false, /*whole=*/true, false);   // ... to all
  return std::move(builder).Build();
}

}  // namespace orrery
