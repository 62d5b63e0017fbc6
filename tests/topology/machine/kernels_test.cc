#include "topology/machine/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/status_matchers.h"
#include "tests/topology/machine/protos.h"

namespace orrery {
namespace {

using testing::HasSubstr;
TEST(Kernels, QuantitiesAreParsedIntoTypes) {
  ASSERT_OK_AND_ASSIGN(const Kernels kernels,
                       Kernels::FromProto(TestKernels()));
  EXPECT_EQ(kernels.name(), "round");
  EXPECT_EQ(kernels.reserved_memory(), Bytes(int64_t{1} << 30));
  const KernelConstants& constants = kernels.constants();
  EXPECT_DOUBLE_EQ(constants.matrix_efficiency, 0.9);
  EXPECT_EQ(constants.launch, Duration(4'000'000));
  EXPECT_EQ(constants.tiles[0].columns, 64);
  EXPECT_FALSE(constants.epilogue_bytes_per_cycle.has_value());
  EXPECT_FALSE(constants.taken_over);
}

// Clearing any one constant of good kernels is an error that names it.
TEST(Kernels, NoConstantHasADefault) {
  const std::vector<std::string> optional = {
      "preset",          "description",
      "precision",       "epilogue_bytes_per_cycle",
      "batch_alignment", "split_launch",
      "clock_by_share",  "taken_over",
      "fitted_row",      "measured",
      "use_measured",    "source"};
  const auto* descriptor = pb::Kernels::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const std::string& name = descriptor->field(i)->name();
    pb::Kernels proto = TestKernels();
    proto.GetReflection()->ClearField(&proto, descriptor->field(i));
    if (std::count(optional.begin(), optional.end(), name) > 0) {
      EXPECT_OK(Kernels::FromProto(proto)) << name;
    } else {
      EXPECT_THAT(
          Kernels::FromProto(proto),
          StatusIs(kInvalid, HasSubstr("kernels." + name + ": not set")));
    }
  }
}

TEST(Kernels, NameTheAttentionThatIsUsed) {
  const pb::Kernels two =
      With(TestKernels(),
           "flash_attention { name: 'other' rows: 64 columns: 64 min_rows: 16 "
           "efficiency: 0.5 backward_efficiency: 0.4 softmax_operations: 6 "
           "softmax_exposed: 1 backward_exposed: 1.5 combine: '1 us' }");
  ASSERT_OK_AND_ASSIGN(const Kernels first, Kernels::FromProto(two));
  EXPECT_EQ(first.constants().attention.rows, 128);
  ASSERT_OK_AND_ASSIGN(const Kernels second,
                       Kernels::FromProto(With(two, "attention: 'other'")));
  EXPECT_EQ(second.constants().attention.rows, 64);
  EXPECT_EQ(second.constants().flash_attention.size(), 2u);
  EXPECT_THAT(
      Kernels::FromProto(With(two, "attention: 'third'")),
      StatusIs(kInvalid,
               HasSubstr("kernels.attention: 'third' is not known here; these "
                         "kernels have flash, other")));
}

TEST(Kernels, EveryViolationIsReportedWithPathValueAndRule) {
  EXPECT_THAT(
      Kernels::FromProto(With(TestKernels(),
                              "matrix_efficiency: 1.5 memory_efficiency: nan "
                              "launch: '-1 us'")),
      StatusIs(kInvalid,
               testing::AllOf(
                   HasSubstr("kernels.matrix_efficiency: 1.5 is not above 0 "
                             "and at most 1\n"
                             "kernels.memory_efficiency: nan is not above 0 "
                             "and at most 1"),
                   HasSubstr("kernels.launch: '-1 us'"))));
}

TEST(Kernels, KnowTheChipsTheyWereMadeFor) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(TestChip()));
  ASSERT_OK_AND_ASSIGN(const Chip other,
                       Chip::FromProto(With(TestChip(), "name: 'square'")));
  ASSERT_OK_AND_ASSIGN(const Kernels kernels,
                       Kernels::FromProto(TestKernels()));
  EXPECT_TRUE(kernels.MadeFor(chip));
  EXPECT_FALSE(kernels.MadeFor(other));
}

// 80 GB of memory: 90 GB for the libraries leave nothing, 1 GiB does.
TEST(Kernels, MustLeaveMemory) {
  ASSERT_OK_AND_ASSIGN(const Chip chip, Chip::FromProto(TestChip()));
  ASSERT_OK_AND_ASSIGN(const Kernels kernels,
                       Kernels::FromProto(TestKernels()));
  EXPECT_OK(kernels.CheckRoomOn(chip));
  ASSERT_OK_AND_ASSIGN(
      const Kernels greedy,
      Kernels::FromProto(With(TestKernels(), "reserved_memory: '90 GB'")));
  EXPECT_THAT(greedy.CheckRoomOn(chip),
              StatusIs(kInvalid, HasSubstr("leaves nothing")));
}

}  // namespace
}  // namespace orrery
