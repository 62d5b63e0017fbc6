// Every algorithm moves every chunk to the right place, and no more bytes than
// it says.
#include "topology/collectives/collective.h"

#include <bit>
#include <cmath>

#include "tests/status_matchers.h"
#include "tests/topology/collectives/symbolic_chunks.h"
#include "topology/collectives/collective_traffic.h"
#include "topology/traffic/nccl_tests.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;
using ::testing::HasSubstr;

Contributions Everyone(int32_t ranks) {
  Contributions all;
  for (int32_t r = 0; r < ranks; ++r) all.insert(r);
  return all;
}

// What a rank starts with, and whether what it ends with is right.
bool StartsWith(const Schedule& s, int32_t rank, int32_t chunk) {
  switch (s.kind) {
    case Kind::kAllReduce:
    case Kind::kReduceScatter:
    case Kind::kReduce:
    case Kind::kBarrier:
      return true;
    case Kind::kAllGather:
      return s.owner(chunk) == rank;
    case Kind::kAllToAll:
      return chunk / s.ranks == rank;
    case Kind::kBroadcast:
      return rank == s.root;
    case Kind::kPointToPoint:
      return rank == chunk;
  }
  return false;
}

bool EndsRight(const Schedule& s, int32_t rank, int32_t chunk,
               const Contributions& have) {
  switch (s.kind) {
    case Kind::kAllReduce:
    case Kind::kBarrier:
      return have == Everyone(s.ranks);
    case Kind::kReduceScatter:
      return s.owner(chunk) != rank || have == Everyone(s.ranks);
    case Kind::kReduce:
      return rank != s.root || have == Everyone(s.ranks);
    case Kind::kAllGather:
      return have == Contributions{s.owner(chunk)};
    case Kind::kAllToAll:
      return chunk % s.ranks != rank || have == Contributions{chunk / s.ranks};
    case Kind::kBroadcast:
      return have == Contributions{s.root};
    case Kind::kPointToPoint:
      return (chunk + 1) % s.ranks != rank || have == Contributions{chunk};
  }
  return false;
}

void ExpectMovesDataRight(const Schedule& s) {
  SymbolicState state = EmptyState(s);
  for (int32_t rank = 0; rank < s.ranks; ++rank) {
    for (int32_t c = 0; c < s.chunks * s.segments; ++c) {
      if (StartsWith(s, rank, c % s.chunks)) {
        state[static_cast<size_t>(rank)][static_cast<size_t>(c)] = {rank};
      }
    }
  }
  ASSERT_TRUE(RunSymbolically(s, state)) << "added twice or sent nothing";
  for (int32_t rank = 0; rank < s.ranks; ++rank) {
    for (int32_t c = 0; c < s.chunks * s.segments; ++c) {
      ASSERT_TRUE(
          EndsRight(s, rank, c % s.chunks,
                    state[static_cast<size_t>(rank)][static_cast<size_t>(c)]))
          << "rank " << rank << " chunk " << c;
    }
  }
}

// The most that one rank sends, as a share of the call's bytes.
double MostSent(const Schedule& s) {
  std::vector<double> sent(static_cast<size_t>(s.participants()), 0);
  for (const Phase& phase : s.phases) {
    for (const Round& round : s.rounds_of(phase)) {
      for (const Message& m : s.messages_of(round)) {
        sent[static_cast<size_t>(m.source)] +=
            s.TotalShareOf(m, round) * s.segments;
      }
    }
  }
  return *std::max_element(sent.begin(), sent.begin() + s.ranks);
}

int32_t StepsOf(const Schedule& s) {
  int32_t steps = 0;
  for (const Phase& phase : s.phases) {
    int32_t longest = 0;
    for (const Round& round : s.rounds_of(phase)) {
      longest = std::max(longest, round.repeat);
    }
    steps += longest;
  }
  return steps;
}

// What any algorithm must send at least: the end-point bounds of the
// literature, in units of the call's bytes.
double EndPointBound(Kind kind, int32_t p, bool in_network) {
  const double others = static_cast<double>(p - 1) / p;
  switch (kind) {
    case Kind::kAllReduce:
      return in_network ? 1 : 2 * others;
    case Kind::kReduceScatter:
    case Kind::kAllToAll:
      return others;
    case Kind::kAllGather:
      return 1.0 / p;  // its own shard, if the network multiplies it
    case Kind::kBroadcast:
    case Kind::kReduce:
    case Kind::kPointToPoint:
      return 1;
    case Kind::kBarrier:
      return 0;
  }
  return 0;
}

const std::vector<Kind> kKinds = {Kind::kAllReduce, Kind::kReduceScatter,
                                  Kind::kAllGather, Kind::kAllToAll,
                                  Kind::kBroadcast, Kind::kReduce,
                                  Kind::kBarrier,   Kind::kPointToPoint};

TEST(Collective, EveryAlgorithmMovesEveryChunkForEveryGroupSize) {
  int checked = 0;
  for (Kind kind : kKinds) {
    for (int32_t p = 2; p <= 17; ++p) {
      std::vector<GroupLayout> layouts = {{.ranks = p},
                                          {.ranks = p, .grid = {p}}};
      for (int32_t size = 2; size < p; ++size) {
        if (p % size == 0) {
          layouts.push_back({.ranks = p, .island_size = size});
          layouts.push_back({.ranks = p, .island_size = size, .meshed = true});
          layouts.push_back({.ranks = p, .grid = {size, p / size}});
          layouts.push_back({.ranks = p,
                             .grid = {size, p / size},
                             .open_sides = {true, false}});
        }
      }
      layouts.push_back({.ranks = p, .grid = {p}, .open_sides = {true}});
      const bool rooted = kind == Kind::kBroadcast || kind == Kind::kReduce;
      const size_t count = layouts.size();
      for (size_t i = 0; rooted && i < count; ++i) {
        for (const int32_t root : {p / 2, p - 1}) {
          layouts.push_back(layouts[i]);
          layouts.back().root = root;
        }
      }
      for (const GroupLayout& layout : layouts) {
        for (Algorithm algorithm : Applicable(kind, layout)) {
          for (int32_t segments : {1, 3}) {
            SCOPED_TRACE(NameOf(algorithm));
            SCOPED_TRACE(p);
            ASSERT_OK_AND_ASSIGN(
                const Schedule s,
                MakeSchedule(kind, algorithm, layout, segments));
            ExpectMovesDataRight(s);
            const bool in_network = s.switches > 0;
            EXPECT_GE(MostSent(s), EndPointBound(kind, p, in_network) - 1e-12);
            ++checked;
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 1000);
}

// Boxes of one to three sides, rings and lines in any mixture, any root: every
// chunk arrives, and what a side carries is what its closed form says.
TEST(Collective, GridsOfRingsAndLinesMoveEveryChunk) {
  const std::vector<std::vector<int32_t>> grids = {
      {2},    {3},    {4},       {5},       {8},      {2, 2},
      {3, 4}, {5, 2}, {2, 2, 2}, {3, 2, 4}, {3, 3, 2}};
  for (const std::vector<int32_t>& grid : grids) {
    int32_t p = 1;
    for (int32_t side : grid) p *= side;
    for (uint32_t open = 0; open < (1u << grid.size()); ++open) {
      GroupLayout layout = {.ranks = p, .grid = grid};
      int32_t steps = 0;  // of one pass
      for (size_t d = 0; d < grid.size(); ++d) {
        layout.open_sides.push_back((open >> d & 1) != 0);
      }
      // In every stage each side is some part's: the longest counts.
      for (size_t d = 0; d < grid.size(); ++d) {
        steps = std::max(steps, layout.open(d) ? grid[d] - 1 : grid[d] / 2);
      }
      steps *= static_cast<int32_t>(grid.size());
      for (Kind kind : {Kind::kAllReduce, Kind::kReduceScatter,
                        Kind::kAllGather, Kind::kBroadcast, Kind::kReduce}) {
        const bool rooted = kind == Kind::kBroadcast || kind == Kind::kReduce;
        const int passes = kind == Kind::kAllReduce ? 2 : 1;
        for (int32_t root = 0; root < (rooted ? p : 1); root += 1 + p / 3) {
          layout.root = root;
          SCOPED_TRACE(testing::PrintToString(grid) + " " +
                       std::to_string(open) + " " + std::string(NameOf(kind)));
          ASSERT_OK_AND_ASSIGN(const Schedule s,
                               MakeSchedule(kind, Algorithm::kGrid, layout));
          ExpectMovesDataRight(s);
          if (rooted) {
            EXPECT_LE(StepsOf(s), 2 * steps);
            continue;
          }
          EXPECT_EQ(StepsOf(s), passes * steps);
          // Rings: everyone sends what it must and no more.
          if (open != 0) continue;
          EXPECT_NEAR(MostSent(s), passes * (p - 1.0) / p, 1e-12);
        }
      }
    }
  }
}

TEST(Collective, TorusAlgorithmsWorkInThreeDimensions) {
  for (const std::vector<int32_t>& grid :
       {std::vector<int32_t>{4, 4, 2}, {2, 3, 4}, {3, 3, 3}}) {
    const int32_t p = grid[0] * grid[1] * grid[2];
    ASSERT_OK_AND_ASSIGN(const Schedule s,
                         MakeSchedule(Kind::kAllReduce, Algorithm::kTorusBucket,
                                      {.ranks = p, .grid = grid}));
    ExpectMovesDataRight(s);
    EXPECT_NEAR(MostSent(s), 2.0 * (p - 1) / p, 1e-12);
  }
  for (const std::vector<int32_t>& grid :
       {std::vector<int32_t>{8, 8}, {4, 4, 4}, {32}}) {
    int32_t p = 1;
    for (int32_t side : grid) p *= side;
    ASSERT_OK_AND_ASSIGN(const Schedule s,
                         MakeSchedule(Kind::kAllReduce, Algorithm::kSwing,
                                      {.ranks = p, .grid = grid}));
    ExpectMovesDataRight(s);
    EXPECT_NEAR(MostSent(s), 2.0 * (p - 1) / p, 1e-12);
    EXPECT_EQ(StepsOf(s), 2 * std::countr_zero(static_cast<uint32_t>(p)));
  }
}

// The bandwidth-optimal ones send exactly the bound, and take the steps of
// their closed forms.
TEST(Collective, OptimalAlgorithmsMeetTheBound) {
  for (int32_t p : {2, 3, 5, 8, 16, 17}) {
    const auto make = [&](Kind kind, Algorithm algorithm) {
      return *MakeSchedule(kind, algorithm, {.ranks = p});
    };
    const double others = static_cast<double>(p - 1) / p;
    const int32_t log =
        static_cast<int32_t>(std::bit_width(static_cast<uint32_t>(p - 1)));
    const Schedule ring = make(Kind::kAllReduce, Algorithm::kRing);
    EXPECT_NEAR(MostSent(ring), 2 * others, 1e-12);
    EXPECT_EQ(StepsOf(ring), 2 * (p - 1));
    EXPECT_NEAR(MostSent(make(Kind::kAllReduce, Algorithm::kBidirectionalRing)),
                2 * others, 1e-12);
    const Schedule gather = make(Kind::kAllGather, Algorithm::kBruck);
    EXPECT_NEAR(MostSent(gather), others, 1e-12);
    EXPECT_EQ(StepsOf(gather), log);
    EXPECT_NEAR(MostSent(make(Kind::kReduceScatter, Algorithm::kBruck)), others,
                1e-12);
    EXPECT_EQ(StepsOf(make(Kind::kAllGather, Algorithm::kBidirectionalRing)),
              p / 2);
    EXPECT_NEAR(MostSent(make(Kind::kAllToAll, Algorithm::kDirect)), others,
                1e-12);
    EXPECT_EQ(StepsOf(make(Kind::kAllToAll, Algorithm::kPairwise)), p - 1);
    // One switch level: every rank sends its vector once.
    EXPECT_NEAR(MostSent(make(Kind::kAllReduce, Algorithm::kReductionTree)), 1,
                1e-12);
    EXPECT_NEAR(MostSent(make(Kind::kAllReduce, Algorithm::kSwitchMulticast)),
                1 + 1.0 / p, 1e-12);
    if (std::has_single_bit(static_cast<uint32_t>(p))) {
      const Schedule hd = make(Kind::kAllReduce, Algorithm::kHalvingDoubling);
      EXPECT_NEAR(MostSent(hd), 2 * others, 1e-12);
      EXPECT_EQ(StepsOf(hd), 2 * log);
    }
  }
}

// Switches of a fabric: ranks of one place share `leaves` leaves, joined tier
// by tier two at a time. Every rank sends m/G up, and 2(G-1)/G m in its island.
TEST(Collective, ReductionTreesOfTheFabricMoveEveryChunk) {
  for (int32_t islands = 2; islands <= 17; ++islands) {
    for (int32_t size : {1, 2, 3}) {
      for (int32_t leaves = 1; leaves <= std::min(islands, 5); ++leaves) {
        const int32_t p = islands * size;
        GroupLayout layout = {.ranks = p, .island_size = size};
        layout.tree_parents.resize(static_cast<size_t>(p));
        for (int32_t place = 0; place < size; ++place) {
          std::vector<int32_t> tier;
          for (int32_t leaf = 0; leaf < leaves; ++leaf) {
            tier.push_back(static_cast<int32_t>(layout.tree_parents.size()));
            layout.tree_parents.push_back(-1);
          }
          for (int32_t i = 0; i < islands; ++i) {
            layout.tree_parents[static_cast<size_t>(i * size + place)] =
                tier[static_cast<size_t>(i % leaves)];
          }
          while (tier.size() > 1) {
            std::vector<int32_t> above;
            for (size_t i = 0; i < tier.size(); i += 2) {
              const auto parent =
                  static_cast<int32_t>(layout.tree_parents.size());
              layout.tree_parents.push_back(-1);
              above.push_back(parent);
              for (size_t j = i; j < std::min(i + 2, tier.size()); ++j) {
                layout.tree_parents[static_cast<size_t>(tier[j])] = parent;
              }
            }
            tier = above;
          }
        }
        ASSERT_OK_AND_ASSIGN(
            const Schedule s,
            MakeSchedule(Kind::kAllReduce, Algorithm::kReductionTree, layout));
        ExpectMovesDataRight(s);
        EXPECT_NEAR(MostSent(s), (1 + 2.0 * (size - 1)) / size, 1e-12);
        EXPECT_EQ(
            StepsOf(s),
            2 * (size - 1) + 2 * (1 + static_cast<int32_t>(std::bit_width(
                                          static_cast<uint32_t>(leaves - 1)))));
      }
    }
  }
}

// Every rank of G hands its vector to the switch, and its part of the result;
// along two trees its part goes once between two islands, and at most one and a
// half times as inner node of one tree and half a time as leaf of the other.
TEST(Collective, TreesBetweenSwitchesOfIslandsMoveEveryChunk) {
  for (int32_t islands = 2; islands <= 17; ++islands) {
    for (int32_t size : {2, 3, 8}) {
      ASSERT_OK_AND_ASSIGN(
          const Schedule s,
          MakeSchedule(Kind::kAllReduce, Algorithm::kSwitchTree,
                       {.ranks = islands * size, .island_size = size}));
      EXPECT_EQ(s.switches, islands);
      EXPECT_TRUE(s.switch_per_island);
      ExpectMovesDataRight(s);
      const double part = 1.0 / size;
      if (islands == 2) {
        EXPECT_NEAR(MostSent(s), 1 + 2 * part, 1e-12);
      } else {
        EXPECT_LE(MostSent(s), 1 + 3 * part + 1e-12);
      }
      const int32_t log = static_cast<int32_t>(
          std::bit_width(static_cast<uint32_t>(islands - 1)));
      EXPECT_EQ(StepsOf(s), 4 + 2 * log);
    }
  }
}

// Three islands of a, b and c ranks with as many lanes as the smallest holds;
// the gates of an island are its last ranks, so that they are not in rank
// order.
TEST(Collective, IslandsOfUnequalSizeMoveEveryChunkOverEveryLane) {
  for (Kind kind : kKinds) {
    for (const std::vector<int32_t>& sizes :
         {std::vector<int32_t>{1, 3}, {3, 2}, {4, 1, 2}, {2, 5, 3}, {8, 7}}) {
      const int32_t lanes = *std::min_element(sizes.begin(), sizes.end());
      GroupLayout layout;
      int32_t begin = 0;
      for (const int32_t size : sizes) {
        IslandPart part = {.begin = begin, .end = begin + size};
        for (int32_t lane = 0; lane < lanes; ++lane) {
          part.gates.push_back(part.end - 1 - lane);
        }
        begin = part.end;
        layout.parts.push_back(std::move(part));
      }
      layout.ranks = begin;
      for (const bool meshed : {false, true}) {
        layout.meshed = meshed;
        for (Algorithm algorithm : Applicable(kind, layout)) {
          for (int32_t segments : {1, 3}) {
            SCOPED_TRACE(NameOf(algorithm));
            SCOPED_TRACE(testing::PrintToString(sizes));
            ASSERT_OK_AND_ASSIGN(
                const Schedule s,
                MakeSchedule(kind, algorithm, layout, segments));
            ExpectMovesDataRight(s);
          }
        }
      }
    }
  }
}

// Islands of 8, 8 and 7 meshed ranks. A rank lacks 22 of 23 shards of all data,
// and whatever the trees, nothing is sent that is there already: 22 times the
// data in all, where a sum needs 22 up and 22 down.
TEST(Collective, ShardsOverTreesAreSentOnceToEveryRank) {
  GroupLayout layout = {.ranks = 23, .meshed = true};
  for (const int32_t begin : {0, 8, 16}) {
    IslandPart part = {.begin = begin, .end = std::min(begin + 8, 23)};
    for (int32_t lane = 0; lane < 7; ++lane) part.gates.push_back(begin + lane);
    layout.parts.push_back(std::move(part));
  }
  const auto sent = [&](Kind kind) {
    const auto schedule =
        MakeSchedule(kind, Algorithm::kDoubleBinaryTree, layout);
    EXPECT_OK(schedule.status());
    double sum = 0;
    for (const Round& round : schedule->rounds) {
      for (const Message& message : schedule->messages_of(round)) {
        sum += schedule->TotalShareOf(message, round);
      }
    }
    return sum;
  };
  EXPECT_NEAR(sent(Kind::kAllGather), 22, 1e-9);
  EXPECT_NEAR(sent(Kind::kReduceScatter), 22, 1e-9);
  EXPECT_NEAR(sent(Kind::kAllReduce), 44, 1e-9);
  // Where islands are alike, or share ports, rings lose nothing.
  layout.meshed = false;
  EXPECT_THAT(
      MakeSchedule(Kind::kAllGather, Algorithm::kDoubleBinaryTree, layout)
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("unequal meshed islands only")));
}

TEST(Collective, AnAlgorithmThatDoesNotApplySaysWhy) {
  EXPECT_THAT(
      MakeSchedule(Kind::kAllReduce, Algorithm::kSwing,
                   {.ranks = 6, .grid = {6}})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("powers of two")));
  EXPECT_THAT(
      MakeSchedule(Kind::kBroadcast, Algorithm::kRing, {.ranks = 4}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("broadcast by ring over 4 ranks")));
  EXPECT_THAT(
      MakeSchedule(Kind::kAllReduce, Algorithm::kHierarchical, {8, 3, {}})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("not equally filled")));
}

// A large ring is a few thousand messages, not 2 (p-1) p = 537 million.
TEST(Collective, LargeRingsStaySmall) {
  ASSERT_OK_AND_ASSIGN(
      const Schedule s,
      MakeSchedule(Kind::kAllReduce, Algorithm::kRing, {.ranks = 16384}));
  EXPECT_EQ(s.messages.size(), 2u * 16384);
}

TEST(Collective, ATrafficMatrixMovesItsAmounts) {
  // Rank 0 sends 3 units to 1 and 1 to 2; rank 2 sends 2 to 0.
  const std::vector<double> amounts = {9, 3, 1, 0, 9, 0, 2, 0, 9};
  const Schedule direct = TrafficSchedule(3, amounts);
  EXPECT_EQ(direct.phases.size(), 1u);
  EXPECT_EQ(direct.messages.size(), 3u);
  EXPECT_DOUBLE_EQ(MostSent(direct), 4);
}

// Bus bandwidth is what a link of a ring carries: in an all-reduce each of n
// ranks sends n - 1 of n parts twice, otherwise once (nccl-tests,
// doc/PERFORMANCE.md); from one rank to all, or to another, everything goes
// once.
TEST(BusFactor, IsTheShareThatALinkOfARingCarries) {
  for (const int n : {2, 3, 8, 1024}) {
    const double once = 1 - 1.0 / n;
    EXPECT_DOUBLE_EQ(BusFactor(Kind::kAllReduce, n), 2 * once);
    EXPECT_DOUBLE_EQ(BusFactor(Kind::kReduceScatter, n), once);
    EXPECT_DOUBLE_EQ(BusFactor(Kind::kAllGather, n), once);
    EXPECT_DOUBLE_EQ(BusFactor(Kind::kAllToAll, n), once);
    EXPECT_DOUBLE_EQ(BusFactor(Kind::kBroadcast, n), 1);
    EXPECT_DOUBLE_EQ(BusFactor(Kind::kReduce, n), 1);
    EXPECT_DOUBLE_EQ(BusFactor(Kind::kPointToPoint, n), 1);
  }
}

}  // namespace
}  // namespace orrery
