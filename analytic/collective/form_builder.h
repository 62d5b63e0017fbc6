#pragma once
// FormBuilder: the form of an algorithm from the messages of a group.
//
//   FormBuilder form(group, CollectiveAlgorithm::kRing, ProtocolUse::kRing);
//   form.BeginWave();
//   form.BeginRound(3);                    // three times in a row
//   for (int r = 0; r < 4; ++r) form.Send(r, (r + 1) % 4, 0.25);
//   return std::move(form).Build();
//
// A message loads the ports of its two ends, the link between them, the links
// of its route on a grid, or the NICs of its ends and the cables up from and
// down to their leaves; cost: its hops.
#include <vector>

#include "analytic/collective/collective_form.h"
#include "analytic/collective/group_network.h"

namespace orrery {

class FormBuilder {
 public:
  // `group` must outlive the builder.
  FormBuilder(const GroupNetwork& group, CollectiveAlgorithm algorithm,
              ProtocolUse use = ProtocolUse::kRing);

  // What follows comes after the waves before; its rounds run at the same time.
  void BeginWave();
  // Messages sent at the same time, `repeat` times in a row. What goes round
  // meets every hop in turn, so that the mean counts; of one time the slowest.
  void BeginRound(int repeat = 1);
  // Share of the call's bytes, each time.
  void Send(int from, int to, double share);
  // Every member to every other.
  void SendToAll(double share);
  // A wave known by its numbers.
  void AddWave(const MessageTerm& messages, const WaveTerm& loads);
  // The same with messages at the same time, of which the longest count.
  void AddRace(const std::vector<MessageTerm>& race, const WaveTerm& loads);

  CollectiveForm Build() &&;
  // The waves work on pieces of the data at the same time.
  CollectiveForm BuildStreaming() &&;

 private:
  void EndRound();
  void EndWave();
  void AddLoad(size_t port, double share);
  // Puts a message on its route over the grid and returns the hops.
  int Walk(int from, int to, double share);
  void Cross(int from, int to, double share);
  // Adds what ports carry to the busiest of their tiers.
  class Busiest;
  void Count(Tier tier, int hops);
  void SendToAllOfBox(double share);

  const GroupNetwork& group_;
  CollectiveForm form_;
  // By port: those of the islands, then those of NICs, out and in, then cables
  // of leaves, up and down.
  size_t island_ports_ = 0;
  size_t first_leaf_ = 0;
  std::vector<double> wave_load_;
  std::vector<double> all_load_;
  std::vector<size_t> touched_;
  bool in_wave_ = false;
  int repeat_ = 0;  // 0: no round has begun
  std::vector<MessageTerm> round_;
  std::vector<MessageTerm> longest_round_;
  WaveTerm known_;  // of the wave, besides the loads of ports
};

}  // namespace orrery
