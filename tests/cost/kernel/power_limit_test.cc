#include "cost/kernel/power_limit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cost/kernel/kernel_timer.h"
#include "tests/cost/kernel/chips.h"
#include "tests/status_matchers.h"
#include "tests/topology/machine/protos.h"

namespace orrery {
namespace {

pb::Chip Limited() {
  return With(
      TestChip(),
      "power: '400 W' power_draw { idle: '80 W' matrix: '500 W' memory: "
      "'100 W' clock_exponent: 2.5 format { dtype: FP8 matrix: '600 W' "
      "} }");
}

TEST(PowerLimit, IsWhatIdleAndMemoryLeave) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(Limited()));
  const PowerLimit limit = PowerLimit::Of(chip);
  // 400 - 80 - 0.2 x 100 = 300 W of 0.9 x 500 = 450 W: (2/3)^(1/2.5).
  EXPECT_DOUBLE_EQ(limit.Clock(DType::kBf16, 0.9, 0.2),
                   std::pow(300.0 / 450, 0.4));
  // 300 of 540 W.
  EXPECT_DOUBLE_EQ(limit.Clock(DType::kFp8, 0.9, 0.2),
                   std::pow(300.0 / 540, 0.4));
}

TEST(PowerLimit, DoesNotBindAStreamOrALightKernel) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(Limited()));
  const PowerLimit limit = PowerLimit::Of(chip);
  EXPECT_EQ(limit.VectorClock(), 1);
  EXPECT_EQ(limit.Clock(DType::kBf16, 0.1, 1), 1);
  // 0.6 x 500 = 300 W: just within.
  EXPECT_EQ(limit.Clock(DType::kBf16, 0.6, 0.2), 1);
}

TEST(PowerLimit, GivesWayToAClockThatIsGiven) {
  ASSERT_OK_AND_ASSIGN(
      const Chip chip,
      Chip::FromProto(With(Limited(), "sustained_clock: '0.7 GHz'")));
  EXPECT_DOUBLE_EQ(PowerLimit::Of(chip).Clock(DType::kBf16, 1, 1), 0.7);
  EXPECT_DOUBLE_EQ(PowerLimit::Of(chip, Hertz(0.9e9)).VectorClock(), 0.9);
}

TEST(PowerLimit, IsNoneWhereNothingIsKnown) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(TestChip()));
  EXPECT_EQ(PowerLimit::Of(chip).Clock(DType::kBf16, 1, 1), 1);
}

TEST(PowerLimit, FallsWithThePowerOfTheChip) {
  double before = 0;
  for (const char* power : {"200 W", "300 W", "400 W", "500 W", "700 W"}) {
    pb::Chip proto = Limited();
    proto.set_power(power);
    ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(proto));
    const double clock = PowerLimit::Of(chip).Clock(DType::kBf16, 0.9, 0.2);
    EXPECT_GT(clock, before);
    before = clock;
  }
  EXPECT_EQ(before, 1);
}

// TFLOP/s of a product that keeps every unit busy for long.
double LargeProduct(const std::string& chip, DType dtype) {
  constexpr int64_t kSize = 16384;
  const Op op{OpName::kProduct, Pass::kForward,
              Gemm{.m = kSize,
                   .n = kSize,
                   .k = kSize,
                   .operand = dtype,
                   .output = DType::kBf16}};
  return MatrixFlops(op).value() /
         ToSeconds(TimerOf(PresetChip(chip)).Time(op).time) / 1e12;
}

// Published rates of products in long loops (sources in the chip presets); the
// harnesses themselves are 9 % apart.
TEST(PowerLimit, LeavesTheRatesThatAreMeasuredUnderLastingLoad) {
  struct Measured {
    const char* chip;
    DType dtype;
    double tflops;
  };
  constexpr double kHarnesses = 0.09;
  for (const auto& [chip, dtype, tflops] :
       {Measured{"a100_sxm_80", DType::kBf16, 256.5},
        Measured{"h100_sxm", DType::kBf16, 718},
        Measured{"h100_sxm", DType::kFp8, 1377.3},
        Measured{"h200_sxm", DType::kFp8, 1366.3},
        Measured{"gb200", DType::kFp8, 2906.9},
        Measured{"gb200", DType::kFp4, 7627.6},
        Measured{"mi300x", DType::kBf16, 715}}) {
    EXPECT_NEAR(LargeProduct(chip, dtype) / tflops, 1, kHarnesses)
        << chip << " " << Name(dtype);
  }
}

}  // namespace
}  // namespace orrery
