#pragma once
// Inference cases for storms: any model of the catalogue with few layers, or
// one made up, on any machine (draw_machine.h), served by any engine under any
// legal plan: degrees, formats, chunks, drafts, halves, pools.
#include <cstdint>

#include "proto/scenario.pb.h"

namespace orrery {

// Resolved and valid. Depends on seed and number alone; over the numbers the
// presets come around and around. Small: tens of chips, a few layers.
pb::Scenario DrawInference(uint64_t seed, int64_t number);

}  // namespace orrery
