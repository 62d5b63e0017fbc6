#pragma once
// Network: the machine as its traffic sees it.
//
// The graph, its links as resources of the engine, how traffic is routed, which
// switches reduce and what the collective library offers. It depends on the
// system alone and never changes: build it once per system and share it between
// all runs, also between threads. What a run needs on top, its options and what
// it has found so far, is in a CallPlanner:
//
//   ASSIGN_OR_RETURN(const Network network, Network::Make(system));
//   CallPlanner planner(network, {.fidelity = Fidelity::kFluid});
#include <absl/status/statusor.h>

#include <memory>

#include "sim/network/collective_library.h"
#include "sim/network/network_resources.h"
#include "sim/network/switch_capabilities.h"
#include "topology/graph/graph.h"
#include "topology/machine/system.h"
#include "topology/routing/route.h"

namespace orrery {

class Network {
 public:
  static absl::StatusOr<Network> Make(const System& system);

  const Graph& graph() const { return *graph_; }
  const NetworkResources& resources() const { return resources_; }
  MachineRouting routing() const { return routing_; }
  const SwitchCapabilities& switches() const { return switches_; }
  const CollectiveLibrary& library() const { return library_; }

 private:
  Network(const System& system, Graph graph);

  // At a fixed address: routers refer to it.
  std::unique_ptr<const Graph> graph_;
  NetworkResources resources_;
  MachineRouting routing_;
  SwitchCapabilities switches_;
  CollectiveLibrary library_;
};

}  // namespace orrery
