#pragma once
// The same machine with one thing better: for "what if".
#include <absl/status/statusor.h>

#include <array>
#include <string_view>

#include "proto/system.pb.h"

namespace orrery {

enum class Improvement {
  kCompute,            // matrix, vector and special-function rates, and clocks
  kMemoryBandwidth,    // main memory
  kScaleUpBandwidth,   // links inside an island
  kScaleOutBandwidth,  // links and NICs between islands
  kLatency,            // of links, NICs and the collective library
  kLaunch,             // starting kernels
};
inline constexpr std::array kImprovements = {
    Improvement::kCompute,          Improvement::kMemoryBandwidth,
    Improvement::kScaleUpBandwidth, Improvement::kScaleOutBandwidth,
    Improvement::kLatency,          Improvement::kLaunch};

std::string_view Name(Improvement improvement);

// Rates times `factor`, times divided by it. Requires: a resolved and valid
// system.
absl::StatusOr<pb::System> Improved(const pb::System& system,
                                    Improvement improvement, double factor);

// "3.35 TB/s" times 2 is "6.7 TB/s": the unit stays.
absl::StatusOr<std::string> ScaledQuantity(const std::string& text,
                                           double factor);

}  // namespace orrery
