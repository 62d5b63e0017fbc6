#include "topology/machine/chip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/units_text.h"
#include "tests/status_matchers.h"
#include "tests/topology/machine/protos.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;
TEST(Chip, QuantitiesAreParsedIntoTypes) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(TestChip()));
  EXPECT_EQ(chip.name(), "round");
  EXPECT_THAT(chip.peak(DType::kBf16), Optional(FlopsPerSecond(100e12)));
  EXPECT_THAT(chip.peak(DType::kFp4), Eq(std::nullopt));
  EXPECT_EQ(chip.vector_rate(), FlopsPerSecond(10e12));
  EXPECT_EQ(chip.sfu_rate(), OpsPerSecond(2e12));
  EXPECT_EQ(chip.memory(), Bytes(80'000'000'000));
  EXPECT_EQ(chip.memory_bandwidth(), BytesPerSecond(2e12));
  EXPECT_EQ(chip.memory_latency(), Duration(500'000));
  EXPECT_EQ(chip.memory_kind(), "HBM2e");
  EXPECT_EQ(chip.ports()[0].total_bandwidth(), BytesPerSecond(300e9));
  EXPECT_FALSE(chip.power().has_value());
  EXPECT_FALSE(chip.die().has_value());
}

TEST(Chip, ARateMayBeStatedAtAClockOfItsOwn) {
  pb::Chip proto = TestChip();
  ASSERT_OK_AND_ASSIGN(const Chip plain, Chip::FromProto(proto));
  EXPECT_EQ(plain.vector_clock(), plain.clock());
  EXPECT_EQ(plain.peak_clock(DType::kBf16), plain.clock());
  EXPECT_EQ(plain.highest_clock(), plain.clock());
  proto.set_clock("1.8 GHz");
  proto.set_vector_clock("2 GHz");
  proto.mutable_peak(0)->set_clock("1.5 GHz");
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(proto));
  EXPECT_EQ(chip.vector_clock(), Hertz(2e9));
  EXPECT_EQ(chip.peak_clock(FromProto(proto.peak(0).dtype())), Hertz(1.5e9));
  EXPECT_EQ(chip.highest_clock(), Hertz(2e9));
}

TEST(Chip, WhatNobodyBuildsIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"die { node: 'N4' area: '1 mm2' compute_dies: 1 transistors: 1e15 }",
       "die.transistors: 1e+15 on 1 mm2 are more than 1e+09 per mm2"},
      {"power_draw { idle: '80 W' matrix: '0.1 W' memory: '100 W' "
       "clock_exponent: 2.5 }",
       "power_draw.matrix: "},
      {"cache { name: 'L3' size: '100 GB' bandwidth: '9 TB/s' }",
       "more than the chip's memory"},
      {"port { name: 'twin' count: 1 bandwidth: '1 GB/s' } port { name: 'twin' "
       "count: 1 bandwidth: '1 GB/s' }",
       "name: 'twin' is there twice"}};
  for (const auto& [text, words] : cases) {
    EXPECT_THAT(Chip::FromProto(With(TestChip(), text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
  }
}

// 100 units x 256 KiB = 25600 KiB; the L2 is there once.
TEST(Chip, APerUnitCacheIsCountedOncePerUnit) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(TestChip()));
  EXPECT_EQ(chip.caches()[0].total_size, Bytes(25600 * 1024));
  EXPECT_EQ(chip.caches()[1].total_size, Bytes(40 << 20));
  EXPECT_EQ(chip.last_level_cache()->name, "L2");
}

TEST(Chip, ClocksUnderLoadAreThereIfGiven) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(TestChip()));
  EXPECT_FALSE(chip.sustained_clock().has_value());
  EXPECT_FALSE(chip.burst_clock().has_value());
  ASSERT_OK_AND_ASSIGN(
      const Chip bursting,
      Chip::FromProto(With(
          TestChip(), "sustained_clock: '0.8 GHz' burst_clock: '0.9 GHz'")));
  EXPECT_EQ(bursting.sustained_clock(), Hertz(0.8e9));
  EXPECT_EQ(bursting.burst_clock(), Hertz(0.9e9));
}

TEST(Chip, WhatItDrawsIsKnownByFormat) {
  ASSERT_OK_AND_ASSIGN(
      const Chip chip,
      Chip::FromProto(With(
          TestChip(),
          "power: '400 W' power_draw { idle: '80 W' matrix: '500 W' memory: "
          "'100 W' clock_exponent: 2.5 format { dtype: FP4 matrix: '300 W' } "
          "}")));
  ASSERT_TRUE(chip.power_draw().has_value());
  EXPECT_EQ(chip.power_draw()->matrix[static_cast<size_t>(DType::kBf16)],
            Watts(500));
  EXPECT_EQ(chip.power_draw()->matrix[static_cast<size_t>(DType::kFp4)],
            Watts(300));
  EXPECT_THAT(
      Chip::FromProto(With(
          TestChip(),
          "power: '80 W' power_draw { idle: '80 W' matrix: '500 W' memory: "
          "'100 W' clock_exponent: 2.5 }")),
      StatusIs(kInvalid,
               HasSubstr("chip.power_draw.idle: 80 W leaves nothing")));
}

TEST(Chip, EveryUnsetQuantityIsReportedWithItsPath) {
  const auto chip = Chip::FromProto(pb::Chip());
  for (const char* field :
       {"name", "peak", "vector_rate", "sfu_rate", "compute_units", "clock",
        "memory", "memory_bandwidth", "memory_latency"}) {
    EXPECT_THAT(chip, StatusIs(kInvalid, HasSubstr(std::string("chip.") +
                                                   field + ": not set")));
  }
}

// Clearing any one required field of a good chip is an error that names it.
TEST(Chip, NoQuantityHasADefault) {
  const std::vector<std::string> required = {
      "vector_rate", "sfu_rate",         "compute_units", "clock",
      "memory",      "memory_bandwidth", "memory_latency"};
  for (const std::string& name : required) {
    pb::Chip proto = TestChip();
    proto.GetReflection()->ClearField(
        &proto, proto.GetDescriptor()->FindFieldByName(name));
    EXPECT_THAT(Chip::FromProto(proto),
                StatusIs(kInvalid, HasSubstr("chip." + name + ": not set")));
  }
}

TEST(Chip, AnErrorShowsPathValueAndRule) {
  const auto bad = [](const char* change) {
    return Chip::FromProto(With(TestChip(), change), "system.chip");
  };
  EXPECT_THAT(bad("memory: '80'"),
              StatusIs(kInvalid, AllOf(HasSubstr("system.chip.memory: '80'"),
                                       HasSubstr("80 GB"))));
  EXPECT_THAT(
      bad("clock: '0 GHz'"),
      StatusIs(kInvalid, "system.chip.clock: '0 GHz' must be positive"));
  EXPECT_THAT(bad("compute_units: -3"),
              StatusIs(kInvalid,
                       "system.chip.compute_units: -3 is not between 1 and "
                       "100000"));
  EXPECT_THAT(bad("cache { name: 'L3' size: '1 GiB' }"),
              StatusIs(kInvalid, HasSubstr("cache[2].bandwidth: not set")));
}

TEST(Chip, AnUnspecifiedFormatListsTheLegalNames) {
  EXPECT_THAT(Chip::FromProto(With(TestChip(), "peak { rate: '1 TFLOP/s' }")),
              StatusIs(kInvalid,
                       "chip.peak[2].dtype: not set; write one of FP64, "
                       "FP32, TF32, BF16, FP16, FP8, INT8, FP4, INT4, FP12"));
  EXPECT_THAT(
      Chip::FromProto(With(
          TestChip(), "peak { dtype: DTYPE_UNSPECIFIED rate: '1 TFLOP/s' }")),
      StatusIs(kInvalid, HasSubstr("DTYPE_UNSPECIFIED; write one of FP64")));
}

TEST(Chip, AFormatHasOnePeak) {
  EXPECT_THAT(Chip::FromProto(
                  With(TestChip(), "peak { dtype: BF16 rate: '1 TFLOP/s' }")),
              StatusIs(kInvalid,
                       "chip.peak[2].dtype: BF16 is given twice; leave one "
                       "out"));
}

TEST(Chip, ADieThatIsGivenIsGivenWhole) {
  EXPECT_THAT(
      Chip::FromProto(With(TestChip(), "die { node: 'N7' }")),
      StatusIs(kInvalid, AllOf(HasSubstr("chip.die.area: not set"),
                               HasSubstr("die.compute_dies: not set"))));
  ASSERT_OK_AND_ASSIGN(
      const Chip chip,
      Chip::FromProto(With(
          TestChip(), "die { node: 'N7' area: '826 mm2' compute_dies: 1 }")));
  EXPECT_EQ(chip.die()->area, SquareMillimetres(826));
  EXPECT_FALSE(chip.die()->transistors.has_value());
}

}  // namespace
}  // namespace orrery
