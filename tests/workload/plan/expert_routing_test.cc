#include "workload/plan/expert_routing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "tests/workload/plan/plans.h"
#include "topology/collectives/collective_expert.h"
#include "workload/model/layer.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

constexpr double kRounding = 1e-9;

// What each rank of a group sends and gets in a schedule, per byte of the call.
struct Amounts {
  std::vector<double> sent;
  std::vector<double> received;
  double total = 0;
};

Amounts AmountsOf(const Schedule& schedule) {
  const auto n = static_cast<size_t>(schedule.ranks);
  Amounts amounts{std::vector<double>(n), std::vector<double>(n)};
  for (const Phase& phase : schedule.phases) {
    for (const Round& round : schedule.rounds_of(phase)) {
      for (const Message& message : schedule.messages_of(round)) {
        const double share = schedule.TotalShareOf(message, round);
        amounts.sent[static_cast<size_t>(message.source)] += share;
        amounts.received[static_cast<size_t>(message.destination)] += share;
        amounts.total += share;
      }
    }
  }
  return amounts;
}

// 16 experts on 4 ranks, any histogram: rows of all ranks together are the
// tokens sent, 4 ranks x 4096 tokens x 2 experts.
TEST(ExpertRouting, AsManyTokensArriveAsWereSent) {
  Rng rng(7, "routing");
  for (int trial = 0; trial < 50; ++trial) {
    std::string loads;
    for (int i = 0; i < 16; ++i) {
      loads += fmt::format("expert_load: {} ",
                           rng.Uniform() < 0.2 ? 0.0 : 1000 * rng.Uniform());
    }
    const TrainingCase c =
        MakeCase("parallel { expert: 4 } " + loads, 2, kCaseExperts);
    double rows = 0;
    for (int place = 0; place < 4; ++place) {
      const LayerOps layer = BuildLayer(c.model, 0, ShapeOf(c.plan, place));
      for (const LayerStep& step : layer.forward) {
        if (step.op() == nullptr || step.op()->name != OpName::kExpertUp) {
          continue;
        }
        rows += std::get<GroupedGemm>(step.op()->work).total_rows();
      }
    }
    EXPECT_NEAR(rows, 4 * 4096 * 2, kRounding * rows);
    // And on the wire: what a rank gets, with what it keeps, is its load.
    const auto traffic = TrafficOf(c.model, c.plan.layout());
    ASSERT_TRUE(traffic.has_value());
    const GroupLayout layout{.ranks = 4};
    const Amounts to = AmountsOf(
        ExpertSchedule(layout, *traffic, CallShape::kTokensToExperts));
    const Amounts back = AmountsOf(
        ExpertSchedule(layout, *traffic, CallShape::kTokensFromExperts));
    for (size_t i = 0; i < 4; ++i) {
      const double load =
          c.plan.layout().routing.LoadOf(static_cast<int>(i), 4);
      EXPECT_NEAR(to.received[i] + traffic->share[i], load, kRounding);
      EXPECT_NEAR(to.sent[i] + traffic->share[i], 1, kRounding);
      EXPECT_NEAR(back.sent[i], to.received[i], kRounding);
      EXPECT_NEAR(back.received[i], to.sent[i], kRounding);
    }
  }
}

// 8 experts on 4 ranks, the first at 3 times the mean: 3 + 5/7 of 2, and 5/7.
TEST(ExpertRouting, OneHotExpertLeavesTheRestToTheOthers) {
  const auto routing = ExpertRouting::OneHot(8, 3);
  EXPECT_NEAR(routing.LoadOf(0, 4), (3 + 5.0 / 7) / 2, kRounding);
  EXPECT_NEAR(routing.PeakOf(0, 4), 3, kRounding);
  EXPECT_NEAR(routing.LoadOf(3, 4), 5.0 / 7, kRounding);
  EXPECT_EQ(routing.FullestPlace(4), 0);
  EXPECT_TRUE(ExpertRouting::OneHot(8, 1).balanced());
}

ExpertTraffic DeepSeek(std::optional<int> most_islands) {
  return {.experts = 256,
          .experts_per_token = 8,
          .share = std::vector<double>(64, 1.0 / 64),
          .by_island = true,
          .most_islands = most_islands};
}

// N (1 - C(E - E/N, k) / C(E, k)) for E = 256, k = 8.
TEST(ExpertTraffic, ATokenNeedsAsManyNodesAsTheFormulaSays) {
  constexpr std::pair<int, double> kNodes[] = {
      {2, 1.99}, {4, 3.61}, {8, 5.29}, {16, 6.52}, {32, 7.27}};
  for (const auto& [nodes, expected] : kNodes) {
    EXPECT_NEAR(nodes * TokensThatNeed(DeepSeek({}), 1.0 / nodes, nodes),
                expected, 0.005);
  }
  // At most 4 of 8 nodes, 128 experts to choose from: 4 (1 - C(96, 8) /
  // C(128, 8)) = 3.63.
  EXPECT_NEAR(8 * TokensThatNeed(DeepSeek(4), 1.0 / 8, 8), 3.63, 0.005);
}

// 8 nodes of 8. Between them 7/8 of the nodes a token needs, 1 of 8 copies
// each; inside a node once to each rank that needs it but the one it is on.
TEST(ExpertTraffic, ByIslandATokenCrossesOncePerNode) {
  const GroupLayout layout{.ranks = 64, .island_size = 8};
  for (const std::optional<int> most : {std::optional<int>(), {4}}) {
    const ExpertTraffic traffic = DeepSeek(most);
    const double node = TokensThatNeed(traffic, 1.0 / 8, 8);
    const double rank = TokensThatNeed(traffic, 1.0 / 64, 8);
    const Schedule there =
        ExpertSchedule(layout, traffic, CallShape::kTokensToExperts);
    ASSERT_EQ(there.phases.size(), 2u);
    EXPECT_TRUE(there.phases[1].streams);
    double across = 0, inside = 0;
    for (const Message& m : there.messages) {
      const double share = there.chunk_share[static_cast<size_t>(
          there.ranges[static_cast<size_t>(m.ranges_begin)].begin)];
      (m.source / 8 == m.destination / 8 ? inside : across) += share;
    }
    EXPECT_NEAR(across, 64 * 7 * node / 8, kRounding * across);
    EXPECT_NEAR(inside, 64 * 8 * 7 * rank / 8, kRounding * inside);
    const Amounts back = AmountsOf(
        ExpertSchedule(layout, traffic, CallShape::kTokensFromExperts));
    EXPECT_NEAR(back.total, across + inside, kRounding * back.total);
  }
}

// A token goes once to a rank however many of its experts are there, on one
// node as on several: the nodes it is spread over never make less of it.
// Directly every copy travels.
TEST(ExpertTraffic, ByIslandATokenGoesOncePerRankOnOneNodeToo) {
  for (const int ranks : {2, 8, 64}) {
    for (const int chosen : {1, 2, 8}) {
      const auto n = static_cast<size_t>(ranks);
      ExpertTraffic traffic{.experts = 256,
                            .experts_per_token = chosen,
                            .share = std::vector<double>(n, 1.0 / ranks),
                            .by_island = true};
      // 1 - C(256 - 256/n, k) / C(256, k) of the tokens need a given rank.
      double missed = 1;
      for (int i = 0; i < chosen; ++i) {
        missed *= (256.0 - 256.0 / ranks - i) / (256 - i);
      }
      for (const int32_t island : {0, 1, ranks}) {
        const GroupLayout one{.ranks = ranks, .island_size = island};
        const Amounts to = AmountsOf(
            ExpertSchedule(one, traffic, CallShape::kTokensToExperts));
        const Amounts back = AmountsOf(
            ExpertSchedule(one, traffic, CallShape::kTokensFromExperts));
        for (size_t i = 0; i < n; ++i) {
          EXPECT_NEAR(to.sent[i], (ranks - 1) * (1 - missed) / chosen,
                      kRounding);
          EXPECT_NEAR(back.received[i], to.sent[i], kRounding);
        }
      }
      traffic.by_island = false;
      const Amounts direct = AmountsOf(ExpertSchedule(
          {.ranks = ranks}, traffic, CallShape::kTokensToExperts));
      EXPECT_NEAR(direct.sent[0], (ranks - 1.0) / ranks, kRounding);
    }
  }
}

}  // namespace
}  // namespace orrery
