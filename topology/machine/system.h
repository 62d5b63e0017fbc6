#pragma once
// System: the machine of a run: chips, the fabric inside a node, the fabric
// between nodes.
//
// Whoever holds a System holds the proof that its counts are sane, that the
// fabrics fit the number of end points, and that every tier in use has a fabric
// and a calibrated library. It is small whatever the number of chips: the graph
// of links is built from it elsewhere.
//
//   ASSIGN_OR_RETURN(const System system, System::FromProto(proto));
//   system.chips();                       // nodes x chips per node
//   system.scale_out()->nic_bandwidth;    // if there is more than one node
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "topology/machine/chip.h"
#include "topology/machine/fabric.h"
#include "topology/machine/network_calibration.h"

namespace orrery {

namespace pb {
class System;
}  // namespace pb

// More chips than anybody has; a larger number is a slip of the keyboard, and
// is refused before anything is allocated for it.
inline constexpr int kMaxChips = 10'000'000;

// The fabric inside a node, whose end points are chips.
struct ScaleUp {
  Fabric fabric;
  // What one chip can send, one direction, all links together.
  BytesPerSecond chip_bandwidth;
  // The end points are all chips of the run rather than those of one node.
  bool spans_nodes;
};

// The fabric between nodes, whose end points are NICs: NIC i of node n is end
// point n x nics_per_node + i.
struct ScaleOut {
  Fabric fabric;
  int nics_per_node;
  // One NIC, one direction.
  BytesPerSecond nic_bandwidth;
  // A NIC's sending and receiving side together, without links and switches.
  Duration nic_latency;
};

struct Host {
  std::string cpu;
  int cpus_per_node;
  // Of the node.
  Bytes memory;
  // Chip to host, one direction, per chip.
  BytesPerSecond chip_bandwidth;
  // Everything in the node that is not a chip.
  Watts power;
  // Python takes so much longer than on the host that engines were timed on.
  double python_slowdown = 1;
};

// Links of a chip that are slow or cut in this run.
struct LinkFault {
  int chip;
  // The chip or switch at the other end; all links of the chip if unset.
  std::optional<int> peer;
  // Share of the bandwidth that is left; 0 is cut.
  double remaining;
};

// A chip whose kernels take so many times as long in this run.
struct SlowChip {
  int chip;
  double slowdown;
};

class System {
 public:
  // Every violation is reported, one per line, with the field's path below
  // `path`.
  static absl::StatusOr<System> FromProto(const pb::System& proto,
                                          std::string_view path = "system");

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  const Chip& chip() const { return *chip_; }

  int nodes() const { return nodes_; }
  int chips_per_node() const { return chips_per_node_; }
  int chips() const { return nodes_ * chips_per_node_; }

  // Unset where a node is one chip.
  const std::optional<ScaleUp>& scale_up() const { return scale_up_; }
  // Unset where the scale-up fabric spans the machine, or there is one node.
  const std::optional<ScaleOut>& scale_out() const { return scale_out_; }
  const std::optional<Host>& host() const { return host_; }
  const NetworkCalibration& collectives() const { return collectives_; }
  absl::Span<const LinkFault> faults() const { return faults_; }
  // By chip, each once.
  absl::Span<const SlowChip> slow_chips() const { return slow_chips_; }
  // The share of a chip's memory that searches leave free.
  double memory_headroom() const { return memory_headroom_; }
  // Nothing of this run tells chips from others that are placed alike.
  bool chips_are_alike() const {
    return faults_.empty() && slow_chips_.empty();
  }

 private:
  System() = default;

  std::string name_;
  std::string description_;
  std::optional<Chip> chip_;
  int nodes_ = 0;
  int chips_per_node_ = 0;
  std::optional<ScaleUp> scale_up_;
  std::optional<ScaleOut> scale_out_;
  std::optional<Host> host_;
  NetworkCalibration collectives_;
  std::vector<LinkFault> faults_;
  std::vector<SlowChip> slow_chips_;
  double memory_headroom_ = 0;
};

}  // namespace orrery
