#pragma once
// CallPlanner: calls as transfer plans for the engine.
//
// For a call (what, how many bytes, which chips) it picks algorithm and
// protocol by modelled cost, as NCCL does, unless they are given, and turns
// them into steps over the network's resources. A broadcast or reduce may be
// run as the all-reduce that contains it.
//
//   CallPlanner planner(network, {.fidelity = Fidelity::kFluid});
//   ASSIGN_OR_RETURN(const PlannedCall call,
//                    planner.Plan({CommunicationKind::kAllReduce, MB(64),
//                                  chips}));
//   call.solo     // how long it takes with the machine to itself
//   call.plan     // its steps over network.resources()
//
// One per run: it keeps the schedules it has routed, since calls of one group
// differ in bytes only, and is not shared between threads. Many planners may
// use one network at a time. A plan depends on the call alone, not on those
// planned before.
//
// Where routing is adaptive, and calls meet on links, a call may name its
// peers: the split between minimal routes and detours is then one for all of
// them. adaptive_choice.h says how it is found.
#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/network/collective_call.h"
#include "sim/network/collective_plan.h"
#include "sim/network/group_placer.h"
#include "sim/network/network.h"
#include "sim/network/schedule_cache.h"

namespace orrery {

struct PlannerOptions {
  Fidelity fidelity = Fidelity::kFluid;
  // Given instead of chosen.
  std::optional<CollectiveAlgorithm> algorithm = std::nullopt;
  std::optional<std::string> protocol = std::nullopt;
  // Pieces of the pipelined algorithms; unset: many, or a few where every
  // message is simulated.
  std::optional<int32_t> segments = std::nullopt;
  // Plans tell of resources that carry the same at any time
  // (NetworkResources::first_alike) the first alone. For who merges them
  // anyway, as PlanTransfers does: it takes a fraction of the time.
  bool one_of_alike = false;
};

struct PlannedCall {
  CollectiveAlgorithm algorithm;
  std::string protocol;
  Duration solo{};
  PlanSteps plan;
  // What the plan was made of, kept by the planner; null for a group of one.
  const RoutedSchedule* routed = nullptr;
  PlanEfficiency efficiency = {};
  // By the group itself, without those it stands for, at any fidelity.
  double sent_by_chips = 0;
};

class CallPlanner {
 public:
  // `network` must outlive it, and stay where it is.
  explicit CallPlanner(const Network& network, PlannerOptions options = {});

  const Network& network() const { return network_; }
  const PlannerOptions& options() const { return options_; }

  // A group of one chip takes no time. Requires: all calls that move tokens
  // have the same traffic.
  absl::StatusOr<PlannedCall> Plan(const CollectiveCall& call);

  // Whether peers matter: where routing is adaptive and calls meet on links.
  bool WeighsPeers() const {
    return router_->routing().Has(Routing::kAdaptive) &&
           options_.fidelity != Fidelity::kClosedForm;
  }
  // These as peers, kept as long as the planner; equal ones are one. The order
  // does not matter.
  const CallPeers* PeersOf(std::vector<std::vector<VertexId>> groups);

  // Drops the schedules of all calls so far if they take much memory, and with
  // them PlannedCall::routed. Plans do not depend on it.
  void ForgetIfMany() { schedules_.ForgetIfMany(); }
  // What the schedules so far take, and about the most they ever do.
  Bytes kept() const { return schedules_.kept(); }
  static constexpr Bytes kMostKept = ScheduleCache::kMostKept;

 private:
  using Shares = std::optional<AdaptiveShares>;
  struct Choice {
    CommunicationKind kind;  // of the schedule
    CollectiveAlgorithm algorithm;
    Shares shares;
    ProtocolPair protocols;
    CallOverhead overhead;
    Duration solo;
    CollectivePlan plan;
  };
  // What to try for a call. Fails if the one that is given cannot be.
  absl::StatusOr<std::vector<CollectiveAlgorithm>> Algorithms(
      const CollectiveCall& call, const GroupPlacement& placement);
  absl::StatusOr<Choice> Cheapest(const CollectiveCall& call,
                                  const Shares& shares);
  // How calls with peers share the ways of an adaptive fabric: unset without.
  absl::StatusOr<Shares> SharesOf(const CollectiveCall& call);
  // Puts the cheapest way to run `call` in `best` if it is cheaper; else says
  // in `why_not` why there is none.
  absl::Status Consider(const CollectiveCall& call, const Shares& shares,
                        std::optional<Choice>& best, absl::Status& why_not);
  // With the load of all groups that the call stands for.
  absl::StatusOr<PlanSteps> StepsOf(const CollectiveCall& call,
                                    const Choice& choice);

  const Network& network_;
  PlannerOptions options_;
  std::unique_ptr<Router> router_;
  GroupPlacer placer_;
  ScheduleCache schedules_;
  // By their groups; at fixed addresses.
  std::map<std::vector<std::vector<VertexId>>, CallPeers> peers_;
  // Of calls with peers: kind, shape, bytes and the number of the peers.
  std::map<std::tuple<CommunicationKind, CallShape, int64_t, int32_t>,
           AdaptiveShares>
      shares_;
  // What was asked last: groups that lie alike come one after the other.
  struct KnownLayout {
    CommunicationKind kind;
    GroupLayout layout;
    std::vector<CollectiveAlgorithm> applicable;
  };
  std::optional<KnownLayout> last_layout_;
};

}  // namespace orrery
