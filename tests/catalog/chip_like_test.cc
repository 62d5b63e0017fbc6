#include "catalog/chip_like.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/scenario_parts.h"
#include "catalog/textproto.h"
#include "tests/status_matchers.h"
#include "topology/machine/chip.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Everything one has to know of a chip that does not exist yet.
constexpr const char* kMine = R"(
name: "mine"
like: "h100_sxm"
peak { dtype: BF16 rate: "1500 TFLOP/s" }
peak { dtype: FP8 rate: "3000 TFLOP/s" }
memory: "128 GB"
memory_bandwidth: "5 TB/s"
matrix_efficiency: 0.8
)";

pb::Chip Mine() {
  pb::Chip chip;
  EXPECT_OK(ParseTextproto(kMine, "mine", &chip));
  return chip;
}

TEST(ChipLike, IsAChipInTenLines) {
  pb::Chip chip = Mine();
  ASSERT_OK(CompleteLike(Catalog(), &chip));
  ASSERT_OK_AND_ASSIGN(const Chip valid, Chip::FromProto(chip));
  EXPECT_EQ(valid.name(), "mine");
  EXPECT_EQ(valid.peak(DType::kBf16)->value(), 1500e12);
  EXPECT_EQ(valid.memory_bandwidth().value(), 5e12);
  // From the other.
  EXPECT_EQ(valid.compute_units(), 132);
  // A list that is said is said whole.
  EXPECT_FALSE(valid.peak(DType::kInt8).has_value());
  ASSERT_OK_AND_ASSIGN(const pb::Kernels kernels,
                       ResolveKernels(Catalog(), chip, ""));
  EXPECT_EQ(kernels.name(), "hopper_trtllm_2025");
  EXPECT_EQ(kernels.matrix_efficiency(), 0.8);
}

TEST(ChipLike, SaysWhatIsNotItsOwn) {
  pb::Chip chip = Mine();
  ASSERT_OK(CompleteLike(Catalog(), &chip));
  ASSERT_EQ(chip.source_size(), 1);
  EXPECT_EQ(chip.source(0).title(), "Taken over from chip h100_sxm");
  EXPECT_TRUE(chip.source(0).estimate());
  for (const char* taken : {"vector_rate", "sfu_rate", "compute_units", "clock",
                            "memory_latency", "cache", "default_kernels"}) {
    EXPECT_THAT(chip.source(0).covers(), HasSubstr(taken));
  }
  for (const char* own : {"peak", "memory_bandwidth", "name"}) {
    EXPECT_THAT(chip.source(0).covers(), Not(HasSubstr(own)));
  }
  // Twice is once.
  pb::Chip again = chip;
  ASSERT_OK(CompleteLike(Catalog(), &again));
  EXPECT_EQ(PrintTextproto(again), PrintTextproto(chip));
}

TEST(ChipLike, NeedsANameOfItsOwnAndAPresetThatExists) {
  pb::Chip chip = Mine();
  chip.set_name("h100_sxm");
  EXPECT_THAT(CompleteLike(Catalog(), &chip).message(),
              HasSubstr("needs a name of its own"));
  chip = Mine();
  chip.set_like("h100_smx");
  EXPECT_THAT(CompleteLike(Catalog(), &chip).message(),
              HasSubstr("did you mean 'h100_sxm'?"));
  chip = Mine();
  chip.clear_like();
  EXPECT_THAT(CompleteLike(Catalog(), &chip).message(),
              HasSubstr("matrix_efficiency"));
}

TEST(ChipLike, IsSuggestedToAChipThatLacksMost) {
  pb::Chip chip = Mine();
  chip.clear_like();
  // 989.4 and 3.35 against 1500 and 5: nothing else is as near on both.
  EXPECT_THAT(SuggestLike(Catalog(), chip), HasSubstr("add like: \""));
  ASSERT_OK_AND_ASSIGN(const pb::Chip whole,
                       ResolveChip(Catalog(), "h100_sxm"));
  EXPECT_THAT(SuggestLike(Catalog(), whole), IsEmpty());
}

}  // namespace
}  // namespace orrery
