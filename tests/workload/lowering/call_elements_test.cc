// What calls carry, for those who count in elements.
#include "workload/lowering/call_elements.h"

#include <gtest/gtest.h>

#include "workload/model/token_bytes.h"

namespace orrery {
namespace {

// 1000 tokens of a micro-batch, over two context ranks 500 each.
LayerShape Shape() {
  LayerShape shape;
  shape.groups = {{.count = 1, .queries = 1000}};
  shape.context = 2;
  shape.dispatch = DType::kFp8;
  return shape;
}

ProgramCall Named(std::string_view name, int64_t bytes,
                  WorkPhase phase = WorkPhase::kForward) {
  return {.name = name, .phase = phase, .what = {.bytes = Bytes(bytes)}};
}

TEST(CallElements, ActivationsTravelAsTheyAre) {
  for (const char* name :
       {"all_gather", "reduce_scatter", "send", "receive", "all_reduce"}) {
    EXPECT_EQ(ElementOf(Shape(), Named(name, 500 * 4096 * 2)), DType::kBf16)
        << name;
  }
  EXPECT_EQ(ElementOf(Shape(), Named("tied_embedding", 8)), std::nullopt);
}

// One number in FP32 for each of 500 tokens.
TEST(CallElements, LossesAreInFp32) {
  EXPECT_EQ(ElementOf(Shape(), Named("all_reduce", 500 * 4)), DType::kFp32);
}

// Keys and values in two bytes go around; on the way back gradients in four go
// with them, which are most of it.
TEST(CallElements, ARingTakesGradientsAlong) {
  EXPECT_EQ(ElementOf(Shape(), Named("ring", 1024)), DType::kBf16);
  EXPECT_EQ(ElementOf(Shape(), Named("ring", 1024 * 3, WorkPhase::kBackward)),
            DType::kFp32);
}

// 256 x 1024 elements: 262 144 bytes in FP8 and 262 144 / 128 x 4 = 8192 of
// scales to the experts, 524 288 bytes back. Another all-to-all, of attention,
// has activations only.
TEST(CallElements, TokensGoToExpertsInTheirOwnFormat) {
  constexpr int64_t kElements = 256 * 1024;
  ASSERT_EQ(TokenBytes(DType::kFp8, kElements), Bytes(262144 + 8192));
  const Communication both[] = {{.bytes = Bytes(262144 + 8192)},
                                {.bytes = Bytes(524288)}};
  const auto element = [&](const Communication& what) {
    return ElementOf(Shape(), {.name = "all_to_all",
                               .phase = WorkPhase::kForward,
                               .what = what,
                               .of_group = both});
  };
  EXPECT_EQ(element(both[0]), DType::kFp8);
  EXPECT_EQ(element(both[1]), DType::kBf16);
  EXPECT_EQ(ElementOf(Shape(), {.name = "all_to_all",
                                .what = both[0],
                                .of_group = absl::MakeConstSpan(both, 1)}),
            DType::kBf16);
}

}  // namespace
}  // namespace orrery
