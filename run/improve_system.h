#pragma once
// The same machine with one thing better: for "what if".
//
//   ASSIGN_OR_RETURN(const pb::Scenario faster,
//                    Improved(scenario, Improvement::kCompute, 2));
#include <absl/status/statusor.h>

#include <array>
#include <string_view>

#include "proto/scenario.pb.h"

namespace orrery {

enum class Improvement {
  kCompute,            // matrix, vector and special-function rates, and clocks
  kMemoryBandwidth,    // main memory
  kCacheBandwidth,     // the last cache before it, shared by the chip
  kScaleUpBandwidth,   // links inside an island
  kScaleOutBandwidth,  // links and NICs between islands
  kLatency,            // of links, NICs and the collective library
  kLaunch,             // starting kernels
};
inline constexpr std::array kImprovements = {Improvement::kCompute,
                                             Improvement::kMemoryBandwidth,
                                             Improvement::kCacheBandwidth,
                                             Improvement::kScaleUpBandwidth,
                                             Improvement::kScaleOutBandwidth,
                                             Improvement::kLatency,
                                             Improvement::kLaunch};

std::string_view Name(Improvement improvement);
// Whether links or what is sent over them get better.
bool ImprovesNetwork(Improvement improvement);

// The scenario with a better system or better kernels: rates times `factor`,
// times divided by it. Requires: a resolved and valid scenario.
absl::StatusOr<pb::Scenario> Improved(const pb::Scenario& scenario,
                                      Improvement improvement, double factor);

// "3.35 TB/s" times 2 is "6.7 TB/s": the unit stays.
absl::StatusOr<std::string> ScaledQuantity(const std::string& text,
                                           double factor);

}  // namespace orrery
