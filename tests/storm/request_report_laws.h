#pragma once
// Laws of what a report says of requests, and of what a rank holds for them,
// from formulas:
//
//   times     first token = prefill + what of the cache's way is exposed (+ the
//             first step, where it brings that token); end to end = first token
//             + the others
//   rates     tokens of a batch over its time; of pools the slowest part's
//   cache     layer by layer: tokens, or the window, over the context ranks, in
//             whole blocks, of the heads that a rank has
//   weights   of the products of a layer = what a rank holds of it; the ranks
//             of a tensor group together hold the layer and its copies
//   capacity  the largest batch and the longest context fit, one more does not
//   moved     no NIC is faster than its rate: a decode rank gets its share of
//             every prompt of its replica
#include "proto/report.pb.h"
#include "run/scenario.h"
#include "tests/storm/storm.h"

namespace orrery {

// Requires: `report` is that of the scenario, simulated.
void HoldRequestReport(const ResolvedScenario& scenario,
                       const pb::Report& report, StormSheet& sheet);

// The memory of a rank, and what moves between pools.
void HoldRequestMemory(const ResolvedScenario& scenario, StormSheet& sheet);

// The weights of one layer on one rank under these degrees, with so many copies
// of experts beyond one of each.
void HoldLayerWeights(const Model& model, const ParallelLayout& layout,
                      int redundant_experts, StormSheet& sheet);

}  // namespace orrery
