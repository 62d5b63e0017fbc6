#pragma once
// DType: the number formats of operands.
//
//   Name(DType::kBf16)                      "BF16"
//   Bits(DType::kFp4)                       4
//   StorageBytes(DType::kFp4, 3)            2 bytes: whole bytes, rounded up
#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace orrery {

namespace pb {
enum DType : int;
}  // namespace pb

enum class DType : uint8_t {
  kFp64,
  kFp32,
  kTf32,
  kBf16,
  kFp16,
  kFp8,
  kInt8,
  kFp4,
  kInt4,
  kFp12,  // E5M6: storage only
};

inline constexpr std::array<DType, 10> kAllDTypes = {
    DType::kFp64, DType::kFp32, DType::kTf32, DType::kBf16, DType::kFp16,
    DType::kFp8,  DType::kInt8, DType::kFp4,  DType::kInt4, DType::kFp12};

// As in the schema.
std::string_view Name(DType dtype);

// Of one element in memory; TF32 lives there as FP32.
int Bits(DType dtype);
inline double BytesPerElement(DType dtype) { return Bits(dtype) / 8.0; }
// Of `elements` packed densely, rounded up to whole bytes.
Bytes StorageBytes(DType dtype, int64_t elements);

// Bits of one weight stored in `dtype`, with its part of the scales that the
// format comes with: INT4 in groups of 128 with a 16-bit scale and a 4-bit zero
// (GPTQ, AWQ), FP4 in blocks of 32 with an 8-bit scale (OCP MX). INT8 and FP8
// have one per row or larger block, which is next to nothing. With `group` that
// many weights share a scale and a zero of 16 bits each (gpt-fast, tinygemm).
double StoredWeightBits(DType dtype, int group = 0);

// Requires: `dtype` is not DTYPE_UNSPECIFIED.
DType FromProto(pb::DType dtype);

}  // namespace orrery
