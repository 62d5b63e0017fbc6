#pragma once
// RunKind: what kind of run a measurement or a scenario is, as far as it
// decides which measured runs resemble it.
#include <cstdint>
#include <string>

namespace orrery {

struct RunKind {
  std::string chip = {};    // "h100_sxm"
  std::string system = {};  // "dgx_h100_ib400"
  std::string software =
      {};  // the framework of a step, the engine of a request
  bool experts = false;
  std::string precision = {};  // of the weights: "BF16"
  int64_t chips = 0;
  int64_t sequence = 0;  // tokens, of a request with its output
  int64_t hidden = 0;    // width of the model
};

}  // namespace orrery
