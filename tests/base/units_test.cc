#include "base/units.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace std::chrono_literals;

TEST(Units, LikeAddsToLike) {
  EXPECT_EQ(Bytes(2) + Bytes(3), Bytes(5));
  EXPECT_EQ(Bytes(6) / Bytes(4), 1.5);
  EXPECT_EQ(Bytes(7) * 3, Bytes(21));
  EXPECT_LT(Watts(1), Watts(2));
}

TEST(Units, BytesOverARateAreATime) {
  // 1 GB at 50 GB/s = 20 ms.
  EXPECT_EQ(Bytes(1'000'000'000) / BytesPerSecond(50e9), Duration(20ms));
  // 2 TFLOP at 1 PFLOP/s = 2 ms.
  EXPECT_EQ(Flops(2e12) / FlopsPerSecond(1e15), Duration(2ms));
}

TEST(Units, NoWorkIsFree) {
  EXPECT_EQ(FromSeconds(1e-15), Duration(1));
  EXPECT_EQ(FromSeconds(0), Duration(0));
  EXPECT_EQ(FromSeconds(-1), Duration(0));
}

TEST(Units, TimesRoundToTheNearestPicosecond) {
  EXPECT_EQ(FromSeconds(1.4e-12), Duration(1));
  EXPECT_EQ(FromSeconds(1.6e-12), Duration(2));
  EXPECT_EQ(FromSeconds(3600), Duration(1h));
}

TEST(Units, PowerTimesTimeIsEnergyAndRentTimesTimeIsMoney) {
  EXPECT_DOUBLE_EQ((Watts(700) * Duration(2s)).value(), 1400);
  EXPECT_DOUBLE_EQ((DollarsPerHour(3) * Duration(30min)).value(), 1.5);
}

TEST(Units, TimesBeyondTheRangeStayThere) {
  EXPECT_EQ(FromSeconds(1e7), kBeyondTime);
  EXPECT_EQ(FromSeconds(1e300), kBeyondTime);
  EXPECT_EQ(Bytes(int64_t{1} << 40) / BytesPerSecond(1), kBeyondTime);
  EXPECT_FALSE(IsBeyondTime(FromSeconds(8.9e6)));
  // 5e6 s and 5e6 s are 10^7 s, more than 2^63 ps.
  EXPECT_EQ(AddTimes(FromSeconds(5e6), FromSeconds(5e6)), kBeyondTime);
  EXPECT_EQ(AddTimes(kBeyondTime, kBeyondTime), kBeyondTime);
  EXPECT_EQ(AddTimes(Duration(2s), Duration(3s)), Duration(5s));
}

TEST(UnitsDeathTest, ATimeIsANumber) {
  EXPECT_DEATH(FromSeconds(std::nan("")), "not a number");
}

}  // namespace
}  // namespace orrery
