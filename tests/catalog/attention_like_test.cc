#include "catalog/attention_like.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/resolve.h"
#include "catalog/textproto.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

pb::Kernels Parse(const std::string& text) {
  pb::Kernels kernels;
  EXPECT_OK(ParseTextproto(text, "kernels", &kernels));
  return kernels;
}

// Products at 0.6 and 0.4 of the peak, half and 0.9 of the softmax exposed.
constexpr char kLibrary[] = R"(flash_attention {
  name: "known" rows: 128 columns: 64 min_rows: 16
  efficiency: 0.6 backward_efficiency: 0.4
  softmax_operations: 6 softmax_exposed: 0.5 backward_exposed: 0.9
  combine: "8 us" }
  attention: "known")";

// Three times as long: 0.6 / 3 and 0.4 / 3; 0.5 x 3 is more than all of it, and
// 0.9 x 3 = 2.7 is possible backward.
TEST(AttentionLike, IsSlowerInProductsAndInWhatIsExposed) {
  pb::Kernels own = Parse(
      R"(flash_attention { name: "mine" like: "known" slowdown: 3 columns: 32 })");
  ASSERT_OK(CompleteAttention(Parse(kLibrary), &own));
  const pb::FlashAttention* mine = FindAttention(own, "mine");
  ASSERT_NE(mine, nullptr);
  EXPECT_DOUBLE_EQ(mine->efficiency(), 0.6 / 3);
  EXPECT_DOUBLE_EQ(mine->backward_efficiency(), 0.4 / 3);
  EXPECT_DOUBLE_EQ(mine->softmax_exposed(), 1);
  EXPECT_DOUBLE_EQ(mine->backward_exposed(), 0.9 * 3);
  EXPECT_EQ(mine->rows(), 128);
  EXPECT_EQ(mine->columns(), 32);  // said
  EXPECT_FALSE(mine->has_like());
  EXPECT_FALSE(mine->has_slowdown());
  EXPECT_NE(FindAttention(own, "known"), nullptr);
}

TEST(AttentionLike, NamesWhatThereIs) {
  pb::Kernels own =
      Parse(R"(flash_attention { name: "mine" like: "unknown" })");
  EXPECT_THAT(CompleteAttention(Parse(kLibrary), &own).message(),
              HasSubstr("'unknown', which is not among the library's: known"));
  own = Parse(R"(flash_attention { name: "mine" like: "known" slowdown: -1 })");
  EXPECT_THAT(CompleteAttention(Parse(kLibrary), &own).message(),
              HasSubstr("must be above 0"));
}

// The same framework on two chips: as much slower than each chip's own
// FlashAttention-2, which on Hopper attains a smaller share of the peak.
TEST(AttentionLike, FollowsTheChipUnderAFramework) {
  const auto mine = [](const std::string& system) {
    const auto scenario = ResolveScenarioText(
        Catalog(),
        R"(model { preset: "mpt_7b" } system { preset: ")" + system +
            R"(" nodes: 1 } framework { preset: "llm_foundry_2023" }
        training { global_batch: 8 sequence: 2048 parallel { }
                   sharding: ZERO_3 precision: BF16 })",
        "test", {});
    EXPECT_OK(scenario.status());
    const pb::FlashAttention own =
        *FindAttention(scenario->kernels(), scenario->kernels().attention());
    const pb::FlashAttention fa2 = *FindAttention(scenario->kernels(), "fa2");
    EXPECT_EQ(own.name(), "triton_2023");
    EXPECT_DOUBLE_EQ(own.efficiency(), fa2.efficiency() / 1.8);
    return own.efficiency();
  };
  EXPECT_LT(mine("dgx_h100_ib400"), mine("dgx_a100_hdr200"));
}

// A scenario may do it too, over its preset; and where the chip has no such
// kernel, a framework's wish is none.
TEST(AttentionLike, ComesFromScenariosAndGivesWayToTheChip) {
  const std::string rest = R"( framework { preset: "llm_foundry_2023" }
      training { global_batch: 8 sequence: 2048 parallel { }
                 sharding: ZERO_3 precision: BF16 })";
  const auto mine = ResolveScenarioText(
      Catalog(),
      R"(model { preset: "mpt_7b" } system { preset: "dgx_h100_ib400" nodes: 1 }
         kernels { preset: "hopper_trtllm_2025" attention: "mine"
                   flash_attention { name: "mine" like: "fa3" slowdown: 2 } })" +
          rest,
      "test", {});
  ASSERT_OK(mine.status());
  EXPECT_DOUBLE_EQ(FindAttention(mine->kernels(), "mine")->efficiency(), 0.5);
  const auto tpu = ResolveScenarioText(
      Catalog(),
      R"(model { preset: "mpt_7b" } system { preset: "tpu_v5e_pod" nodes: 2 })" +
          rest,
      "test", {});
  ASSERT_OK(tpu.status());
  EXPECT_EQ(tpu->kernels().attention(), "splash");
}

}  // namespace
}  // namespace orrery
