#pragma once
// RunKind: what kind of run a measurement or a scenario is, as far as it
// decides which measured runs resemble it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace orrery {

// The sizes that decide how long a run takes.
enum class RunScale : size_t {
  kChips,
  kSequence,  // tokens, of a request with its output
  kHidden,    // width of the model
  kLayers,
  kMlpWidth,
  kVocabulary,
  kWindow,  // tokens that attention looks back at; without a window, all
  kBatch,   // the micro-batch of a step, the batch of requests
  kExperts,
  kExpertWidth,
};
inline constexpr size_t kRunSizes = 10;
// By RunScale; 0 is a size that the run does not have.
using RunSizes = std::array<int64_t, kRunSizes>;

struct RunKind {
  std::string chip = {};    // "h100_sxm"
  std::string system = {};  // "dgx_h100_ib400"
  std::string software =
      {};  // the framework of a step, the engine of a request
  bool experts = false;
  std::string precision = {};  // of the weights: "BF16"
  // The family of the pipeline schedule: "ONE_F_ONE_B"; empty without a
  // pipeline.
  std::string schedule = {};
  RunSizes sizes = {};
};

}  // namespace orrery
