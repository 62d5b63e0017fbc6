#pragma once
// CollectiveForm: what one way of running a collective costs, before any rate
// or latency is known.
//
// An algorithm is a row of waves of messages. A form keeps of them how many
// messages follow each other, by tier and length of the route, and of every
// wave the share of the call's bytes that the busiest port of each tier
// carries: the numbers that stand before alpha and beta in the literature. The
// same form is priced with a library's protocols (GroupCost) or with a plain
// port:
//
//   const CollectiveForm form = RingForm(CommunicationKind::kAllReduce, group);
//   PriceForm(form, {.message = alpha, .second_per_byte = beta}, {}, bytes, 1);
//
// Forms are made by collective_forms.h.
#include <vector>

#include "analytic/collective/alpha_beta.h"
#include "topology/machine/network_calibration.h"
#include "topology/traffic/collective_algorithm.h"

namespace orrery {

// Messages of one kind that follow each other; a mean where hops differ.
struct MessageTerm {
  Tier tier = Tier::kScaleUp;
  int hops = 1;
  double messages = 0;
};

// Bytes on the busiest port of each tier per byte of the call; of the network
// also the same if all groups like this one are on it at once.
struct WaveTerm {
  double island = 0;
  double network = 0;
  double crowded = 0;
};

struct CollectiveForm {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  ProtocolUse use = ProtocolUse::kRing;
  // Inside the islands by rings, whatever is used between them.
  bool rings_inside = false;
  // Data goes through the waves in pieces, every wave busy with another one.
  bool streams = false;
  std::vector<MessageTerm> messages;
  // Messages at the same time that differ in number and hops: of each set the
  // longest counts, which prices tell.
  std::vector<std::vector<MessageTerm>> races;
  std::vector<WaveTerm> waves;
  // What the busiest ports carry in all waves; less than the sum over waves
  // where these load different ports.
  WaveTerm all;

  bool uses_island() const { return Uses(Tier::kScaleUp); }
  bool uses_network() const { return Uses(Tier::kScaleOut); }

 private:
  bool Uses(Tier tier) const;
};

// Makes one of messages that differ in number only, and of waves that load the
// tiers in the same proportion: prices stay.
void JoinAlike(CollectiveForm& form);

// One tier: what a message costs, and what its route costs at least.
struct TierPrice {
  Seconds message{};
  // A route takes `route` and `hop` for each hop; a message never less.
  Seconds route{};
  Seconds hop{};
  double second_per_byte = 0;
};

struct FormTime {
  Seconds latency{};
  Seconds wire{};
  // Of all groups like this one at once.
  Seconds crowded{};
  Seconds total() const { return latency + wire; }
};

// A form that streams cuts the data into `pieces`: the first goes through all
// waves, the others follow at the pace of the busiest port.
FormTime PriceForm(const CollectiveForm& form, const TierPrice& island,
                   const TierPrice& network, Bytes bytes, double pieces);

}  // namespace orrery
