#include "sim/sharing/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/sim/sharing/exact_fair_share.h"

namespace orrery {
namespace {

using testing::ElementsAre;

std::vector<double> Rates(const FairShareProblem& problem) {
  FairShareSolver solver;
  const absl::Span<const double> rates = solver.Solve(problem);
  return {rates.begin(), rates.end()};
}

// A, AB, B on links of 10 and 4: B is full first, at 2 each; A has 8 left.
TEST(FairShare, TwoLinksThreeFlows) {
  FairShareProblem p;
  const int32_t a = p.AddResource(10);
  const int32_t b = p.AddResource(4);
  p.AddActivity();
  p.AddUse(a, 1);
  p.AddActivity();
  p.AddUse(a, 1);
  p.AddUse(b, 1);
  p.AddActivity();
  p.AddUse(b, 1);
  EXPECT_THAT(Rates(p), ElementsAre(8, 2, 2));
}

TEST(FairShare, OneLongFlowAndOneShortOnEachLink) {
  FairShareProblem p;
  for (int i = 0; i < 3; ++i) p.AddResource(1);
  p.AddActivity();
  for (int i = 0; i < 3; ++i) p.AddUse(i, 1);
  for (int i = 0; i < 3; ++i) {
    p.AddActivity();
    p.AddUse(i, 1);
  }
  EXPECT_THAT(Rates(p), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

// A 6, B 12, C 4; AB, BC, C, B. C is full at 2 each; B has 10 left for two.
TEST(FairShare, ThreeLinksFourFlows) {
  FairShareProblem p;
  const int32_t a = p.AddResource(6);
  const int32_t b = p.AddResource(12);
  const int32_t c = p.AddResource(4);
  p.AddActivity();
  p.AddUse(a, 1);
  p.AddUse(b, 1);
  p.AddActivity();
  p.AddUse(b, 1);
  p.AddUse(c, 1);
  p.AddActivity();
  p.AddUse(c, 1);
  p.AddActivity();
  p.AddUse(b, 1);
  EXPECT_THAT(Rates(p), ElementsAre(5, 2, 2, 5));
}

// The rows of SimGrid's maxmin_test.cpp (teshsuite/kernel). Penalties 1 and 2:
// x + x / 2 = 3.
TEST(FairShare, SimGridPenalties) {
  FairShareProblem p;
  p.AddResource(3);
  p.AddActivity(kUnlimited, 1);
  p.AddUse(0, 1);
  p.AddActivity(kUnlimited, 2);
  p.AddUse(0, 1);
  EXPECT_THAT(Rates(p), ElementsAre(2, 1));
}

// Weights 1 and 2: x + 2 x = 3.
TEST(FairShare, SimGridWeights) {
  FairShareProblem p;
  p.AddResource(3);
  p.AddActivity();
  p.AddUse(0, 1);
  p.AddActivity();
  p.AddUse(0, 2);
  EXPECT_THAT(Rates(p), ElementsAre(1, 1));
}

// Both: x + 2 (x / 2) = 20.
TEST(FairShare, SimGridWeightsAndPenalties) {
  FairShareProblem p;
  p.AddResource(20);
  p.AddActivity(kUnlimited, 1);
  p.AddUse(0, 1);
  p.AddActivity(kUnlimited, 2);
  p.AddUse(0, 2);
  EXPECT_THAT(Rates(p), ElementsAre(10, 5));
}

// First resource: x + 2 (x / 2) = 20, so 10 and 5; second: 60 - 2 * 10 = 40.
TEST(FairShare, SimGridTwoConstraints) {
  FairShareProblem p;
  p.AddResource(20);
  p.AddResource(60);
  p.AddActivity(kUnlimited, 1);
  p.AddUse(0, 1);
  p.AddUse(1, 2);
  p.AddActivity(kUnlimited, 2);
  p.AddUse(0, 2);
  p.AddActivity(kUnlimited, 1);
  p.AddUse(1, 1);
  EXPECT_THAT(Rates(p), ElementsAre(10, 5, 40));
}

// What the capped one cannot take goes to the others: 1, then (10 - 1) / 2.
TEST(FairShare, ARateCapLeavesTheRestToOthers) {
  FairShareProblem p;
  p.AddResource(10);
  p.AddActivity(1);
  p.AddUse(0, 1);
  for (int i = 0; i < 2; ++i) {
    p.AddActivity();
    p.AddUse(0, 1);
  }
  EXPECT_THAT(Rates(p), ElementsAre(1, 4.5, 4.5));
}

TEST(FairShare, ACapAloneIsEnough) {
  FairShareProblem p;
  p.AddActivity(7);
  EXPECT_THAT(Rates(p), ElementsAre(7));
}

// --- Random cases ---

// Rates are sums and quotients of a handful of doubles of similar size; ten
// thousand roundings of 1e-16 are far below this.
constexpr double kTolerance = 1e-11;

FairShareProblem RandomProblem(Rng& rng) {
  FairShareProblem p;
  const bool small_integers = rng.Below(2) == 0;  // many ties
  const auto number = [&](double low, double high) {
    return small_integers ? static_cast<double>(rng.Between(1, 4))
                          : low + (high - low) * rng.Uniform();
  };
  const auto resources = static_cast<int32_t>(rng.Between(1, 8));
  for (int32_t r = 0; r < resources; ++r) p.AddResource(number(0.5, 50));
  const int64_t activities = rng.Between(1, 14);
  for (int64_t i = 0; i < activities; ++i) {
    const bool capped = rng.Below(3) == 0;
    p.AddActivity(capped ? number(0.1, 20) : kUnlimited,
                  rng.Below(2) == 0 ? 1.0 : number(0.2, 5));
    bool used = false;
    for (int32_t r = 0; r < resources; ++r) {
      if (rng.Below(3) != 0) continue;
      p.AddUse(r, number(0.1, 4));
      used = true;
    }
    if (!used && !capped) p.AddUse(0, number(0.1, 4));
  }
  return p;
}

TEST(FairShare, AgreesWithTheExactReference) {
  Rng rng(7, "fair share");
  for (int round = 0; round < 30'000; ++round) {
    const FairShareProblem p = RandomProblem(rng);
    const std::vector<double> rates = Rates(p);
    const std::vector<long double> exact = ExactFairShare(p);
    for (size_t i = 0; i < rates.size(); ++i) {
      ASSERT_NEAR(rates[i], static_cast<double>(exact[i]),
                  kTolerance * static_cast<double>(exact[i]))
          << "case " << round << ", activity " << i;
    }
  }
}

// Directly from the definition: nothing is oversubscribed, and every activity
// is at its cap or meets a full resource where nobody has a larger rate *
// penalty.
TEST(FairShare, EveryActivityHasABottleneck) {
  Rng rng(8, "bottlenecks");
  for (int round = 0; round < 20'000; ++round) {
    const FairShareProblem p = RandomProblem(rng);
    const std::vector<double> rates = Rates(p);
    std::vector<double> load(p.capacities.size(), 0);
    std::vector<double> highest(p.capacities.size(), 0);
    for (size_t i = 0; i < rates.size(); ++i) {
      for (const FairShareProblem::Use& use : p.uses_of(i)) {
        const auto r = static_cast<size_t>(use.resource);
        load[r] += use.weight * rates[i];
        highest[r] = std::max(highest[r], rates[i] * p.penalties[i]);
      }
    }
    for (size_t r = 0; r < load.size(); ++r) {
      ASSERT_LE(load[r], p.capacities[r] * (1 + kTolerance));
    }
    for (size_t i = 0; i < rates.size(); ++i) {
      bool held_back = rates[i] == p.rate_caps[i];
      for (const FairShareProblem::Use& use : p.uses_of(i)) {
        const auto r = static_cast<size_t>(use.resource);
        held_back |= load[r] >= p.capacities[r] * (1 - kTolerance) &&
                     rates[i] * p.penalties[i] >= highest[r] * (1 - kTolerance);
      }
      ASSERT_TRUE(held_back) << "case " << round << ", activity " << i;
    }
  }
}

}  // namespace
}  // namespace orrery
