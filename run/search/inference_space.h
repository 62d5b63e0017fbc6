#pragma once
// InferenceSpace: the ways to serve a model on a machine that a search looks
// at, as settings to type.
//
// Every combination of
//   tensor, pipeline   divisors of the chips, up to 64 and 16; data takes what
//                      is left
//   expert             1, or all ranks of a stage, for mixtures of experts;
//                      with as few redundant experts as make it divide
//   batch              a power of two for each replica, up to 4096 together,
//                      where more of it is better
//   prefill_chunk      whole prompts, or pieces of 512, 2048, 8192 tokens,
//                      unless prefill has a pool of its own
//   pools              with separate pools: how many nodes are for prefill, and
//                      tensor and expert degrees of each pool
//   precision          only if asked for, as it changes what is computed: of
//                      products and cache, among the chip's formats
// except for fields that are kept as given. Whether a combination is legal is
// for InferencePlan to say.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <vector>

#include "run/scenario.h"

namespace orrery {

enum class ServingAxis : uint8_t {
  kTensor,
  kPipeline,
  kExpert,
  kBatch,
  kChunk,
  kPools,
  kPrecision,
};
inline constexpr int kServingAxes = 7;
// "tensor", "batch", "prefill_chunk", "pools", ...
std::string_view Name(ServingAxis axis);
// The error lists them.
absl::StatusOr<ServingAxis> ParseServingAxis(const std::string& name);

struct ServingSpaceOptions {
  std::vector<ServingAxis> kept = {};
  // Whether batches are searched: a larger one is more work.
  bool batches = false;
  bool precisions = false;
};

// Settings of each candidate, PATH=VALUE; none of two the same. The scenario as
// it was said is not among them unless it is of the space.
std::vector<std::vector<std::string>> ServingSpace(
    const ResolvedScenario& scenario, const ServingSpaceOptions& options);

// "TP 4 EP 8, batch 256, chunks of 2048".
std::string DescribeServing(absl::Span<const std::string> settings);

}  // namespace orrery
