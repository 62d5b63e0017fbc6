#pragma once
// What a call costs a group of chips on a machine, on paper.
//
// The formulas of collective_cost.h with the machine's ports and the library's
// calibration: the cheapest of the algorithms and protocols that the library
// has. Chips of a group are spread evenly over islands; between islands every
// chip of an island uses its share of the NICs. Nothing else is on the links.
//
//   const GroupCost cost(system);
//   cost.Time(CommunicationKind::kAllReduce, bytes, {.ranks = 8, .islands =
//   1});
#include <array>
#include <cstdint>
#include <vector>

#include "analytic/collective/collective_cost.h"
#include "topology/machine/system.h"
#include "topology/traffic/communication_kind.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// How a group lies on the machine.
struct GroupSpan {
  int ranks = 1;
  int islands = 1;
  int per_island() const { return (ranks + islands - 1) / islands; }
  friend bool operator==(const GroupSpan&, const GroupSpan&) = default;
};

// Chips of one island: those of a node, or all where the fabric of the island
// spans the nodes.
int IslandChips(const System& system);

class GroupCost {
 public:
  // The system must outlive the cost.
  explicit GroupCost(const System& system);

  // A group of one takes no time. Point-to-point among more than two is one
  // step around a ring.
  Seconds Time(CommunicationKind kind, Bytes bytes,
               const GroupSpan& span) const;
  // Tokens on their way to experts, or back, whose members lie island after
  // island: as long as the port or NIC that carries most. `bytes` as of an
  // all-to-all.
  Seconds ExpertTime(Bytes bytes, const GroupSpan& span,
                     const ExpertTraffic& traffic) const;

 private:
  // One way of doing it: so many messages' latency, so many bytes on a chip's
  // island port and on its NIC, per byte of the call.
  enum class Algorithm : uint8_t {
    kRing,
    kDirect,
    kDoubleBinaryTree,
    kInSwitch,
    kHierarchical,
    kByIsland,
    kFabricReduces,
  };
  static constexpr size_t kAlgorithms = 7;
  struct Form {
    Algorithm algorithm = Algorithm::kRing;
    double island_steps = 0;
    double network_steps = 0;
    double island_share = 0;
    double network_share = 0;
    ProtocolUse use = ProtocolUse::kRing;
    // Inside the islands by rings, whatever is used between them.
    bool rings_inside = false;
  };

  static Form DirectForm(const GroupSpan& span, const ExpertTraffic& traffic);
  static Form ByIslandForm(const GroupSpan& span, const ExpertTraffic& traffic);
  // At most one form per algorithm.
  struct FormList {
    std::array<Form, kAlgorithms> forms;
    size_t size = 0;
    void push_back(const Form& form) { forms[size++] = form; }
    const Form* begin() const { return forms.data(); }
    const Form* end() const { return forms.data() + size; }
  };

  FormList Forms(CommunicationKind kind, const GroupSpan& span) const;
  bool Has(Algorithm algorithm, CommunicationKind kind) const {
    return has_[static_cast<size_t>(algorithm)][static_cast<size_t>(kind)];
  }
  const std::vector<const Protocol*>& Protocols(Tier tier,
                                                ProtocolUse use) const {
    return protocols_[static_cast<size_t>(tier)][static_cast<size_t>(use)];
  }
  Seconds Cheapest(const Form& form, CommunicationKind kind, Bytes bytes,
                   const GroupSpan& span) const;

  // How many switches that reduce stand above each other between a chip and the
  // one that joins so many islands; 0: they do not reduce.
  int ReductionDepth(int islands) const;

  const System& system_;
  double island_rate_ = 0;   // bytes/s of a chip's port
  double network_rate_ = 0;  // bytes/s of a chip's share of the NICs
  bool switch_reduces_ = false;
  std::array<std::array<bool, kCommunicationKinds>, kAlgorithms> has_{};
  // By tier and use.
  std::array<std::array<std::vector<const Protocol*>, kProtocolUses>, kTiers>
      protocols_;
};

}  // namespace orrery
