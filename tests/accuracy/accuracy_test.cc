// The published kernels against the chips' models: every bar, on every chip
// that has rows, with one set of constants each; and again on the rows that no
// constant was fitted to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "accuracy/kernel_accuracy.h"
#include "accuracy/kernel_measurement.h"
#include "base/csv.h"
#include "base/file.h"
#include "tests/cost/kernel/chips.h"

namespace orrery {
namespace {

CsvTable Table(const std::string& path) {
  auto text = ReadFile(path);
  CHECK(text.ok()) << text.status().ToString();
  auto table = CsvTable::Parse(*text);
  CHECK(table.ok()) << table.status().ToString();
  return *std::move(table);
}

class Accuracy : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    measurements_ = new KernelMeasurements(ReadKernelMeasurements(
        Table("validation/kernels.csv"), Table("validation/harnesses.csv")));
    predictions_ = new std::vector<KernelPrediction>();
    std::map<std::string, HarnessTimers> timers;
    for (const KernelMeasurement& row : measurements_->rows) {
      auto timer = timers.find(row.chip);
      if (timer == timers.end()) {
        timer = timers.emplace(row.chip, TimersOf(PresetChip(row.chip))).first;
      }
      const auto& fitted = timer->second.sustained.chip().constants.fitted_rows;
      predictions_->push_back(
          {&row, Predict(row, timer->second),
           std::find(fitted.begin(), fitted.end(), row.id) != fitted.end()});
    }
  }
  static void TearDownTestSuite() {
    delete predictions_;
    delete measurements_;
  }

  static double ErrorOf(const std::string& id) {
    for (const KernelPrediction& p : *predictions_) {
      if (p.row->id == id) return p.error();
    }
    CHECK(false) << "no row " << id;
    return 0;
  }

  static KernelMeasurements* measurements_;
  static std::vector<KernelPrediction>* predictions_;
};
KernelMeasurements* Accuracy::measurements_ = nullptr;
std::vector<KernelPrediction>* Accuracy::predictions_ = nullptr;

TEST_F(Accuracy, EveryRowIsPredictedOrRefusedWithAReason) {
  EXPECT_EQ(measurements_->rows.size(), 682u);
  // Four rows of the layer are all-reduces.
  EXPECT_EQ(measurements_->refused.size(), 4u);
}

TEST_F(Accuracy, MediansMeetTheirBarsOnEveryChip) {
  for (const AccuracyGroup& group : SummariseAccuracy(*predictions_)) {
    EXPECT_LE(group.median, group.bar.value_or(1))
        << group.chip << ", " << group.what;
    if (group.held_out_median.has_value()) {
      EXPECT_LE(*group.held_out_median, group.bar.value_or(1))
          << group.chip << ", " << group.what << ", held out";
    }
  }
}

TEST_F(Accuracy, NoMoreThanHalfOfAnythingWasFitted) {
  for (const AccuracyGroup& group : SummariseAccuracy(*predictions_)) {
    if (group.rows < 10) continue;
    EXPECT_LE(2 * group.fitted, group.rows + 3)
        << group.chip << ", " << group.what;
  }
}

// Products above 1 TFLOP lie within the 9 % by which three published sets of
// the same product differ.
TEST_F(Accuracy, LargeProductsAreWithinTheScatterOfMeasurements) {
  for (const KernelPrediction& p : *predictions_) {
    if (!IsLargeProduct(*p.row)) continue;
    EXPECT_LT(std::abs(p.error()), 0.09) << p.row->id;
  }
}

// FlashAttention-2 on the A100: forward and backward, both widths of head, from
// 2 K tokens on; and what a causal mask saves.
TEST_F(Accuracy, FlashAttentionOnTheA100) {
  for (const KernelPrediction& p : *predictions_) {
    const auto* a = std::get_if<FusedAttention>(&p.row->ops[0].work);
    if (p.row->source != "fa2_a100" || a->queries < 2048) continue;
    EXPECT_LT(std::abs(p.error()), 0.10) << p.row->id;
  }
  // Rows in pairs: full K00256.., causal K00267.. (64 wide), K00261.. and
  // K00273.. (128 wide), each from 2 K to 16 K.
  for (int i = 0; i < 4; ++i) {
    for (const auto& [full, causal] :
         {std::pair(256 + i, 267 + i), std::pair(261 + i, 273 + i)}) {
      const double ratio = (1 + ErrorOf("K00" + std::to_string(causal))) /
                           (1 + ErrorOf("K00" + std::to_string(full)));
      EXPECT_NEAR(ratio, 1, 0.05) << "K00" << full;
    }
  }
}

// DeepGEMM on the H800, 64 experts of 4096 x 7168: as long as the weights'
// stream lasts, rows cost nothing.
TEST_F(Accuracy, GroupedProductsAreFlatWhileWeightsStream) {
  for (const char* id : {"K00618", "K00620", "K00622", "K00624"}) {
    EXPECT_LT(std::abs(ErrorOf(id)), 0.03) << id;
  }
}

TEST(Percentile, TakesTheNearestRankAndTheMiddleOfTheMedian) {
  EXPECT_EQ(Percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Percentile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(Percentile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9), 9);
  EXPECT_EQ(Percentile({7}, 0.9), 7);
}

}  // namespace
}  // namespace orrery
