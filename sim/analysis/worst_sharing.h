#pragma once
// The worst that sharing can do to a program, whatever happens when: bounds
// that follow from the program and the plans of its calls alone.
#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/program.h"

namespace orrery {

// The most that calls can put on each resource at one time. Groups with a
// stream of a rank in common run one after the other, so of those that have
// their first member in common the one with most counts.
IdVector<ResourceId, double> MostAtOnce(const Program& program,
                                        const Transfers& transfers);

// By how much collectives that only wait can slow down the kernels of a role.
double SpinningSlowness(const Role& role);

// By how much the kernels of a role can be slowed down: nothing if they can be
// stopped. A kernel needs all of its chip at most.
std::optional<double> MostSlowness(const Role& role, size_t streams);

// The most that kernels lose to calls while these run, on all ranks together; a
// path is on one of them at a time. `calls`: how long each takes at most.
// Nothing if kernels share a chip.
std::optional<Duration> MostLost(const Program& program,
                                 const IdVector<CallId, Duration>& calls);

}  // namespace orrery
