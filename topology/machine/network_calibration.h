#pragma once
// NetworkCalibration: latency and efficiency of the collective library.
//
// One set per system, with its provenance in the preset; nothing about a
// library is a constant in code.
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "topology/machine/field_reader.h"

namespace orrery {

// Inside a node or island, and between them.
enum class Tier : uint8_t { kScaleUp, kScaleOut };
inline constexpr int kTiers = 2;

// What a protocol is for.
enum class ProtocolUse : uint8_t {
  kRingAndTree,  // whichever of the two below has no protocol of its own
  kRing,
  kTree,
  kInSwitch,
  kPointToPoint,
  kOneShot,
  kExperts,     // if there are none, those of kPointToPoint
  kSwitchTree,  // if there are none, those of kInSwitch, or between of kTree
};
inline constexpr int kProtocolUses = 8;

// One wire protocol of the library ("Simple", "LL", "LL128") on one tier.
struct Protocol {
  std::string name;
  Tier tier;
  // Per step of an algorithm over this tier.
  Duration step_latency;
  // Attainable share of the tier's bandwidth.
  double efficiency;
  // A transfer whose bytes take w on the wire takes 2 sqrt(fill_latency w)
  // longer: what is left of pipelining at its best slice size.
  Duration fill_latency;
  // Of a call by this protocol.
  Duration base_latency;
  // Unset: everything no other protocol is meant for.
  std::optional<ProtocolUse> use;
  // In calls that leave the island, if it is another.
  std::optional<double> efficiency_across = std::nullopt;
  // Calls over more nodes or islands have to use others.
  std::optional<int> most_nodes = std::nullopt;

  double EfficiencyIn(bool across) const {
    return across ? efficiency_across.value_or(efficiency) : efficiency;
  }
  bool Serves(int nodes) const { return !most_nodes || nodes <= *most_nodes; }
};

struct NetworkCalibration {
  std::string library;
  std::vector<Protocol> protocols;
  // Fixed cost of a call, on top of the steps.
  Duration base_latency;
  // Algorithms the library has: "ring", or "all_reduce/nvls" for one operation
  // only. An operation with none listed may use all.
  std::vector<std::string> algorithms;
  // At which a chip copies its own part of a result, if that takes time.
  std::optional<BytesPerSecond> local_bandwidth;
  // What a running collective takes from kernels beside it.
  double compute_share;
  double memory_share;

  bool Covers(Tier tier) const;
  // The protocols of a tier that serve `use`: those meant for it, or else those
  // of rings and trees, or else those meant for nothing in particular.
  std::vector<const Protocol*> For(Tier tier, ProtocolUse use) const;
};

// From a pb::CollectiveCalibration; violations go to the reader's list.
NetworkCalibration ReadNetworkCalibration(const FieldReader& fields);

}  // namespace orrery
