#pragma once
// Laws of transfers for storms: of links, and of calls by themselves.
#include <optional>
#include <string>

#include "run/simulated_run.h"
#include "sim/network/collective_call.h"
#include "sim/network/network.h"
#include "tests/storm/storm.h"

namespace orrery {

// Every resource carried what the plans of the run's calls put on it, call by
// call, and nothing else; otherwise which did not.
std::optional<std::string> WhyNotConserved(const SimulatedRun& run);

// One call by itself, at both fidelities, by the algorithm given or the
// cheapest: the closed form is FLUID, neither FLUID nor STEPPED is faster than
// the bound, and they agree.
void CheckFidelities(const CollectiveCall& call, const Network& network,
                     std::optional<CollectiveAlgorithm> algorithm,
                     StormSheet& sheet);

// Some calls of the run, each by itself, at both fidelities. Requires: the run
// is not folded.
void CheckCallsAlone(const SimulatedRun& run, const Network& network,
                     StormSheet& sheet);

}  // namespace orrery
