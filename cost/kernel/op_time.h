#pragma once
// OpTime: how long one op takes on a chip, and why.
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace orrery {

// What a kernel's time is made of for the most part.
enum class Limit : uint8_t {
  kMatrix,   // the matrix units
  kVector,   // pointwise arithmetic and exponentials
  kCache,    // the last cache's bandwidth
  kMemory,   // main memory's bandwidth
  kLatency,  // the length of the main loop, with too few tiles to hide it
  kLaunch,   // starting the kernel at all
};
std::string_view Name(Limit limit);

// Where a time comes from.
enum class Provenance : uint8_t {
  kModel,         // the model, with constants fitted on this chip
  kTable,         // a measured table that covers the shape
  kExtrapolated,  // the model, with constants not fitted on this chip
};
std::string_view Name(Provenance provenance);

struct OpTime {
  Duration time{};
  // The part of it that is not work: launches.
  Duration launch{};
  // Arithmetic of the matrix units as executed.
  Flops flops{};
  // Traffic of main memory and of the last cache.
  Bytes memory_bytes{};
  Bytes cache_bytes{};
  Limit limit = Limit::kLaunch;
  Provenance provenance = Provenance::kModel;
};

}  // namespace orrery
