#include "workload/plan/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/workload/plan/plans.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;

// 64 chips: tensor 2 fastest, context 2, data 4, pipeline 4 slowest.
TrainingCase FourDimensions() {
  return MakeCase("parallel { tensor: 2 context: 2 pipeline: 4 }", 8);
}

TEST(Placement, CoordinatesFollowTheOrder) {
  const Placement placement(FourDimensions().plan.layout());
  EXPECT_EQ(placement.ranks(), 64);
  EXPECT_EQ(placement.CoordinatesOf(0), (Coordinates{0, 0, 0, 0}));
  // 43 = 1 + 2 x 1 + 4 x 2 + 16 x 2
  EXPECT_EQ(placement.CoordinatesOf(43), (Coordinates{1, 1, 2, 2}));
  for (int rank = 0; rank < 64; ++rank) {
    EXPECT_EQ(placement.RankOf(placement.CoordinatesOf(rank)), rank);
  }
}

TEST(Placement, GroupsAreWhoTheyShouldBe) {
  const Placement placement(FourDimensions().plan.layout());
  EXPECT_THAT(placement.Members(GroupFamily::kTensor, 43), ElementsAre(42, 43));
  EXPECT_THAT(placement.Members(GroupFamily::kContext, 43),
              ElementsAre(41, 43));
  // Same tensor and pipeline coordinate: 33 + 2 {0, 1} + 4 {0, 1, 2, 3}.
  EXPECT_THAT(placement.Members(GroupFamily::kData, 43),
              ElementsAre(33, 35, 37, 39, 41, 43, 45, 47));
  EXPECT_THAT(placement.Members(GroupFamily::kModel, 10),
              ElementsAre(10, 26, 42, 58));
  EXPECT_THAT(placement.Members(GroupFamily::kEmbedding, 43),
              ElementsAre(11, 59));
  EXPECT_EQ(placement.PeerOf(43, 0), 11);
  EXPECT_EQ(placement.Leader(GroupFamily::kData, 43), 33);
}

TEST(Placement, AnotherOrderPutsDataNextToEachOther) {
  const TrainingCase c = MakeCase(
      "parallel { tensor: 2 pipeline: 2 "
      "order: [DATA, TENSOR, CONTEXT, EXPERT, PIPELINE] }",
      2);
  const Placement placement(c.plan.layout());
  EXPECT_THAT(placement.Members(GroupFamily::kData, 5),
              ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(placement.Members(GroupFamily::kTensor, 5), ElementsAre(1, 5));
}

// A stage of 16 ranks: dense 2 (tensor) x 8 (data), experts 1 x 4 x 4.
TEST(Placement, ExpertsUseTheirOwnFactorisation) {
  const TrainingCase c = MakeCase(
      "parallel { tensor: 2 expert: 4 "
      "sequence_parallel: true }",
      2, kCaseExperts);
  const Placement placement(c.plan.layout());
  EXPECT_THAT(placement.Members(GroupFamily::kExpert, 5),
              ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(placement.Members(GroupFamily::kExpertData, 5),
              ElementsAre(1, 5, 9, 13));
  EXPECT_EQ(placement.Size(GroupFamily::kExpertTensor), 1);
}

// 8 copies in shards of 4: {0..3}, {4..7}; replicas are 4 apart.
TEST(Placement, HybridShardingCutsTheCopies) {
  const TrainingCase c = MakeCase(
      "parallel { pipeline: 2 } sharding: ZERO_3 sharding_group: 4", 2);
  const Placement placement(c.plan.layout());
  EXPECT_THAT(placement.Members(GroupFamily::kShard, 5),
              ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(placement.Members(GroupFamily::kReplica, 5), ElementsAre(1, 5));
}

// Rank r of DualPipe holds the same two stages as rank p - 1 - r.
TEST(Placement, DualPipeSumsGradientsOfBothDirections) {
  const TrainingCase c = MakeCase(
      "parallel { pipeline: 4 } schedule: DUAL_PIPE global_batch: 64", 2);
  const Placement placement(c.plan.layout());
  EXPECT_THAT(placement.Members(GroupFamily::kData, 5),
              ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(placement.Size(GroupFamily::kData), 8);
}

// Whatever the family: groups cover the ranks, do not overlap, have the size
// that Size says, and every member agrees on the group.
TEST(Placement, GroupsPartitionTheRanks) {
  const TrainingCase cases[] = {
      FourDimensions(),
      MakeCase("parallel { tensor: 4 context: 2 pipeline: 2 expert: 8 "
               "expert_tensor: 2 sequence_parallel: true } sharding: ZERO_3 "
               "sharding_group: 4",
               8, kCaseExperts),
      MakeCase("parallel { tensor: 2 pipeline: 4 expert: 8 "
               "sequence_parallel: true "
               "order: [PIPELINE, TENSOR, EXPERT, DATA, CONTEXT] }",
               8, kCaseExperts)};
  for (const TrainingCase& c : cases) {
    const Placement placement(c.plan.layout());
    for (int f = 0; f < kGroupFamilies; ++f) {
      const auto family = static_cast<GroupFamily>(f);
      if (family == GroupFamily::kEmbedding) continue;
      std::set<int> seen;
      for (int rank = 0; rank < placement.ranks(); ++rank) {
        const auto members = placement.Members(family, rank);
        EXPECT_EQ(members.size(), static_cast<size_t>(placement.Size(family)));
        EXPECT_EQ(std::count(members.begin(), members.end(), rank), 1);
        for (const int member : members) {
          EXPECT_EQ(placement.Members(family, member), members) << Name(family);
        }
        if (placement.Leader(family, rank) == rank) {
          seen.insert(members.begin(), members.end());
        }
      }
      EXPECT_EQ(seen.size(), static_cast<size_t>(placement.ranks()));
    }
  }
}

}  // namespace
}  // namespace orrery
