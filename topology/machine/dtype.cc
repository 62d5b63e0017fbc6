#include "topology/machine/dtype.h"

#include "base/check.h"
#include "proto/enum_names.h"
#include "proto/source.pb.h"

namespace orrery {
namespace {

pb::DType ToProto(DType dtype) {
  switch (dtype) {
    case DType::kFp64:
      return pb::FP64;
    case DType::kFp32:
      return pb::FP32;
    case DType::kTf32:
      return pb::TF32;
    case DType::kBf16:
      return pb::BF16;
    case DType::kFp16:
      return pb::FP16;
    case DType::kFp8:
      return pb::FP8;
    case DType::kInt8:
      return pb::INT8;
    case DType::kFp4:
      return pb::FP4;
    case DType::kInt4:
      return pb::INT4;
    case DType::kFp12:
      return pb::FP12;
  }
  CHECK(false) << "no such DType";
  return pb::DTYPE_UNSPECIFIED;
}

}  // namespace

std::string_view Name(DType dtype) { return EnumName(ToProto(dtype)); }

int Bits(DType dtype) {
  switch (dtype) {
    case DType::kFp64:
      return 64;
    case DType::kFp32:
    case DType::kTf32:
      return 32;
    case DType::kBf16:
    case DType::kFp16:
      return 16;
    case DType::kFp12:
      return 12;
    case DType::kFp8:
    case DType::kInt8:
      return 8;
    case DType::kFp4:
    case DType::kInt4:
      return 4;
  }
  CHECK(false) << "no such DType";
  return 0;
}

double StoredWeightBits(DType dtype, int group) {
  constexpr double kInt4Scales = (16 + 4) / 128.0;
  constexpr double kFp4Scales = 8 / 32.0;
  constexpr double kScaleAndZero = 16 + 16;
  if (group > 0) return Bits(dtype) + kScaleAndZero / group;
  switch (dtype) {
    case DType::kInt4:
      return 4 + kInt4Scales;
    case DType::kFp4:
      return 4 + kFp4Scales;
    default:
      return Bits(dtype);
  }
}

Bytes StorageBytes(DType dtype, int64_t elements) {
  return Bytes((elements * Bits(dtype) + 7) / 8);
}

DType FromProto(pb::DType dtype) {
  for (const DType candidate : kAllDTypes) {
    if (ToProto(candidate) == dtype) return candidate;
  }
  CHECK(false) << "not a legal DType: " << static_cast<int>(dtype);
  return DType::kFp64;
}

}  // namespace orrery
