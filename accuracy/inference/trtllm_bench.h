#pragma once
// trtllm-bench chooses how many sequences and tokens go into a step by what
// fits into the cache, if nobody says (NVIDIA/TensorRT-LLM,
// tensorrt_llm/bench/build/tuning.py, and get_settings in
// tensorrt_llm/bench/benchmark/utils/general.py).
#include <absl/status/statusor.h>

#include <cstdint>

#include "run/scenario.h"

namespace orrery {

struct StepSizes {
  int64_t batch = 0;
  int64_t tokens = 0;
};

// If so many requests fit. Prompts are not cut: one fits beside a full batch.
StepSizes TrtllmBenchSizes(int64_t fit, int64_t prompt, int64_t output,
                           int64_t pipeline);

// The scenario with such steps.
absl::StatusOr<ResolvedScenario> RunByTrtllmBench(
    const ResolvedScenario& scenario);

}  // namespace orrery
