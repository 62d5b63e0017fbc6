#pragma once
// CollectiveForm: what one way of running a collective costs, before any rate
// or latency is known.
//
// An algorithm is a row of waves of messages. A form keeps of them how many
// messages follow each other, by tier and latency of the route, and of every
// wave the share of the call's bytes that the busiest line carries: the numbers
// that stand before alpha and beta in the literature. A line is a port or link,
// counted in the bytes that one of its tier would carry in the same time. The
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

// Messages of one kind that follow each other; a mean where routes differ.
struct MessageTerm {
  Tier tier = Tier::kScaleUp;
  // Of the links of the route: a message takes no less.
  Seconds links{};
  double messages = 0;
  friend bool operator==(const MessageTerm&, const MessageTerm&) = default;
};

// Rows of messages at the same time, of which the longest counts.
using MessageRace = std::vector<std::vector<MessageTerm>>;

// What messages of each tier put on one line, per byte of the call.
struct LineLoad {
  double island = 0;
  double network = 0;
};

// Bytes per byte of the call on the busiest line that messages inside islands
// pass, and on the busiest that those between them do; of the latter also the
// same if all groups like this one are on it at once. Lines that both pass are
// `mixed`: those of which no other carries more of both.
struct WaveTerm {
  double island = 0;
  double network = 0;
  double crowded = 0;
  std::vector<LineLoad> mixed = {};

  // Takes a line into account.
  void Add(const LineLoad& line);
};

struct CollectiveForm {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  ProtocolUse use = ProtocolUse::kRing;
  // Inside the islands by rings, whatever is used between them.
  bool rings_inside = false;
  // Data goes through the waves in pieces, every wave busy with another one.
  bool streams = false;
  std::vector<MessageTerm> messages;
  // Where prices tell which messages are the longest.
  std::vector<MessageRace> races;
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

// One tier: what a message and a byte cost.
struct TierPrice {
  Seconds message{};
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
