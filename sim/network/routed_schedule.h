#pragma once
// RoutedSchedule: a collective's steps placed on the machine.
//
// Each message of the schedule gets its chips, its route over the links and the
// tier it crosses; each phase what it puts on the resources and how long its
// messages take to get going. Fluid and closed-form plans are read off the
// phases, stepped plans off the messages.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <vector>

#include "sim/network/network_resources.h"
#include "topology/collectives/collective.h"
#include "topology/collectives/group_placement.h"
#include "topology/machine/network_calibration.h"
#include "topology/routing/route.h"

namespace orrery {

// A protocol for each tier that a call touches; null where it touches none.
struct ProtocolPair {
  const Protocol* scale_up = nullptr;
  const Protocol* scale_out = nullptr;
  const Protocol& of(Tier tier) const;
};

class RoutedSchedule {
 public:
  // One way between two participants; messages that agree share it. Its shares
  // on resources are its own and those of a part that others may have as well.
  struct Way {
    Tier tier;
    Duration latency;   // of the links
    int32_t own_begin;  // in the list of all ways' own uses
    int32_t own_end;
    int32_t middle;  // or -1
  };
  // What one segment of one phase puts on a resource: the call's bytes times
  // this, per tier, before any protocol's efficiency.
  struct Load {
    ResourceId resource;
    double scale_up;
    double scale_out;
  };

  // The same of a resource and the port its bytes come in by.
  struct PortLoad {
    ResourceId resource;
    ResourceId port;
    double scale_up;
    double scale_out;
  };

  // Fails if a pair is cut off or a switch is needed that is not there.
  // `schedule` and `graph` must outlive the result. Ports are noted under
  // kPortFair only.
  static absl::StatusOr<RoutedSchedule> Make(const Schedule& schedule,
                                             const GroupPlacement& placement,
                                             const NetworkResources& resources,
                                             Router& router,
                                             Arbitration arbitration);

  // The loads of another group that runs the same schedule at the same time are
  // added to this one's; its own messages stay. Requires: the same phases.
  void AddLoadsOf(const RoutedSchedule& other);

  const Schedule& schedule() const { return *schedule_; }
  // The chip of each rank of the schedule.
  absl::Span<const VertexId> chips() const { return chips_; }
  const Way& way(size_t message) const {
    return ways_[static_cast<size_t>(way_of_[message])];
  }
  // What a message puts on resources per byte, in the order of ids; the same by
  // port, empty if ports do not count.
  std::vector<ResourceUse> uses(size_t message) const;
  absl::Span<const PortUse> ports(size_t message) const;
  absl::Span<const Load> loads(size_t phase) const { return loads_[phase]; }
  // Empty if ports do not count.
  absl::Span<const PortLoad> port_loads(size_t phase) const {
    return port_loads_.empty() ? absl::Span<const PortLoad>()
                               : port_loads_[phase];
  }
  bool touches(Tier tier) const;

  // How long phase `phase` of one segment waits before bytes flow: of a round,
  // the slowest message once, or in the mean as often as it repeats.
  Duration Latency(size_t phase, const ProtocolPair& protocols) const;

 private:
  RoutedSchedule() = default;
  void AddWay(const NetworkResources& resources, Tier tier, Duration latency,
              absl::Span<const LinkShare> links);
  void AddPorts(const Graph& graph, const NetworkResources& resources,
                absl::Span<const LinkShare> links);
  void AddLoads(size_t resources);
  void AddPortLoads();

  const Schedule* schedule_ = nullptr;
  std::vector<VertexId> chips_;
  std::vector<Way> ways_;
  std::vector<ResourceUse> own_uses_;
  std::vector<std::vector<ResourceUse>> middles_;
  std::vector<std::vector<PortUse>> ports_;  // by way, if they count
  std::vector<int32_t> way_of_;              // by message
  std::vector<std::vector<Load>> loads_;
  std::vector<std::vector<PortLoad>> port_loads_;
};

// The latency of one message: the library's step, or the links' own if longer.
Duration StepLatency(const RoutedSchedule::Way& way,
                     const ProtocolPair& protocols);

}  // namespace orrery
