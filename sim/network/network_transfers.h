#pragma once
// The transfers of a placed program: a plan for every call of its program.
//
//   ASSIGN_OR_RETURN(const Network network, Network::Make(system));
//   CallPlanner planner(network, options);
//   ASSIGN_OR_RETURN(const Transfers transfers,
//                    PlanTransfers(placed, planner));
//   Simulate(placed.program, transfers, {}, sink);
//
// A folded group stands for others that run at the same time: its plans carry
// the load of all of them. Links that no plan tells apart, which a folded
// machine has by the thousand, become one resource.
#include <absl/status/statusor.h>

#include <limits>

#include "base/ids.h"
#include "base/units.h"
#include "sim/network/call_planner.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/traffic/expert_traffic.h"
#include "workload/program/placed_program.h"

namespace orrery {

inline constexpr Bytes kAnySize{std::numeric_limits<int64_t>::max()};

// Fails as soon as it is known that plans would take more than `budget`: calls
// of a kind, over groups of one size, have plans of one size, so that one of
// each is enough to tell.
absl::StatusOr<Transfers> PlanTransfers(const PlacedProgram& placed,
                                        CallPlanner& planner,
                                        Bytes budget = kAnySize);

// The same for any program: `groups` says who is in each of its groups,
// `traffic` how tokens travel. Requires: `traffic` if any call of the program
// moves tokens.
absl::StatusOr<Transfers> PlanTransfers(
    const Program& program, const IdVector<GroupId, PlacedGroup>& groups,
    CallPlanner& planner, const ExpertTraffic* traffic = nullptr,
    Bytes budget = kAnySize);

}  // namespace orrery
