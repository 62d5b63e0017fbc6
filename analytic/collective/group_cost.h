#pragma once
// What a call costs a group of chips on a machine, on paper.
//
// The cheapest of the forms of collective_forms.h, priced with the machine's
// ports and the library's calibration, for the algorithms and protocols that
// the library has. It is chosen by what it costs with nothing else on the
// links; its price is that, or that of all groups like it at once (Others), who
// share the NICs of several chips and the cables between leaves and spines of a
// tapered fabric.
//
//   ASSIGN_OR_RETURN(GroupCost cost, GroupCost::Create(system));
//   const GroupSpan span = cost.Span({0, 1, 2, 3, 4, 5, 6, 7});
//   cost.Time(CommunicationKind::kAllReduce, bytes, span);
//
// Forms depend on the machine and on how a group lies, and are made once per
// group and kind; a price after that is some ten multiplications per form.
#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analytic/collective/collective_form.h"
#include "analytic/collective/fabric_routes.h"
#include "analytic/collective/group_network.h"
#include "topology/machine/system.h"
#include "topology/traffic/communication_kind.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// A group as one GroupCost knows it; by itself a group of one.
struct GroupSpan {
  int ranks = 1;
  int number = -1;
  friend bool operator==(const GroupSpan&, const GroupSpan&) = default;
};

// Whether groups like the one asked for do the same at the same time.
enum class Others : uint8_t { kNone, kAlike };

class GroupCost {
 public:
  // The system must outlive the cost. Fails if its fabric has no room for it,
  // or faults cut a chip off.
  static absl::StatusOr<GroupCost> Create(const System& system,
                                          Others others = Others::kNone);

  // The group of these chips, in the order of its ranks. Requires: at least
  // one, none twice.
  GroupSpan Span(absl::Span<const int> chips);

  // What a call takes with the links to itself, and among groups like its own;
  // and for how long of either its busiest line is.
  struct Price {
    Seconds alone{};
    Seconds among_others{};
    Seconds wire{};
    Seconds crowded_wire{};
  };
  // A group of one takes no time. Point-to-point among more than two is one
  // step around a ring. Requires: a span of this cost.
  Price PriceOf(CommunicationKind kind, Bytes bytes, const GroupSpan& span);
  Seconds Time(CommunicationKind kind, Bytes bytes, const GroupSpan& span) {
    return Chosen(PriceOf(kind, bytes, span));
  }
  // One step around a ring, also of two. Requires: more than one rank.
  Price PriceOfRingStep(Bytes bytes, const GroupSpan& span);
  Seconds RingStepTime(Bytes bytes, const GroupSpan& span) {
    return Chosen(PriceOfRingStep(bytes, span));
  }
  // What a call takes at least, with the links to itself. Where formulas hold
  // they do to 0.1 %; else it is what no chip can beat, nothing for tokens that
  // are routed.
  Seconds LeastOf(CommunicationKind kind, Bytes bytes, const GroupSpan& span,
                  const Price& price) const;
  Seconds LeastOfExperts(const Price& price) const {
    return routes_ == nullptr ? price.alone * (1 - kExact) : Seconds(0);
  }
  // The form of tokens on their way to experts, or back, and the price of a
  // form; `bytes` as of an all-to-all. Requires: more than one rank.
  CollectiveForm ExpertForm(const GroupSpan& span, const ExpertTraffic& traffic,
                            bool combine) const;
  Price PriceOf(const CollectiveForm& form, CommunicationKind kind, Bytes bytes,
                const GroupSpan& span) const;
  // Chips of the blocks that repeat in islands: rows, planes and so on of a
  // grid.
  std::vector<int> Blocks() const;
  // Some links are not like the others of their kind.
  bool has_faults() const { return !system_.faults().empty(); }
  // The one that `others` asks for.
  Seconds Chosen(const Price& price) const {
    return others_ == Others::kNone ? price.alone : price.among_others;
  }
  Seconds ChosenWire(const Price& price) const {
    return others_ == Others::kNone ? price.wire : price.crowded_wire;
  }

 private:
  static constexpr double kExact = 0.001;

  struct Group {
    GroupNetwork network;
    // By kind; made when first asked for.
    std::array<std::vector<CollectiveForm>, kCommunicationKinds> forms;
    std::optional<CollectiveForm> ring_step = std::nullopt;
  };

  std::vector<CollectiveForm> Forms(CommunicationKind kind,
                                    const GroupNetwork& network);
  // The algorithms that the library has for a kind, in their order.
  const std::vector<CollectiveAlgorithm>& Listed(CommunicationKind kind);
  const std::vector<const Protocol*>& Protocols(Tier tier,
                                                ProtocolUse use) const {
    return protocols_[static_cast<size_t>(tier)][static_cast<size_t>(use)];
  }
  // `across`: of a call that also leaves the island.
  TierPrice Priced(Tier tier, const Protocol& protocol, bool across) const;
  // Of the forms of a kind.
  Price BestOf(CommunicationKind kind, Bytes bytes, const GroupSpan& span);

  GroupCost(const System& system, Others others, MachinePorts ports,
            std::unique_ptr<FabricRoutes> routes);

  const System& system_;
  Others others_;
  // Where no formula tells the loads.
  std::unique_ptr<FabricRoutes> routes_;
  std::unique_ptr<const MachinePorts> ports_;
  // By tier and use.
  std::array<std::array<std::vector<const Protocol*>, kProtocolUses>, kTiers>
      protocols_;
  // By kind; made when first asked for.
  std::array<std::optional<std::vector<CollectiveAlgorithm>>,
             kCommunicationKinds>
      listed_;
  std::vector<std::unique_ptr<Group>> groups_;
  // Groups by what repeats in them; see group_cost.cc.
  absl::flat_hash_map<std::vector<int>, int> numbers_;
};

}  // namespace orrery
