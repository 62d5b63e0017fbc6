#pragma once
// Machines for the tests of the network: round numbers, one protocol without
// overheads unless a test asks for more.
#include <string>
#include <utility>
#include <vector>

#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/network/run_plans.h"
#include "tests/topology/machine/protos.h"

namespace orrery {

// A switch for FlatSystem; the second sums what passes through it.
inline constexpr char kSwitch[] = "switch { planes: 1 links_per_endpoint: 1 }";
inline constexpr char kReducingSwitch[] =
    "switch { planes: 1 links_per_endpoint: 1 reduces: true }";

// `fabric` joins all chips directly, with latency of 2 us a step and 50 GB/s
// links unless it says otherwise.
inline pb::System FlatSystem(int chips, const std::string& fabric) {
  pb::System system = With(pb::System(), R"pb(
    name: "flat"
    nodes: 1
    scale_up {
      fabric {
        link { name: "link" bandwidth: "50 GB/s" latency: "0 ns" }
        routing: SPRAY
      }
      spans_nodes: true
    }
    collectives {
      library: "none"
      compute_share: 0
      memory_share: 0
      base_latency: "0 us"
      protocol {
        name: "plain"
        tier: SCALE_UP
        step_latency: "2 us"
        efficiency: 1
      }
    }
  )pb");
  system.set_chips_per_node(chips);
  *system.mutable_chip() = TestChip();
  *system.mutable_scale_up()->mutable_fabric() =
      With(system.scale_up().fabric(), fabric);
  return system;
}

// Islands of `size` chips at 370 GB/s a port and 3.4 us a step, joined by rails
// at 48.5 GB/s and 14 us.
inline pb::System IslandSystem(int islands, int size) {
  pb::System system = With(pb::System(), R"pb(
    name: "islands"
    scale_up {
      fabric {
        link { name: "NVLink" bandwidth: "370 GB/s" latency: "0 ns" }
        switch { planes: 1 links_per_endpoint: 1 reduces: true }
        routing: SPRAY
      }
    }
    scale_out {
      nic_bandwidth: "48.5 GB/s"
      nic_latency: "0 us"
      fabric {
        link { name: "NIC" bandwidth: "48.5 GB/s" latency: "0 ns" }
        rail_optimized { radix: 64 taper: 1 }
        routing: SPRAY
      }
    }
    collectives {
      library: "none"
      compute_share: 0
      memory_share: 0
      base_latency: "0 us"
      protocol {
        name: "plain"
        tier: SCALE_UP
        step_latency: "3.4 us"
        efficiency: 1
      }
      protocol {
        name: "plain"
        tier: SCALE_OUT
        step_latency: "14 us"
        efficiency: 1
      }
    }
  )pb");
  system.set_nodes(islands);
  system.set_chips_per_node(size);
  system.mutable_scale_out()->set_nics_per_node(size);
  *system.mutable_chip() = TestChip();
  return system;
}

inline Network MakeNetwork(const pb::System& proto) {
  absl::StatusOr<System> system = System::FromProto(proto);
  CHECK(system.ok()) << system.status().ToString();
  absl::StatusOr<Network> network = Network::Make(*system);
  CHECK(network.ok()) << network.status().ToString();
  return *std::move(network);
}

// A network with a planner of its own.
class PlannedNetwork {
 public:
  explicit PlannedNetwork(const pb::System& proto, PlannerOptions options = {})
      : network_(MakeNetwork(proto)), planner_(network_, std::move(options)) {}
  PlannedNetwork(const PlannedNetwork&) = delete;

  absl::StatusOr<PlannedCall> Plan(const CollectiveCall& call) {
    return planner_.Plan(call);
  }
  const NetworkResources& resources() const { return network_.resources(); }

 private:
  Network network_;
  CallPlanner planner_;
};

// Chips begin, begin + stride, ...
inline std::vector<VertexId> ChipRange(int begin, int count, int stride = 1) {
  std::vector<VertexId> chips;
  for (int i = 0; i < count; ++i) {
    chips.push_back(static_cast<VertexId>(begin + i * stride));
  }
  return chips;
}

// Seconds each call takes when all start at once.
inline std::vector<double> TimesTogether(
    PlannedNetwork& network, const std::vector<CollectiveCall>& calls) {
  std::vector<StartedPlan> plans;
  for (const CollectiveCall& call : calls) {
    absl::StatusOr<PlannedCall> planned = network.Plan(call);
    CHECK(planned.ok()) << planned.status().ToString();
    plans.push_back({std::move(planned->plan), Time{}});
  }
  std::vector<double> times;
  for (Time end : RunPlans(network.resources().capacities(), plans)) {
    times.push_back(ToSeconds(end));
  }
  return times;
}

inline double TimeAlone(PlannedNetwork& network, const CollectiveCall& call) {
  return TimesTogether(network, {call})[0];
}

}  // namespace orrery
