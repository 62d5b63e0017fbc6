#pragma once
// The transfers of a placed program: a plan for every call of its program.
//
//   ASSIGN_OR_RETURN(Network network, Network::Make(system, options));
//   ASSIGN_OR_RETURN(const Transfers transfers, PlanTransfers(placed,
//   network)); Simulate(placed.program, transfers, {}, sink);
//
// A folded group stands for others that run at the same time: its plans carry
// the load of all of them. Links that no plan tells apart, which a folded
// machine has by the thousand, become one resource.
#include <absl/status/statusor.h>

#include "sim/network/network.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/placed_program.h"

namespace orrery {

absl::StatusOr<Transfers> PlanTransfers(const PlacedProgram& placed,
                                        Network& network);

// The same for any program: `groups` says who is in each of its groups,
// `traffic` how tokens travel in calls that are routed.
absl::StatusOr<Transfers> PlanTransfers(
    const Program& program, const IdVector<GroupId, PlacedGroup>& groups,
    Network& network, const ExpertTraffic* traffic = nullptr);

}  // namespace orrery
