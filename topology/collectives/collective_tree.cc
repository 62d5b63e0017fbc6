#include <algorithm>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"
#include "topology/collectives/ring_orders.h"

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

// Up to the roots of both trees and down again, a pair for each lane, from gate
// to gate: lane c owns chunks 2 c and 2 c + 1.
void AddTrees(ScheduleBuilder& builder,
              const std::vector<IslandPart>& islands) {
  const TwoTrees trees(static_cast<int32_t>(islands.size()));
  const size_t lanes = islands[0].gates.size();
  const auto gate = [&](int32_t island, size_t lane) {
    return islands[static_cast<size_t>(island)].gates[lane];
  };
  const auto level = [&](int32_t depth, bool up) {
    builder.BeginPhase();
    builder.BeginRound();
    trees.ForEachEdge(depth, [&](int32_t tree, int32_t child, int32_t parent) {
      for (size_t lane = 0; lane < lanes; ++lane) {
        const ChunkRange half = {.begin =
                                     2 * static_cast<int32_t>(lane) + tree};
        builder.Send(gate(up ? child : parent, lane),
                     gate(up ? parent : child, lane), {&half, 1}, up);
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
  // With islands each lane has its own pair of trees between their gates, fed
  // by a chain inside: the rank before the gate hands on around the island ...
  // to the gate.
  const std::vector<IslandPart> islands = PartsOfIslands(request.layout);
  const size_t lanes = islands[0].gates.size();
  std::vector<RingOrder> chains;  // of every lane of the first island, ...
  int32_t longest = 1;
  for (const IslandPart& island : islands) {
    longest = std::max(longest, island.end - island.begin);
    for (size_t lane = 0; lane < lanes; ++lane) {
      chains.push_back(ChainFrom(request.layout, island, lane));
    }
  }
  ScheduleBuilder builder(request.kind, request.layout.ranks,
                          2 * static_cast<int32_t>(lanes), request.segments);
  const auto chain = [&](int32_t link, bool up) {
    builder.BeginPhase();
    builder.BeginRound();
    for (size_t place = 0; place < chains.size(); place += lanes) {
      if (link + 1 >= static_cast<int32_t>(chains[place].size())) continue;
      for (size_t lane = 0; lane < lanes; ++lane) {
        const RingOrder& order = chains[place + lane];
        const int32_t near = order[static_cast<size_t>(link)];
        const int32_t far = order[static_cast<size_t>(link) + 1];
        const ChunkRange both = {.begin = 2 * static_cast<int32_t>(lane),
                                 .count = 2};
        builder.Send(up ? far : near, up ? near : far, {&both, 1}, up);
      }
    }
  };
  for (int32_t link = longest - 2; link >= 0; --link) chain(link, true);
  AddTrees(builder, islands);
  for (int32_t link = 0; link <= longest - 2; ++link) chain(link, false);
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
  AddTrees(builder, PartsOfIslands(request.layout));
  phase(false, /*up=*/true, /*whole=*/false, false);  // owners push ...
  phase(true, /*up=*/false, /*whole=*/true, false);   // ... to all
  return std::move(builder).Build();
}

}  // namespace orrery
