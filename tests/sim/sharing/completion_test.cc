#include "sim/sharing/completion.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

// 3 bytes at 2 bytes per picosecond take 1.5 ps, which goes up; and so it does
// where rounding made the rate a little larger, and 1.5 ps a little less.
TEST(Completion, HalvesGoUpWhateverRoundingMadeOfThem) {
  const double rate = 2;
  EXPECT_EQ(CompletionTime(Time{}, 3, rate), Time(Duration(2)));
  EXPECT_EQ(CompletionTime(Time{}, 3, std::nextafter(rate, 3)),
            Time(Duration(2)));
  EXPECT_EQ(CompletionTime(Time{}, 3, std::nextafter(rate, 1)),
            Time(Duration(2)));
}

// A second and a half of a picosecond: a double has 2e-4 ps to either side.
TEST(Completion, HalvesOfLongTransfersGoUpToo) {
  const double work = 1e12 + 0.5;
  for (const double rate : {1.0, std::nextafter(1.0, 2)}) {
    EXPECT_EQ(CompletionTime(Time{}, work, rate),
              Time(Duration(1'000'000'000'001)));
  }
}

// What is really less than a half goes down.
TEST(Completion, RoundsToTheNearest) {
  EXPECT_EQ(CompletionTime(Time{}, 1.49, 1), Time(Duration(1)));
  EXPECT_EQ(CompletionTime(Time{}, 1.51, 1), Time(Duration(2)));
}

}  // namespace
}  // namespace orrery
