#include "traces/timeline/op_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"

namespace orrery {
namespace {

using testing::ElementsAre;

std::vector<std::string> Lines(const Work& work) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : ShapeOf({OpName::kProduct, {}, work})) {
    lines.push_back(std::visit(
        [&](const auto& v) { return fmt::format("{} {}", key, v); }, value));
  }
  return lines;
}

TEST(OpShape, NamesTheSizesOfEveryKindOfOp) {
  EXPECT_THAT(Lines(Gemm{.m = 2, .n = 3, .k = 4, .output = DType::kFp32}),
              ElementsAre("m 2", "n 3", "k 4", "batch 1", "dtype BF16",
                          "output_dtype FP32"));
  EXPECT_THAT(Lines(GroupedGemm{
                  .groups = 8, .rows = 10.5, .hot_rows = 20, .n = 3, .k = 4}),
              ElementsAre("groups 8", "rows 10.5", "hot_rows 20", "n 3", "k 4",
                          "dtype BF16"));
  EXPECT_THAT(
      Lines(FusedAttention{.batch = 1,
                           .query_heads = 32,
                           .kv_heads = 8,
                           .queries = 100,
                           .keys = 200,
                           .head_dimension = 128,
                           .value_dimension = 64,
                           .window = 50}),
      ElementsAre("batch 1", "heads 32", "kv_heads 8", "sequence 100",
                  "keys 200", "head_dimension 128", "value_dimension 64",
                  "mask causal", "window 50", "dtype BF16"));
  EXPECT_THAT(
      Lines(Pointwise{.read = Bytes(10), .written = Bytes(5), .row = 7}),
      ElementsAre("read_bytes 10", "written_bytes 5", "row 7"));
}

}  // namespace
}  // namespace orrery
