#include "base/units_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

TEST(UnitsText, BytesAreDecimalOrBinary) {
  EXPECT_THAT(ParseBytes("80 GB"), IsOkAndHolds(Bytes(80'000'000'000)));
  EXPECT_THAT(ParseBytes("80 GiB"), IsOkAndHolds(Bytes(85'899'345'920)));
  EXPECT_THAT(ParseBytes("80GB"), IsOkAndHolds(Bytes(80'000'000'000)));
  EXPECT_THAT(ParseBytes("1.5 KiB"), IsOkAndHolds(Bytes(1536)));
  EXPECT_THAT(ParseBytes("4 kB"), IsOkAndHolds(Bytes(4000)));
  EXPECT_THAT(ParseBytes("4 KB"), IsOkAndHolds(Bytes(4000)));
  EXPECT_THAT(ParseBytes("0 B"), IsOkAndHolds(Bytes(0)));
}

// 17.28 has no exact double, and its product with 1e12 misses the whole number
// by one unit in the last place.
TEST(UnitsText, ADecimalFractionOfATerabyteIsWhole) {
  EXPECT_THAT(ParseBytes("17.28 TB"), IsOkAndHolds(Bytes(17'280'000'000'000)));
  EXPECT_THAT(ParseBytes("10000000000000.5 B"),
              StatusIs(kRefused, HasSubstr("whole number of bytes")));
  EXPECT_THAT(ParseBytes("0.5 B"),
              StatusIs(kRefused, HasSubstr("whole number of bytes")));
}

TEST(UnitsText, BandwidthTellsBitsFromBytes) {
  EXPECT_THAT(ParseBytesPerSecond("400 Gb/s"),
              IsOkAndHolds(BytesPerSecond(50e9)));
  EXPECT_THAT(ParseBytesPerSecond("400 Gbit/s"),
              IsOkAndHolds(BytesPerSecond(50e9)));
  EXPECT_THAT(ParseBytesPerSecond("3.35 TB/s"),
              IsOkAndHolds(BytesPerSecond(3.35e12)));
  EXPECT_THAT(ParseBytesPerSecond("1 GiB/s"),
              IsOkAndHolds(BytesPerSecond(0x1p30)));
}

TEST(UnitsText, EveryQuantityParses) {
  EXPECT_THAT(ParseFlopsPerSecond("989.4 TFLOP/s"),
              IsOkAndHolds(FlopsPerSecond(989.4e12)));
  EXPECT_THAT(ParseFlops("2 PFLOP"), IsOkAndHolds(Flops(2e15)));
  EXPECT_THAT(ParseOpsPerSecond("3.9 Top/s"),
              IsOkAndHolds(OpsPerSecond(3.9e12)));
  EXPECT_THAT(ParseHertz("1410 MHz"), IsOkAndHolds(Hertz(1.41e9)));
  EXPECT_THAT(ParseDuration("1.5 us"), IsOkAndHolds(Duration(1500ns)));
  EXPECT_THAT(ParseDuration("1.5 \xC2\xB5s"), IsOkAndHolds(Duration(1500ns)));
  EXPECT_THAT(ParseDuration("2 h"), IsOkAndHolds(Duration(2h)));
  EXPECT_THAT(ParseJoules("4.5 pJ"), IsOkAndHolds(Joules(4.5e-12)));
  EXPECT_THAT(ParseWatts("1.2 kW"), IsOkAndHolds(Watts(1200)));
  EXPECT_THAT(ParseDollars("$2.10"), IsOkAndHolds(Dollars(2.10)));
  EXPECT_THAT(ParseDollars("$30k"), IsOkAndHolds(Dollars(30000)));
  EXPECT_THAT(ParseDollarsPerHour("$2.10/h"),
              IsOkAndHolds(DollarsPerHour(2.10)));
  EXPECT_THAT(ParseSquareMillimetres("814 mm2"),
              IsOkAndHolds(SquareMillimetres(814)));
}

TEST(UnitsText, AnErrorQuotesTheTextAndShowsALegalOne) {
  EXPECT_THAT(ParseBytes("80"),
              StatusIs(kRefused,
                       "'80' is not a number of bytes; write for "
                       "example \"80 GB\""));
  EXPECT_THAT(ParseBytesPerSecond("fast"),
              StatusIs(kRefused, HasSubstr("3.35 TB/s")));
}

TEST(UnitsText, NonsenseIsRefused) {
  for (const char* text : {"", " ", "GB", "-1 GB", "nan GB", "inf GB",
                           "1e999 GB", "0x10 GB", "1 2 GB", "1 gb", "80 Gb",
                           "1.5 B", "1e30 B", "80 GBs", "1,5 GB", "1 GB/s"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
  for (const char* text : {"2.10", "$", "$-1", "2 $", "$1/h"}) {
    EXPECT_FALSE(ParseDollars(text).ok()) << text;
  }
  EXPECT_FALSE(ParseDuration("200 d").ok());
  EXPECT_FALSE(ParseDuration("1 Ms").ok());
}

TEST(UnitsText, ExactTextIsShort) {
  EXPECT_EQ(ToText(BytesPerSecond(3.35e12)), "3.35 TB/s");
  EXPECT_EQ(ToText(Bytes(80'000'000'000)), "80 GB");
  EXPECT_EQ(ToBinaryText(Bytes(85'899'345'920)), "80 GiB");
  EXPECT_EQ(ToText(FlopsPerSecond(989.4e12)), "989.4 TFLOP/s");
  EXPECT_EQ(ToText(Duration(1500ns)), "1.5 us");
  EXPECT_EQ(ToText(Duration(1)), "1 ps");
  EXPECT_EQ(ToText(Duration(1'000'000'000'001)), "1.000000000001 s");
  EXPECT_EQ(ToText(Bytes(0)), "0 B");
  EXPECT_EQ(ToText(DollarsPerHour(2.1)), "$2.1/h");
  EXPECT_EQ(ToText(Joules(4.5e-12)), "4.5 pJ");
}

TEST(UnitsText, RoundedTextIsForPeople) {
  EXPECT_EQ(ToText(Bytes(85'899'345'920), 4), "85.9 GB");
  EXPECT_EQ(ToText(Bytes(999'960'000), 4), "1 GB");
  EXPECT_EQ(ToText(Duration(1'234'567'890), 4), "1.235 ms");
}

TEST(UnitsText, ExactTextParsesBackForAnyValue) {
  Rng rng(1, "units round trip");
  for (int i = 0; i < 20000; ++i) {
    const double real = std::exp(rng.Uniform() * 60 - 10);
    const Bytes bytes(static_cast<int64_t>(rng.Next() >> (1 + rng.Below(60))));
    const Duration duration(
        static_cast<int64_t>(rng.Next() >> (2 + rng.Below(60))));
    ASSERT_THAT(ParseBytesPerSecond(ToText(BytesPerSecond(real))),
                IsOkAndHolds(BytesPerSecond(real)));
    ASSERT_THAT(ParseFlopsPerSecond(ToText(FlopsPerSecond(real))),
                IsOkAndHolds(FlopsPerSecond(real)));
    ASSERT_THAT(ParseJoules(ToText(Joules(real))), IsOkAndHolds(Joules(real)));
    ASSERT_THAT(ParseDollars(ToText(Dollars(real))),
                IsOkAndHolds(Dollars(real)));
    if (bytes.value() < (int64_t{1} << 53)) {
      ASSERT_THAT(ParseBytes(ToText(bytes)), IsOkAndHolds(bytes));
      ASSERT_THAT(ParseBytes(ToBinaryText(bytes)), IsOkAndHolds(bytes));
    }
    if (ToSeconds(duration) < kMaxSeconds) {
      ASSERT_THAT(ParseDuration(ToText(duration)), IsOkAndHolds(duration));
    }
  }
}

}  // namespace
}  // namespace orrery
