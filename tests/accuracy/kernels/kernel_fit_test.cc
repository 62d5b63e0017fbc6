#include "accuracy/kernels/kernel_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "accuracy/kernels/fit_doubts.h"
#include "tests/cost/kernel/chips.h"

namespace orrery {
namespace {

using testing::ElementsAre;

// A bowl with its bottom at (3, 0.5).
double Bowl(absl::Span<const FitConstant> constants) {
  return std::abs(std::log(constants[0].value / 3)) +
         std::abs(std::log(constants[1].value / 0.5));
}

TEST(FitConstants, FindsTheBottomOfABowl) {
  const FitResult fit =
      FitConstants({{"a", 1, 0.1, 10}, {"b", 1, 0.1, 10}}, Bowl);
  EXPECT_NEAR(fit.constants[0].value, 3, 0.03);
  EXPECT_NEAR(fit.constants[1].value, 0.5, 0.005);
  EXPECT_LT(fit.loss_after, fit.loss_before);
}

TEST(FitConstants, StaysWithinTheRanges) {
  const FitResult fit =
      FitConstants({{"a", 1, 0.1, 2}, {"b", 1, 0.8, 10}}, Bowl);
  EXPECT_EQ(fit.constants[0].value, 2);
  EXPECT_EQ(fit.constants[1].value, 0.8);
}

TEST(FitConstants, KeepsOnlyWhatMatters) {
  const auto only_first = [](absl::Span<const FitConstant> constants) {
    return constants[0].value;
  };
  const std::vector<FitConstant> kept = WithEffect(
      std::vector<FitConstant>{{"a", 1, 0.1, 2}, {"b", 1, 0.1, 2}}, only_first);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].name, "a");
}

// The bottom lies beyond the range of both.
TEST(FitDoubts, NameConstantsAtAnEndOfTheirRange) {
  const FitResult fit =
      FitConstants({{"a", 1, 0.1, 2}, {"b", 1, 0.8, 10}}, Bowl);
  const std::vector<FitDoubt> doubts = DoubtsOf(fit.constants, Bowl);
  ASSERT_EQ(doubts.size(), 2u);
  EXPECT_EQ(doubts[0].kind, FitDoubt::Kind::kAtHigh);
  EXPECT_EQ(doubts[0].constant, "a");
  EXPECT_EQ(doubts[1].kind, FitDoubt::Kind::kAtLow);
  EXPECT_EQ(DoubtText(doubts[1], "0.8 us"),
            "b = 0.8 us is at the lower end of its range: the rows ask for "
            "less");
}

TEST(FitDoubts, AreNoneInABowl) {
  const FitResult fit =
      FitConstants({{"a", 1, 0.1, 10}, {"b", 1, 0.1, 10}}, Bowl);
  EXPECT_TRUE(DoubtsOf(fit.constants, Bowl).empty());
}

TEST(FitDoubts, NameWhatTheRowsDoNotDetermine) {
  // A product of a and b alone, and c hardly at all.
  const auto valley = [](absl::Span<const FitConstant> constants) {
    return std::abs(std::log(constants[0].value * constants[1].value)) +
           1e-5 * constants[2].value;
  };
  const std::vector<FitDoubt> doubts = DoubtsOf(
      std::vector<FitConstant>{
          {"a", 2, 0.1, 10}, {"b", 0.5, 0.1, 10}, {"c", 1, 0.1, 10}},
      valley);
  ASSERT_EQ(doubts.size(), 2u);
  EXPECT_EQ(doubts[0].kind, FitDoubt::Kind::kAlike);
  EXPECT_EQ(doubts[0].constant, "a");
  EXPECT_EQ(doubts[0].other, "b");
  EXPECT_EQ(doubts[1].kind, FitDoubt::Kind::kFlat);
  EXPECT_EQ(doubts[1].constant, "c");
}

TEST(RowsToFit, AreEveryThirdOfEachSourceAndKind) {
  std::vector<KernelMeasurement> rows;
  for (int i = 0; i < 8; ++i) {
    KernelMeasurement row;
    row.id = std::to_string(i);
    row.chip = i == 7 ? "other" : "this";
    row.source = i % 2 == 0 ? "even" : "odd";
    rows.push_back(row);
  }
  // Of the even ones 0 2 4 6 the first and the fourth, of 1 3 5 the first.
  std::vector<std::string> ids;
  for (const KernelMeasurement* row : RowsToFit(rows, "this")) {
    ids.push_back(row->id);
  }
  EXPECT_THAT(ids, ElementsAre("0", "1", "6"));
}

// A measurement that is exactly what the model says costs nothing.
TEST(FitLoss, IsTheMeanOverClassesOfTheLogarithmOfTheError) {
  const HarnessTimers timer = TimersOf(PresetChip("h100_sxm"));
  KernelMeasurement product;
  product.ops.push_back(
      Op{OpName::kProduct, Pass::kForward, Gemm{.m = 512, .n = 512, .k = 512}});
  product.seconds = Predict(product, timer);
  KernelMeasurement stream;
  stream.kernel_class = KernelClass::kMemoryBound;
  stream.ops.push_back(Op{OpName::kPointwise, Pass::kForward,
                          Pointwise{.read = Bytes(1 << 20)}});
  stream.seconds = Predict(stream, timer) / std::exp(0.2);
  const std::vector<const KernelMeasurement*> rows = {&product, &product,
                                                      &product, &stream};
  EXPECT_NEAR(FitLoss(rows, timer), 0.1, 1e-9);
}

}  // namespace
}  // namespace orrery
