// What precision and the host make of a layer: casts, and kernels started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/workload/model/layer_lists.h"
#include "tests/workload/model/models.h"
#include "workload/model/layer.h"

namespace orrery {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// Nobody trains a head or a router in eight bits: their products and what they
// keep are as activations are, forward and backward, and nothing is cast.
TEST(Layer, HeadsAndRoutersStayWide) {
  const LayerShape shape{
      .groups = {{.queries = 32}}, .expert = 2, .precision = DType::kFp8};
  const auto operands = [](const LayerOps& ops, OpName name) {
    std::vector<DType> read;
    for (const auto* list :
         {&ops.forward, &ops.input_gradient, &ops.weight_gradient}) {
      for (const Op& op : OpsNamed(*list, name)) {
        read.push_back(std::get<Gemm>(op.work).operand);
      }
    }
    return read;
  };
  const Model model = MakeModel(kSmallMixture);
  const LayerOps head = BuildHead(model, shape);
  EXPECT_THAT(operands(head, OpName::kHead),
              ElementsAre(DType::kBf16, DType::kBf16, DType::kBf16));
  EXPECT_THAT(Words(head.forward), Not(Contains("quantize")));
  EXPECT_THAT(Words(head.input_gradient), Not(Contains("quantize")));
  const LayerOps layer = BuildLayer(model, 1, shape);
  EXPECT_THAT(operands(layer, OpName::kRouter),
              ElementsAre(DType::kBf16, DType::kBf16, DType::kBf16));
  for (const KeptTensor& tensor : layer.kept) {
    if (tensor.name != "router_input") continue;
    EXPECT_EQ(tensor.bytes, Bytes(32 * model.hidden() * 2));
  }
}

// The host starts casts and products of experts one by one: with n experts on a
// rank each of the two products costs n - 1 launches more than with one, and so
// does the cast before it.
TEST(Layer, ExpertsAreStartedOneByOne) {
  const Model model = MakeModel(kSmallMixture);
  const int experts = model.moe()->experts;
  const auto launches = [&](DType precision, int expert) {
    const LayerOps ops = BuildLayer(model, 1,
                                    {.groups = {{.queries = 32}},
                                     .expert = expert,
                                     .precision = precision,
                                     .dispatch = DType::kBf16});
    return CountLaunches(ops.forward) +
           // Where a rank has several, what comes is sorted, and sorted back.
           (expert == experts ? 2 : 0);
  };
  const int each = experts / 2;
  EXPECT_EQ(launches(DType::kBf16, 2) - launches(DType::kBf16, experts),
            2 * (each - 1));
  EXPECT_EQ(launches(DType::kFp8, 2) - launches(DType::kFp8, experts),
            4 * (each - 1));
}

// Every token of a rank travels to two experts, 64 numbers a row, and back:
//   BF16 both ways: 32 * 2 * 64 * 2 B              = 8192 B
//   FP8            : 32 * 2 * 64 * 1 B = 4096 B, and a scale of 4 B for every
//                    128 numbers       =  128 B
// In the backward pass gradients take the same two ways. Rows on their way back
// to the tokens are as wide as activations.
TEST(Layer, TokensTravelToExpertsInTheFormatOfDispatch) {
  const Model model = MakeModel(kSmallMixture);
  ASSERT_EQ(model.hidden(), 64);
  ASSERT_EQ(model.moe()->experts_per_token, 2);
  const auto bytes = [&](DType dispatch) {
    const LayerOps layer = BuildLayer(
        model, 1,
        {.groups = {{.queries = 32}}, .expert = 2, .dispatch = dispatch});
    std::vector<Bytes> sent;
    for (const auto* list : {&layer.forward, &layer.input_gradient}) {
      for (const LayerStep& step : *list) {
        const Exchange* exchange = step.exchange();
        if (exchange == nullptr || exchange->group != ExchangeGroup::kExpert) {
          continue;
        }
        sent.push_back(exchange->bytes);
      }
    }
    return sent;
  };
  const Bytes wide(8192);
  const Bytes narrow(4096 + 128);
  EXPECT_THAT(bytes(DType::kBf16), ElementsAre(wide, wide, wide, wide));
  EXPECT_THAT(bytes(DType::kFp8), ElementsAre(narrow, wide, narrow, wide));
}

}  // namespace
}  // namespace orrery
