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

}  // namespace
}  // namespace orrery
