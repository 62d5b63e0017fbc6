#pragma once
// The storm of inference cases: any model on any machine served under any plan
// (draw_inference.h), held against these laws.
//
//   of every run: within bounds, critical path = step, breakdown = step, bytes
//                           are conserved
//   folded = whole          prefill and decode step, to the picosecond
//   closed form             without overlap and sharing: within 0.1 %;
//   pipelines
//                           1 %
//   and those of requests (request_laws.h)
//   comes to an end         no crash, no refusal of a legal case
#include "run/scenario.h"
#include "tests/storm/storm.h"

namespace orrery {

Storm InferenceStorm();

// One case that is already there.
void CheckInference(const ResolvedScenario& scenario, StormSheet& sheet);

}  // namespace orrery
