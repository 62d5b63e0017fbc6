#pragma once
// How calls that meet on the links of an adaptive fabric share its ways.
//
// A router that adapts sees the queues of its links, whoever fills them: groups
// that do the same at the same time, such as the rings of all data ranks, find
// a global link full that each by itself would leave half idle. One split
// between minimal routes and detours is found for all of them together, from
// what all of them put on every link, and weighed against the two ways that
// leave no choice:
//
//   minimal   every call sprayed, by the algorithm that is cheapest so
//   split     the share x that minimises the busiest link of all
//   detours   every call by Valiant routes
//
// Each is worth the time of its slowest call: what it waits for, and the longer
// of its own wire time and the busiest of its links with all of them on it. The
// fastest is taken, of equal ones the first. So calls that start together are
// never slower than under either fixed rule.
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include "sim/network/collective_plan.h"
#include "sim/network/network_resources.h"
#include "topology/routing/route.h"

namespace orrery {

// One of the calls, with the machine to itself.
struct PeerCall {
  Duration solo{};
  const CollectivePlan& plan;
};

// Plans all of them, routed with these shares, and shows each; always in the
// same order. A plan need not outlive the call of `visit`.
using VisitPeers = absl::FunctionRef<absl::Status(
    const AdaptiveShares&, absl::FunctionRef<void(const PeerCall&)> visit)>;

// `islands`: whether chips are on islands, so that traffic is inside them or
// between them; else all of it is between chips.
absl::StatusOr<AdaptiveShares> ChooseShares(VisitPeers peers,
                                            const NetworkResources& resources,
                                            bool islands);

}  // namespace orrery
