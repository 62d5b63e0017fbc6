#pragma once
// PortLines: what the messages of a group put on the lines of a machine whose
// formulas are known (MachinePorts).
//
// A message loads the ports of its two ends, the link between them, the links
// of its route on a grid, or the NICs of its ends and the cables up from and
// down to their leaves; cost: its hops.
#include <vector>

#include "analytic/collective/collective_form.h"
#include "analytic/collective/group_network.h"

namespace orrery {

class PortLines {
 public:
  // `group` must outlive it.
  explicit PortLines(const GroupNetwork& group);

  // Puts `load` of the call's bytes on the way from one rank to another, and
  // returns the message.
  MessageTerm Send(int from, int to, double load);
  // The same from every rank to every other; the messages that differ.
  std::vector<MessageTerm> SendToAll(double load);

  // The busiest lines since the last call, and of all so far.
  WaveTerm TakeWave();
  WaveTerm All() const;

 private:
  void AddLoad(size_t line, double load);
  // Puts a message on its route over the grid and returns the hops.
  int Walk(int from, int to, double load);
  void Cross(int from, int to, double load);
  // Returns the hops of the farthest.
  int SendToAllOfBox(double load);
  void Count(size_t line, double load, WaveTerm& wave) const;
  MessageTerm Inside(int hops) const {
    return {Tier::kScaleUp, hops * group_.ports().island_link, 1};
  }

  const GroupNetwork& group_;
  // Those of the islands, then those of NICs, out and in, then cables of
  // leaves, up and down.
  size_t island_lines_ = 0;
  size_t first_leaf_ = 0;
  std::vector<double> wave_load_;
  std::vector<double> all_load_;
  std::vector<size_t> touched_;
  WaveTerm known_;  // of the wave, besides the loads of lines
  WaveTerm all_known_;
};

}  // namespace orrery
