#pragma once
// Folding: when one rank may be simulated for many, and what then still counts.
//
// Ranks that play the same role do the same kernels. One of them is simulated
// for all, each of its groups for all groups like it (its replicas), and the
// result must be that of simulating every rank, to the picosecond. The
// argument, by induction over the events of the run:
//
// 1. Start. All ranks of a role start alike. As long as their calls end at the
//    same times they stay alike, since a rank meets others in calls only.
// 2. Latency. A call's replicas wait alike before bytes flow if each, planned
//    by itself, gets the same algorithm, protocol, work and latencies.
// 3. Rates. Call a step of a plan, with all its replicas, a row k, and let L_lk
//    be what all replicas of k together put on link l per unit of rate, over
//    the link's capacity: its profile is the vector L_l. Suppose all replicas
//    of k run at one rate r_k, the max-min rates (fair_share.h) under
//        sum_k L_lk r_k <= 1 for every link l,
//    which is what the folded run solves. They are the max-min rates of the
//    whole machine if every replica has a bottleneck: a full link of its own on
//    which nobody grows further than it. The row has one in the folded run, of
//    profile v say. So it is enough that every replica of k meets a link of
//    profile v: it is as full, with the same rows on it.
// 4. Not all profiles matter. If u is nowhere less than v, a link of profile v
//    is full only when those of u are, and then u and v have the same rows
//    among those that run: u is as good a bottleneck. Hence the rule:
//        every replica of a row meets every profile that has the row and that
//        no other profile covers.
//    Max-min rates are unique, so these are the rates of the whole machine, and
//    calls end alike: back to 1.
// 5. What may be left out. Links between the switches of a tree that is as wide
//    above every switch as below it are covered by ports: a spray puts on a
//    link up (down) the mean of what comes in (goes out) below, over no less
//    capacity. A mean of profiles is full only if each of them is, which is the
//    argument of 4. And of the replicas only those are kept in the plans that
//    it takes for every profile of the rule to be on some link: often none but
//    the simulated groups, since ports are private; those that share a node
//    with them where chips share NICs; all where the fabric is tapered.
//
// 6. Rates are those of the rows that run, so the rule has to hold of the rows
//    that move bytes at one time only, and rows without a link in common do not
//    meet. Where it does not hold of all rows at once, the calls that send next
//    to nothing, as the norm of the gradients does along trees, are taken out
//    until it holds of the rest, and of each of them by itself. The folded run
//    is then the whole one if none of these moves bytes while another call on
//    its links does. Whether they do is read off the folded run itself: up to
//    the first time that they do, it is the whole one.
//
// 7. Where some ranks are unlike the rest (their links are cut or slow, their
//    experts get more), ranks fall into classes (rank_classes.h): a rank of a
//    class meets the same classes in each of its groups as the others of it.
//    One of a class is simulated for it, and the argument is the same: 1 holds
//    of every class, 2 to 6 speak of calls and links, whoever makes them. So
//    one slow link costs the simulation of those whom it tells apart, not of
//    all.
//
// Everything is decided from the routed loads of all replicas
// (replica_loads.h). What can be told without them is told before (symmetry.h,
// network_symmetry.h): ranks placed by a map of their own, routes picked by a
// hash. Anything else that is not shown to be alike is refused, and every rank
// is simulated.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <optional>
#include <string>

#include "sim/folding/replica_loads.h"
#include "sim/network/call_planner.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/machine/system.h"
#include "workload/plan/parallel_layout.h"
#include "workload/program/placed_program.h"

namespace orrery {

// Why every rank has to be simulated, as far as it can be told without routing;
// or nothing.
std::optional<std::string> WhyNotFold(const ParallelLayout& layout,
                                      const System& system);

// Whether replicas of a folded program meet the same traffic; if so, those that
// its plans need not carry are dropped. Some calls may have to stay apart.
// Requires: WhyNotFold has said nothing.
absl::StatusOr<FoldingVerdict> TrimReplicas(PlacedProgram& placed,
                                            const System& system,
                                            CallPlanner& planner);
// The same by a verdict on a program whose groups are the same. How many calls
// one stands for is left open: calls may be more.
void TrimReplicas(PlacedProgram& placed, const System& system,
                  const FoldingVerdict& verdict);

// Whether none of these calls moved bytes while another that it has to stay
// apart from did, or the same call of another group.
bool RanApart(absl::Span<const ApartCall> calls, const Transfers& transfers,
              const TransferLog& log);

}  // namespace orrery
