#pragma once
// ReplicaLoads: what all replicas of all folded groups put on the links, and
// whether one of them may stand for all.
//
// Every replica of every call is planned and routed by itself. A step of a plan
// is a row k; a resource (a link) has a profile: of every row the load that all
// replicas together put on it, over its capacity. The argument is in folding.h;
// what is looked for here is:
//
//   1. Every replica of a call is planned alike: the same algorithm and
//      protocol, the same work, latencies and priority step by step.
//   2. Of the profiles, those count that no other covers (is nowhere less).
//      Every replica of a row meets every such profile that has the row.
//   3. Where that does not hold of all rows: whether it holds without those of
//      the calls that send least, and of each of these by itself.
//   4. How many replicas have to be kept so that all these profiles exist: none
//      but the simulated groups, those that share a node with them, or all.
//
// Cost: O(uses of all replicas). Where the fabric never blocks, ports cover the
// links between switches, which are then left out; and groups that lie alike
// are planned once (NodeResources), those on nodes with a link that is cut or
// slow by themselves.
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "sim/network/call_planner.h"
#include "topology/machine/system.h"
#include "workload/program/placed_program.h"

namespace orrery {

// Which replicas of a folded group its plans must carry.
enum class KeptReplicas : uint8_t { kNone, kNeighbours, kAll };

// A call that may not move bytes while any of the others does, which use the
// same links.
struct ApartCall {
  CallId call;
  std::vector<CallId> from;
};

struct FoldingVerdict {
  // Why some replica differs; unset: one may stand for all.
  std::optional<std::string> difference;
  KeptReplicas kept = KeptReplicas::kAll;
  // One may stand for all as long as these stay apart, and why it may not
  // otherwise.
  std::vector<ApartCall> apart = {};
  std::string unless_apart = {};
  // What all replicas of a call send over what its own group does; complete
  // unless there is a difference.
  IdVector<CallId, double> stands_for = {};
};

// Requires: `placed` is folded.
absl::StatusOr<FoldingVerdict> CompareReplicas(const PlacedProgram& placed,
                                               const System& system,
                                               CallPlanner& planner);

// Whether the fabric between nodes carries whatever its NICs send and receive,
// however they are paired: a tree of switches, sprayed over, in which every
// switch has as much bandwidth up as comes from below. Links that are cut or
// slow are those of chips, and bring no more than whole ones.
bool NeverBlocks(const System& system, const Graph& graph);

}  // namespace orrery
