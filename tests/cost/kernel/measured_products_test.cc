#include "cost/kernel/measured_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/kernels.pb.h"
#include "tests/cost/kernel/chips.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

Op Product(int64_t m, int64_t n, int64_t k) {
  return {OpName::kProduct, Pass::kForward, Gemm{.m = m, .n = n, .k = k}};
}

KernelTimer Measured() {
  pb::Kernels proto = PresetKernelsProto("h100_sxm");
  proto.set_use_measured(true);
  return *KernelTimer::Create(PresetChip("h100_sxm"),
                              *Kernels::FromProto(proto));
}

// 64 x 4096 x 4096 was measured at 15.6773 us, 256 rows at 18.712: 160 rows are
// in the middle.
TEST(MeasuredProducts, InterpolateInTheRows) {
  const KernelTimer timer = Measured();
  const OpTime measured = timer.Time(Product(64, 4096, 4096));
  EXPECT_EQ(measured.time, Duration(15'677'300));
  EXPECT_EQ(measured.provenance, Provenance::kTable);
  EXPECT_EQ(timer.Time(Product(160, 4096, 4096)).time,
            Duration((15'677'300 + 18'712'000) / 2));
}

TEST(MeasuredProducts, SayNothingOutsideOfWhatTheyCover) {
  const KernelTimer timer = Measured();
  const KernelTimer model = TimerOf(PresetChip("h100_sxm"));
  for (const Op& op :
       {Product(20000, 4096, 4096), Product(64, 4097, 4096),
        Op{OpName::kProduct, Pass::kForward,
           Gemm{.m = 64, .n = 4096, .k = 4096, .batch = 2}},
        Op{OpName::kProduct, Pass::kForward,
           Gemm{.m = 64, .n = 4096, .k = 4096, .operand = DType::kFp8}},
        Op{OpName::kProduct, Pass::kForward,
           Gemm{.m = 64, .n = 4096, .k = 4096, .accumulate = true}}}) {
    EXPECT_EQ(timer.Time(op).time, model.Time(op).time);
    EXPECT_EQ(timer.Time(op).provenance, Provenance::kModel);
  }
}

TEST(MeasuredProducts, AreOffUnlessSwitchedOn) {
  const KernelTimer model = TimerOf(PresetChip("h100_sxm"));
  EXPECT_EQ(model.Time(Product(64, 4096, 4096)).provenance, Provenance::kModel);
}

TEST(MeasuredProducts, MustAscendInRows) {
  pb::Kernels proto = PresetKernelsProto("h100_sxm");
  auto* table = proto.mutable_measured(0);
  table->mutable_point(1)->set_rows(table->point(0).rows());
  EXPECT_THAT(Kernels::FromProto(proto),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ascending order of rows")));
}

}  // namespace
}  // namespace orrery
