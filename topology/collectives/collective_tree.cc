#include <absl/types/span.h>

#include <algorithm>
#include <cstdint>
#include <vector>

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

// What the edges of trees carry: of each half of a lane a chunk for a sum, or a
// chunk for every rank whose shard it is.
class EdgeLoads {
 public:
  explicit EdgeLoads(const ScheduleRequest& request)
      : kind_(request.kind),
        ranks_(request.kind == CommunicationKind::kAllReduce
                   ? 1
                   : request.layout.ranks) {}

  int32_t chunks_of_half() const { return ranks_; }

  // Chunks of the halves [begin, begin + count) on an edge with these ranks
  // below it, in order. Gathering, shards of the ranks below go up and all
  // others down; scattering, the other way round.
  std::vector<ChunkRange> On(int32_t begin, int32_t count, bool up,
                             absl::Span<const int32_t> below) const {
    if (kind_ == CommunicationKind::kAllReduce) {
      return {{.begin = begin, .count = count}};
    }
    const bool theirs = up == (kind_ == CommunicationKind::kAllGather);
    std::vector<ChunkRange> ranges;
    for (int32_t half = begin; half < begin + count; ++half) {
      const int32_t first = half * ranks_;
      int32_t next = 0;  // of the ranks that are not looked at
      for (size_t i = 0; i <= below.size(); ++i) {
        const int32_t rank = i < below.size() ? below[i] : ranks_;
        if (!theirs && next < rank) {
          ranges.push_back({.begin = first + next, .count = rank - next});
        }
        next = rank + 1;
        if (!theirs || i == below.size()) continue;
        if (i > 0 && below[i - 1] + 1 == rank) {
          ++ranges.back().count;
        } else {
          ranges.push_back({.begin = first + rank});
        }
      }
    }
    return ranges;
  }

  // Whether what goes up, or down, is added to what is there.
  bool Reduces(bool up) const {
    return kind_ == CommunicationKind::kReduceScatter ||
           (up && kind_ == CommunicationKind::kAllReduce);
  }

 private:
  CommunicationKind kind_;
  int32_t ranks_;
};

// Up to the roots of both trees and down again, a pair for each lane, from gate
// to gate: lane c owns halves 2 c and 2 c + 1.
void AddTrees(ScheduleBuilder& builder, const std::vector<IslandPart>& islands,
              const EdgeLoads& loads) {
  const auto nodes = static_cast<int32_t>(islands.size());
  const TwoTrees trees(nodes);
  const size_t lanes = islands[0].gates.size();
  const auto gate = [&](int32_t island, size_t lane) {
    return islands[static_cast<size_t>(island)].gates[lane];
  };
  // The ranks of every island and of those below it, in order, of either tree.
  std::vector<std::vector<int32_t>> below[2];
  for (int32_t tree = 0; tree < 2; ++tree) {
    for (const IslandPart& island : islands) {
      std::vector<int32_t>& own = below[tree].emplace_back();
      for (int32_t r = island.begin; r < island.end; ++r) own.push_back(r);
    }
  }
  const bool shards = loads.chunks_of_half() > 1;
  for (int32_t depth = trees.depth(); shards && depth > 1; --depth) {
    trees.ForEachEdge(depth, [&](int32_t tree, int32_t child, int32_t parent) {
      const auto& from = below[tree][static_cast<size_t>(child)];
      auto& to = below[tree][static_cast<size_t>(parent)];
      to.insert(to.end(), from.begin(), from.end());
      std::sort(to.begin(), to.end());
    });
  }
  const auto level = [&](int32_t depth, bool up) {
    builder.BeginPhase();
    builder.BeginRound();
    trees.ForEachEdge(depth, [&](int32_t tree, int32_t child, int32_t parent) {
      for (size_t lane = 0; lane < lanes; ++lane) {
        builder.Send(gate(up ? child : parent, lane),
                     gate(up ? parent : child, lane),
                     loads.On(2 * static_cast<int32_t>(lane) + tree, 1, up,
                              below[tree][static_cast<size_t>(child)]),
                     loads.Reduces(up));
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
  const EdgeLoads loads(request);
  const int32_t halves = 2 * static_cast<int32_t>(lanes);
  ScheduleBuilder builder(request.kind, request.layout.ranks,
                          halves * loads.chunks_of_half(), request.segments);
  if (request.kind != CommunicationKind::kAllReduce) {
    for (int32_t half = 0; half < halves; ++half) {
      for (int32_t rank = 0; rank < request.layout.ranks; ++rank) {
        builder.schedule().owners.push_back(rank);
      }
    }
  }
  const auto chain = [&](int32_t link, bool up) {
    builder.BeginPhase();
    builder.BeginRound();
    for (size_t place = 0; place < chains.size(); place += lanes) {
      if (link + 1 >= static_cast<int32_t>(chains[place].size())) continue;
      for (size_t lane = 0; lane < lanes; ++lane) {
        const RingOrder& order = chains[place + lane];
        const int32_t near = order[static_cast<size_t>(link)];
        const int32_t far = order[static_cast<size_t>(link) + 1];
        std::vector<int32_t> behind(order.begin() + link + 1, order.end());
        std::sort(behind.begin(), behind.end());
        builder.Send(up ? far : near, up ? near : far,
                     loads.On(2 * static_cast<int32_t>(lane), 2, up, behind),
                     loads.Reduces(up));
      }
    }
  };
  for (int32_t link = longest - 2; link >= 0; --link) chain(link, true);
  AddTrees(builder, islands, loads);
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
  AddTrees(builder, PartsOfIslands(request.layout), EdgeLoads(request));
  phase(false, /*up=*/true, /*whole=*/false, false);  // owners push ...
  phase(true, /*up=*/false, /*whole=*/true, false);   // ... to all
  return std::move(builder).Build();
}

}  // namespace orrery
