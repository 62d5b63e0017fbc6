#include "sim/sharing/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"
#include "tests/sim/sharing/exact_fair_share.h"

namespace orrery {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Time AtSecond(double seconds) { return Time(FromSeconds(seconds)); }

IdVector<ResourceId, double> Capacities(std::vector<double> values) {
  return IdVector<ResourceId, double>(std::move(values));
}

constexpr ResourceId kA{0};
constexpr ResourceId kB{1};

// Runs what has been started until everything is done; when each ends.
std::map<ActivityId, Time> RunToEnd(Sharing& sharing) {
  std::map<ActivityId, Time> due;
  std::map<ActivityId, Time> ended;
  Time now{};
  while (true) {
    for (const Sharing::Completion& c : sharing.Resolve(now)) {
      due[c.activity] = c.at;
    }
    if (due.empty()) return ended;
    now = Time::max();
    for (const auto& [id, at] : due) now = std::min(now, at);
    for (auto it = due.begin(); it != due.end();) {
      if (it->second == now) {
        sharing.Finish(it->first, now);
        ended[it->first] = now;
        it = due.erase(it);
      } else {
        ++it;
      }
    }
  }
}

// Links of 10 and 4; A 80, AB 20, B 40. First 8, 2, 2: A and AB end at 10. B
// has 20 left and now 4 to itself: 15.
TEST(Sharing, RatesRiseAsOthersEnd) {
  const std::vector<ResourceUse> a = {{kA, 1}};
  const std::vector<ResourceUse> ab = {{kA, 1}, {kB, 1}};
  const std::vector<ResourceUse> b = {{kB, 1}};
  Sharing sharing(Capacities({10, 4}));
  sharing.Start(ActivityId(0), Time{}, {.amount = 80, .uses = a});
  sharing.Start(ActivityId(1), Time{}, {.amount = 20, .uses = ab});
  sharing.Start(ActivityId(2), Time{}, {.amount = 40, .uses = b});
  std::map<ActivityId, Time> ended = RunToEnd(sharing);
  EXPECT_EQ(ended[ActivityId(0)], AtSecond(10));
  EXPECT_EQ(ended[ActivityId(1)], AtSecond(10));
  EXPECT_EQ(ended[ActivityId(2)], AtSecond(15));
  EXPECT_DOUBLE_EQ(sharing.carried(kA), 100);
  EXPECT_DOUBLE_EQ(sharing.carried(kB), 60);
}

// A ring all-reduce over p ranks moves 2 (p - 1) unit chunks over each of its p
// links: 14 for 8, 62 for 32. Two rings that share one directed link slow down
// to half on all of them: 28 and 124.
TEST(Sharing, TwoRingsThatShareOneLinkTakeTwiceAsLong) {
  for (const int32_t p : {8, 32}) {
    for (const bool shared : {false, true}) {
      std::vector<std::vector<ResourceUse>> uses(2);
      for (int32_t i = 0; i < p; ++i) {
        uses[0].push_back({static_cast<ResourceId>(i), 1});
        uses[1].push_back(
            {static_cast<ResourceId>(i + p - (shared ? 1 : 0)), 1});
      }
      Sharing sharing(
          Capacities(std::vector<double>(static_cast<size_t>(2 * p), 1.0)));
      for (int32_t ring = 0; ring < 2; ++ring) {
        sharing.Start(
            static_cast<ActivityId>(ring), Time{},
            {.amount = 2.0 * (p - 1), .uses = uses[static_cast<size_t>(ring)]});
      }
      const std::map<ActivityId, Time> ended = RunToEnd(sharing);
      EXPECT_EQ(ended.at(ActivityId(0)),
                AtSecond(2.0 * (p - 1) * (shared ? 2 : 1)));
    }
  }
}

TEST(Sharing, AloneItTakesTheClosedForm) {
  const std::vector<ResourceUse> uses = {{kA, 2}, {kB, 1}};
  Sharing sharing(Capacities({10, 4}));
  sharing.Start(ActivityId(0), Time{}, {.amount = 8, .uses = uses});
  EXPECT_THAT(sharing.Resolve(Time{}), SizeIs(1));
  EXPECT_DOUBLE_EQ(sharing.rate(ActivityId(0)), 4);  // min(10 / 2, 4 / 1)
  EXPECT_EQ(sharing.counters().closed_forms, 1);
  EXPECT_EQ(sharing.counters().components, 0);
}

// Ten flows capped at 1 cross a link of 10: it cannot limit them, and they do
// not see each other.
TEST(Sharing, AmpleResourcesDoNotConnect) {
  const std::vector<ResourceUse> uses = {{kA, 1}};
  Sharing sharing(Capacities({10}));
  for (int32_t i = 0; i < 10; ++i) {
    sharing.Start(static_cast<ActivityId>(i), Time{},
                  {.amount = 8, .rate_cap = 1, .uses = uses});
  }
  EXPECT_THAT(sharing.Resolve(Time{}), SizeIs(10));
  EXPECT_EQ(sharing.counters().components, 0);
  // An eleventh makes it too narrow for all.
  sharing.Start(ActivityId(10), Time{},
                {.amount = 8, .rate_cap = 1, .uses = uses});
  EXPECT_THAT(sharing.Resolve(Time{}), SizeIs(11));
  EXPECT_DOUBLE_EQ(sharing.rate(ActivityId(3)), 10.0 / 11);
  EXPECT_EQ(sharing.counters().components, 1);
}

// A hundred islands, two collectives on each: one solve, the rest remembered.
TEST(Sharing, IdenticalCopiesAreSolvedOnce) {
  std::vector<std::vector<ResourceUse>> uses;
  for (int32_t i = 0; i < 100; ++i) {
    uses.push_back({{static_cast<ResourceId>(i), 1.5}});
  }
  Sharing sharing(Capacities(std::vector<double>(100, 7.0)));
  for (int32_t i = 0; i < 200; ++i) {
    sharing.Start(static_cast<ActivityId>(i), Time{},
                  {.amount = 8, .uses = uses[static_cast<size_t>(i / 2)]});
  }
  EXPECT_THAT(sharing.Resolve(Time{}), SizeIs(200));
  EXPECT_EQ(sharing.counters().components, 100);
  EXPECT_EQ(sharing.counters().remembered, 99);
  for (int32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(sharing.rate(static_cast<ActivityId>(i)),
              sharing.rate(ActivityId(0)));
  }
}

// What is elsewhere keeps its completion time.
TEST(Sharing, OnlyTheAffectedComponentMoves) {
  const std::vector<ResourceUse> a = {{kA, 1}};
  const std::vector<ResourceUse> b = {{kB, 1}};
  Sharing sharing(Capacities({10, 4}));
  for (int32_t i = 0; i < 4; ++i) {
    sharing.Start(static_cast<ActivityId>(i), Time{},
                  {.amount = 100, .uses = i < 2 ? a : b});
  }
  EXPECT_THAT(sharing.Resolve(Time{}), SizeIs(4));
  sharing.Finish(ActivityId(0), AtSecond(1));
  const auto moved = sharing.Resolve(AtSecond(1));
  ASSERT_THAT(moved, SizeIs(1));
  EXPECT_EQ(moved[0].activity, ActivityId(1));
  EXPECT_EQ(moved[0].at, AtSecond(10.5));  // 95 left at 10
  EXPECT_THAT(sharing.Resolve(AtSecond(1)), IsEmpty());
}

// Any sequence of starts and finishes leaves the rates that a fresh exact solve
// of everything in progress gives.
TEST(Sharing, AgreesWithTheExactReferenceAfterEveryChange) {
  constexpr double kTolerance = 1e-11;  // as in fair_share_test.cc
  Rng rng(5, "sharing");
  for (int round = 0; round < 300; ++round) {
    const size_t resources = static_cast<size_t>(rng.Between(1, 10));
    std::vector<double> capacities;
    for (size_t r = 0; r < resources; ++r) {
      capacities.push_back(static_cast<double>(rng.Between(1, 20)));
    }
    Sharing sharing(Capacities(capacities));
    struct InProgress {
      double cap;
      std::vector<ResourceUse> uses;
    };
    std::map<ActivityId, InProgress> active;
    Time now{};
    for (int change = 0; change < 60; ++change) {
      now += Duration(rng.Between(1, 1'000'000'000));
      for (int64_t k = rng.Between(1, 3); k > 0; --k) {
        const auto id = static_cast<ActivityId>(rng.Below(12));
        if (active.contains(id)) {
          sharing.Finish(id, now);
          active.erase(id);
          continue;
        }
        InProgress& a = active[id];
        a.cap = rng.Below(2) == 0 ? kNoRateCap
                                  : static_cast<double>(rng.Between(1, 6));
        for (size_t r = 0; r < resources; ++r) {
          if (rng.Below(4) == 0) {
            a.uses.push_back({static_cast<ResourceId>(r), 0.1 + rng.Uniform()});
          }
        }
        if (a.uses.empty()) a.uses.push_back({ResourceId(0), 1});
        sharing.Start(id, now,
                      {.amount = 1e9, .rate_cap = a.cap, .uses = a.uses});
      }
      sharing.Resolve(now);
      FairShareProblem problem;
      for (const double capacity : capacities) problem.AddResource(capacity);
      for (const auto& [id, a] : active) {
        problem.AddActivity(a.cap);
        for (const ResourceUse& use : a.uses) {
          problem.AddUse(static_cast<int32_t>(use.resource), use.weight);
        }
      }
      const std::vector<long double> exact = ExactFairShare(problem);
      size_t i = 0;
      for (const auto& [id, a] : active) {
        const auto expected = static_cast<double>(exact[i++]);
        ASSERT_NEAR(sharing.rate(id), expected, kTolerance * expected)
            << "round " << round << ", change " << change;
      }
    }
  }
}

}  // namespace
}  // namespace orrery
