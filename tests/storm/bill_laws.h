#pragma once
// Laws of what a machine is made of and costs: every port and every cable of
// its graph is in the bill exactly once, and what is bought draws its power.
// Ports are counted here vertex by vertex.
#include "proto/report.pb.h"
#include "run/scenario.h"
#include "tests/storm/storm.h"

namespace orrery {

// Nothing where something has no price.
void HoldBill(const ResolvedScenario& scenario, StormSheet& sheet);

// The energy of a step: hosts, switches and optics draw what they do all the
// time, and chips between their base and their limit.
void HoldDraw(const ResolvedScenario& scenario, const pb::Report& report,
              StormSheet& sheet);

}  // namespace orrery
