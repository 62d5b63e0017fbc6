#pragma once
// The transfers of a lowered step: a plan for every call of its program.
//
//   ASSIGN_OR_RETURN(Network network, Network::Make(system, options));
//   ASSIGN_OR_RETURN(const Transfers transfers, PlanTransfers(step, network));
//   Simulate(step.program, transfers, {}, sink);
//
// A folded group stands for others that run at the same time: its plans carry
// the load of all of them. Links that no plan tells apart, which a folded
// machine has by the thousand, become one resource.
#include <absl/status/statusor.h>

#include "sim/network/network.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/lowering/lower.h"

namespace orrery {

absl::StatusOr<Transfers> PlanTransfers(const LoweredStep& step,
                                        Network& network);

// The same for any program: `groups` says who is in each of its groups,
// `traffic` how tokens travel in calls that are routed.
absl::StatusOr<Transfers> PlanTransfers(
    const Program& program, const IdVector<GroupId, PlacedGroup>& groups,
    Network& network, const ExpertTraffic* traffic = nullptr);

}  // namespace orrery
