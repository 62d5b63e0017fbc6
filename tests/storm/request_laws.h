#pragma once
// Laws of requests for storms, which hold on any machine:
//
//   a longer context is not faster, nor is a larger batch: time per step
//   no step beats streaming   weights that it needs and the cache, over the
//                             bandwidth of the memory
//   more bandwidth is not slower   of the memory, of the links
//   one chunk = plain prefill, and chunks do not change the arithmetic
//   few steps = every token   within the bound that is printed, and 0.1 %
//   drawn steps take what the report adds up   but for what a host that is
//   ahead
//                             hides; steps that are not drawn are told, to the
//                             end that the report has
//   a machine nobody built is not vouched for   memory a hundred times as fast
//   no token is lost          steps bring the output; pools move the cache of
//                             every prompt, to the byte
//   largest batch             fits, and one more does not
#include "run/scenario.h"
#include "tests/storm/storm.h"

namespace orrery {

void CheckRequest(const ResolvedScenario& scenario, StormSheet& sheet);

}  // namespace orrery
