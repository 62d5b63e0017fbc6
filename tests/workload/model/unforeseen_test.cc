// What kernels written by hand do not fuse runs an operator at a time.
#include <gtest/gtest.h>

#include "tests/workload/model/layer_lists.h"
#include "tests/workload/model/models.h"
#include "workload/model/layer.h"

namespace orrery {
namespace {

Model Unforeseen() {
  return MakeModel(kSmallMixture,
                   "attention { scaled_rotation: true } "
                   "moe { expert_bias: true limited_activation: true }");
}

// 128 tokens to 2 experts each on 4 ranks: 256 rows in the 2 experts here.
constexpr int64_t kRows = 256;
LayerShape Shape(Fusion fusion, PassPurpose purpose = PassPurpose::kTraining) {
  LayerShape shape{.groups = {{.count = 4, .queries = 32}}, .expert = 4};
  shape.fusion = fusion;
  shape.purpose = purpose;
  return shape;
}

Pointwise PointwiseOf(const std::vector<LayerStep>& steps, OpName name) {
  return std::get<Pointwise>(OpsNamed(steps, name).at(0).work);
}

TEST(Unforeseen, BiasesOfExpertsAreAddedExpertByExpert) {
  const LayerOps ops = BuildLayer(Unforeseen(), 1, Shape(Fusion::kPointwise));
  // Weight times bias is written; it and the output are read, the sum written;
  // all are read and written once more. Rows of 64 numbers of two bytes.
  const Pointwise sum = PointwiseOf(ops.forward, OpName::kBias);
  EXPECT_EQ(sum.read, Bytes(3 * kRows * 64 * 2));
  EXPECT_EQ(sum.written, Bytes(3 * kRows * 64 * 2));
  EXPECT_EQ(sum.launches, 2 * 2 + 1);
  const Pointwise gradient = PointwiseOf(ops.input_gradient, OpName::kBias);
  EXPECT_EQ(gradient.read, Bytes(5 * kRows * 64 * 2));
  EXPECT_EQ(gradient.launches, 4 * 2 + 1);
}

TEST(Unforeseen, LimitsComeBeforeTheActivation) {
  const LayerOps ops = BuildLayer(Unforeseen(), 1, Shape(Fusion::kPointwise));
  const auto activations = OpsNamed(ops.forward, OpName::kExpertActivation);
  ASSERT_EQ(activations.size(), 2U);
  // Two halves of 40, each read and written, then both once more.
  const auto limits = std::get<Pointwise>(activations[0].work);
  EXPECT_EQ(limits.read, Bytes(4 * kRows * 40 * 2));
  EXPECT_EQ(limits.launches, 3);
}

TEST(Unforeseen, ARotationThatLengthensHasFourParts) {
  const LayerOps ops = BuildLayer(Unforeseen(), 1, Shape(Fusion::kPointwise));
  EXPECT_EQ(PointwiseOf(ops.forward, OpName::kRotary).launches, 8);
}

// Compilers fuse whatever stands side by side; engines have kernels of their
// own.
TEST(Unforeseen, CompilersAndEnginesFuseAllOfIt) {
  for (const LayerShape& shape :
       {Shape(Fusion::kResidualNorm),
        Shape(Fusion::kPointwise, PassPurpose::kPrefill)}) {
    const LayerOps ops = BuildLayer(Unforeseen(), 1, shape);
    EXPECT_TRUE(OpsNamed(ops.forward, OpName::kBias).empty());
    EXPECT_EQ(OpsNamed(ops.forward, OpName::kExpertActivation).size(), 1U);
    EXPECT_EQ(PointwiseOf(ops.forward, OpName::kRotary).launches, 1);
  }
}

TEST(Unforeseen, IsRefusedWhereNothingOfTheKindRuns) {
  EXPECT_FALSE(Model::FromProto(ModelProto(kSmallMixture,
                                           "attention { scaled_rotation: true "
                                           "} position: ALIBI"))
                   .ok());
  EXPECT_FALSE(Model::FromProto(ModelProto(kSmallMixture,
                                           "moe { limited_activation: true "
                                           "activation: GELU }"))
                   .ok());
}

}  // namespace
}  // namespace orrery
