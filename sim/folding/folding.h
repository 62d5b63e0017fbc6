#pragma once
// Folding: when one rank may be simulated for many, and what then still counts.
//
// Ranks that play the same role do the same kernels. They do them at the same
// time, to the picosecond, if nothing tells them apart: if their groups lie
// alike on the machine (symmetry.h), if the network treats groups that lie
// alike alike (network_symmetry.h), and if the links they share carry the same
// for each of them. Then one rank stands for all, each of its groups for all
// groups like it, and the replicas' bytes are put on the links as well.
//
// Of these replicas only those that can meet the group on a full link matter:
// between nodes with a full-bisection fabric nobody slows anybody else down, so
// only groups that share a node with it are kept, and where chips have ports of
// their own not even those (KeepNeighbours).
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/machine/system.h"
#include "workload/plan/parallel_layout.h"
#include "workload/program/placed_group.h"

namespace orrery {

// Why every rank has to be simulated, or nothing. `nearly`: groups that may
// meet different traffic are taken as alike, which is near and not exact.
std::optional<std::string> WhyNotFold(const ParallelLayout& layout,
                                      const System& system,
                                      Arbitration arbitration, bool nearly);

// Drops the replicas of folded groups that cannot slow them down.
void KeepNeighbours(const System& system,
                    IdVector<GroupId, PlacedGroup>& groups);

}  // namespace orrery
