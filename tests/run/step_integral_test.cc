#include "run/step_integral.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/status_matchers.h"

namespace orrery {
namespace {

constexpr double kPrecision = 1e-3;

// 3 + 1e-5 i over 0..1999: 2000 * 3 + 1e-5 * 1999 * 2000 / 2 = 6019.99.
TEST(StepIntegral, ALineIsSummedExactlyFromFewValues) {
  const auto line = [](int64_t i) -> absl::StatusOr<double> {
    return 3 + 1e-5 * static_cast<double>(i);
  };
  ASSERT_OK_AND_ASSIGN(const StepIntegral sum,
                       SumOverSteps(2000, kPrecision, line));
  EXPECT_NEAR(sum.sum, 6019.99, 1e-6);
  EXPECT_LT(sum.evaluations, 10);
  EXPECT_EQ(sum.first, 3);
  EXPECT_NEAR(sum.last, 3.01999, 1e-12);
}

// Steps as tiles of attention make them, and a bend: never further off than the
// error it gives.
TEST(StepIntegral, TheErrorHoldsWhereTheFunctionJumpsAndBends) {
  for (const int64_t steps : {1, 2, 3, 7, 100, 2047}) {
    for (const double jump : {0.0, 0.001, 0.05}) {
      const auto f = [&](int64_t i) -> absl::StatusOr<double> {
        const auto x = static_cast<double>(i);
        return 5 + jump * std::floor(x / 128) + std::max(0.0, x - 700) * 0.002;
      };
      ASSERT_OK_AND_ASSIGN(const StepIntegral few,
                           SumOverSteps(steps, kPrecision, f));
      ASSERT_OK_AND_ASSIGN(const StepIntegral all, SumEveryStep(steps, f));
      EXPECT_LE(std::abs(few.sum - all.sum), few.error + 1e-9)
          << steps << " " << jump;
      EXPECT_LE(few.error, 1e-3 * all.sum);
      EXPECT_EQ(few.last, all.last);
    }
  }
}

// Ripples of up to 0.15 % on what hardly grows, over which two or three values
// would say that nothing happens: of waves of any length and place.
TEST(StepIntegral, TheErrorHoldsWhereAFunctionGrowsButForRipples) {
  for (const int64_t steps : {2, 31, 100, 511, 2047}) {
    for (const double height : {0.0, 0.0003, 0.0015}) {
      for (const double length : {3.0, 40.0, 300.0, 4000.0}) {
        for (const double shift : {0.0, 1.0, 2.5}) {
          const auto f = [&](int64_t i) -> absl::StatusOr<double> {
            const auto x = static_cast<double>(i);
            return 5 * (1 + height * std::sin(shift + 6.283 * x / length)) +
                   1e-6 * x;
          };
          ASSERT_OK_AND_ASSIGN(
              const StepIntegral few,
              SumOverSteps(steps, kPrecision, f, Growth::kNearly));
          ASSERT_OK_AND_ASSIGN(const StepIntegral all, SumEveryStep(steps, f));
          EXPECT_LE(std::abs(few.sum - all.sum), few.error + 1e-9)
              << steps << " " << height << " " << length << " " << shift;
          EXPECT_LE(few.error, kPrecision * all.sum);
        }
      }
    }
  }
}

}  // namespace
}  // namespace orrery
