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

#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/units.h"
#include "sim/network/call_planner.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/traffic/expert_traffic.h"
#include "workload/program/placed_program.h"

namespace orrery {

// What the transfers of a program will take of this computer's memory.
struct TransferSize {
  int64_t plans = 0;  // distinct calls
  Bytes steps{};      // as they are made, and as they are stored
  Bytes routes{};     // of the schedules that the planner keeps
  Bytes state{};      // of the engine, for steps under way
  Bytes total() const { return steps + routes + state; }
};
// Says no to what would take too much.
using AllowTransfers = std::function<absl::Status(const TransferSize&)>;

// Asks `allow` before most of the plans are made: calls of a kind, over groups
// of one size, have plans of one size, so that one of each is enough to tell.
// It is asked after each of these, with what is known by then; a no counts when
// all are known, or these few take much themselves.
absl::StatusOr<Transfers> PlanTransfers(const PlacedProgram& placed,
                                        CallPlanner& planner,
                                        const AllowTransfers& allow = {});

// The same for any program: `groups` says who is in each of its groups,
// `traffic` how tokens travel. Requires: `traffic` if any call of the program
// moves tokens.
absl::StatusOr<Transfers> PlanTransfers(
    const Program& program, const IdVector<GroupId, PlacedGroup>& groups,
    CallPlanner& planner, const ExpertTraffic* traffic = nullptr,
    const AllowTransfers& allow = {});

}  // namespace orrery
