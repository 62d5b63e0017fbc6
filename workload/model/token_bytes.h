#pragma once
// TokenBytes: what the elements of tokens take on their way to experts and
// back. Narrow ones travel with scales.
#include <cstdint>

#include "base/units.h"
#include "topology/machine/dtype.h"

namespace orrery {

// A scale in FP32 for every so many numbers of a narrow format (DeepSeek-V3,
// arXiv 2412.19437, section 3.3.2).
inline constexpr int64_t kScaledTogether = 128;

inline Bytes TokenBytes(DType dtype, int64_t elements) {
  Bytes bytes = StorageBytes(dtype, elements);
  if (Bits(dtype) < 16) {
    bytes += StorageBytes(DType::kFp32, elements / kScaledTogether);
  }
  return bytes;
}

}  // namespace orrery
