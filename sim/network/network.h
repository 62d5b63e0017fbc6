#pragma once
// Network: the machine's links, and how collectives run over them.
//
// For a call (what, how many bytes, which chips) the network picks algorithm
// and protocol by modelled cost, as NCCL does, unless they are given, and turns
// them into a transfer plan for the engine:
//
//   ASSIGN_OR_RETURN(Network network, Network::Make(system, {}));
//   ASSIGN_OR_RETURN(const PlannedCall call,
//                    network.Plan({CommunicationKind::kAllReduce, MB(64),
//                    chips}));
//   call.solo     // how long it takes with the machine to itself
//   call.plan     // its steps over network.resources()
//
// Latencies, efficiencies and what the library can do are calibration data of
// the system; see NetworkCalibration. Routed schedules are kept: calls of the
// same group differ in bytes only.
#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/network/collective_plan.h"
#include "topology/collectives/collective.h"
#include "topology/collectives/reduction_tree.h"
#include "topology/graph/graph.h"
#include "topology/machine/system.h"
#include "topology/routing/route.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

struct NetworkOptions {
  Fidelity fidelity = Fidelity::kFluid;
  // Given instead of chosen.
  std::optional<CollectiveAlgorithm> algorithm = std::nullopt;
  std::optional<std::string> protocol = std::nullopt;
  // Pieces of the pipelined algorithms; unset: many, or a few where every
  // message is simulated.
  std::optional<int32_t> segments = std::nullopt;
  // How contended links are shared. Under kPortFair whoever runs the plans has
  // to be told as well (Transfers, RunPlans).
  Arbitration arbitration = Arbitration::kFlowFair;
};

struct CollectiveCall {
  CommunicationKind kind = CommunicationKind::kAllReduce;
  Bytes bytes;
  // Of a point-to-point transfer the sender, then the receiver; of a broadcast
  // or reduce the root first.
  std::vector<VertexId> chips;
  // Other groups that do the same at the same time and that this call stands
  // for: their load is on the links too.
  std::vector<std::vector<VertexId>> twins = {};
  // Of an all-to-all among experts: who sends how much to whom, by places in
  // `chips`; dispatch, or the way back. One traffic per network.
  const ExpertTraffic* traffic = nullptr;
  bool combine = false;
  // Of a point-to-point call: two send to each other, as more than two always
  // do around the ring.
  bool around = false;
};

struct PlannedCall {
  CollectiveAlgorithm algorithm;
  std::string protocol;
  Duration solo{};
  PlanSteps plan;
  // What the plan was made of, kept by the network; null for a group of one.
  const RoutedSchedule* routed = nullptr;
};

// The time of one candidate, for those who want to see the choice.
struct Candidate {
  CollectiveAlgorithm algorithm;
  std::string protocol;
  Duration solo{};
};

class Network {
 public:
  static absl::StatusOr<Network> Make(const System& system,
                                      NetworkOptions options);

  const Graph& graph() const { return *graph_; }
  const NetworkResources& resources() const { return *resources_; }
  const NetworkOptions& options() const { return options_; }

  // A group of one chip, or no bytes to move between two, takes no time.
  absl::StatusOr<PlannedCall> Plan(const CollectiveCall& call);

  // Every algorithm and protocol that applies, cheapest first.
  absl::StatusOr<std::vector<Candidate>> Candidates(const CollectiveCall& call);

 private:
  // A schedule with what it refers to; kept at a fixed address.
  struct Kept {
    Schedule schedule;
    std::optional<RoutedSchedule> routed;
    absl::Status why_not;
  };
  // With the route of tokens, 0 if there is none.
  using KeptKey = std::tuple<CommunicationKind, CollectiveAlgorithm, int,
                             std::vector<VertexId>>;

  Network(const System& system, NetworkOptions options, Graph graph);

  GroupPlacement Placed(CommunicationKind kind,
                        absl::Span<const VertexId> chips);
  // The schedule of `call` for `chips`, its own or a twin's, as placed.
  const Kept& Routed(const CollectiveCall& call, CollectiveAlgorithm algorithm,
                     absl::Span<const VertexId> chips,
                     const GroupPlacement& placement);
  bool LibraryHas(CommunicationKind kind, CollectiveAlgorithm algorithm) const;
  // Whether switches that reduce join the group, one hop or a tree away.
  bool HasSwitchesFor(CollectiveAlgorithm algorithm,
                      const GroupPlacement& placement) const;
  std::vector<CollectiveAlgorithm> Algorithms(
      const CollectiveCall& call, const GroupPlacement& placement) const;
  std::vector<ProtocolPair> Protocols(CollectiveAlgorithm algorithm,
                                      const RoutedSchedule& routed) const;
  CallOverhead Overhead(const CollectiveCall& call,
                        const ProtocolPair& protocols,
                        const CollectivePlan& plan) const;
  template <class Visit>
  absl::Status ForEachCandidate(const CollectiveCall& call, Visit visit);
  // The steps of a chosen algorithm with the load of all twins.
  absl::StatusOr<PlanSteps> StepsWithTwins(const CollectiveCall& call,
                                           CollectiveAlgorithm algorithm,
                                           const ProtocolPair& protocols,
                                           const CallOverhead& overhead);

  NetworkCalibration calibration_;
  bool island_reduces_ = false;
  bool fabric_reduces_ = false;
  bool fabric_sprays_ = false;
  NetworkOptions options_;
  std::unique_ptr<const Graph> graph_;
  std::unique_ptr<const NetworkResources> resources_;
  std::unique_ptr<Router> router_;
  std::map<KeptKey, std::unique_ptr<Kept>> kept_;
  std::map<std::vector<VertexId>, std::optional<ReductionTree>> trees_;
};

}  // namespace orrery
