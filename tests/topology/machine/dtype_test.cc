#include "topology/machine/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "proto/source.pb.h"

namespace orrery {
namespace {

TEST(DType, NamesAreThoseOfTheSchemaAndConvertBack) {
  std::set<std::string> names;
  for (const DType dtype : kAllDTypes) {
    pb::DType proto;
    const std::string name(Name(dtype));
    ASSERT_TRUE(pb::DType_Parse(name, &proto)) << name;
    EXPECT_EQ(FromProto(proto), dtype);
    names.insert(name);
  }
  // Every name of the schema but UNSPECIFIED.
  EXPECT_EQ(names.size(),
            static_cast<size_t>(pb::DType_descriptor()->value_count() - 1));
}

TEST(DType, StorageIsWholeBytesRoundedUp) {
  EXPECT_EQ(StorageBytes(DType::kBf16, 3), Bytes(6));
  EXPECT_EQ(StorageBytes(DType::kTf32, 3), Bytes(12));
  EXPECT_EQ(StorageBytes(DType::kFp4, 3), Bytes(2));  // 12 bits
  EXPECT_EQ(StorageBytes(DType::kFp8, 0), Bytes(0));
  EXPECT_DOUBLE_EQ(BytesPerElement(DType::kInt4), 0.5);
}

TEST(DType, WeightsComeWithTheirScales) {
  EXPECT_DOUBLE_EQ(StoredWeightBits(DType::kInt4), 4 + (16 + 4) / 128.0);
  EXPECT_DOUBLE_EQ(StoredWeightBits(DType::kFp4), 4 + 8 / 32.0);
  EXPECT_DOUBLE_EQ(StoredWeightBits(DType::kInt8), 8);
  // A scale and a zero of 16 bits each for 32 weights: one bit more.
  EXPECT_DOUBLE_EQ(StoredWeightBits(DType::kInt4, 32), 5);
  EXPECT_DOUBLE_EQ(StoredWeightBits(DType::kInt8, 64), 8.5);
}

}  // namespace
}  // namespace orrery
