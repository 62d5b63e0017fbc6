#pragma once
// FormBuilder: the form of an algorithm from the messages of a group.
//
//   FormBuilder form(group, CollectiveAlgorithm::kRing, ProtocolUse::kRing);
//   form.BeginWave();
//   form.BeginRound(3);                    // three times in a row
//   for (int r = 0; r < 4; ++r) form.Send(r, (r + 1) % 4, 0.25);
//   return std::move(form).Build();
//
// What messages load is told by the formulas of the machine (PortLines) or,
// where it has none, by their routes (RoutedLines).
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
  // `streams`: its bytes follow those of the wave before at once, so that only
  // its messages come after them.
  void BeginWave(bool streams = false);
  // Messages sent at the same time, `repeat` times in a row. What goes all the
  // way round meets every hop in turn, so that the mean counts; part of the
  // way, the slowest stretch; of one time the slowest.
  void BeginRound(int repeat = 1);
  // Round i of every wave goes on where round i of the wave before ended, and
  // rounds do not wait for each other.
  void RunThreads() { threads_ = true; }
  // Share of the call's bytes, each time.
  void Send(int from, int to, double share);
  // Every member to every other. Requires: one time.
  void SendToAll(double share);
  // A wave known by its numbers: of rows of messages the longest.
  void AddWave(MessageRace race, const WaveTerm& loads);

  CollectiveForm Build() &&;
  // The waves work on pieces of the data at the same time.
  CollectiveForm BuildStreaming() &&;

 private:
  struct Message {
    int from;
    int to;
    double load;
  };
  struct Round {
    int repeat;
    size_t begin;  // in `messages_`
    size_t end;
    double to_all = 0;
  };
  struct Wave {
    bool streams = false;
    std::vector<Round> rounds = {};
    // If known by its numbers.
    MessageRace race = {};
    WaveTerm loads = {};
  };
  template <class Lines>
  void Count(Lines& lines);
  template <class Lines>
  void AddRows(const Round& round, Lines& lines, MessageRace& race) const;
  // If a round goes part of the way round a ring: the stretches that differ,
  // from the messages it sends and the number of each among `terms`.
  std::vector<std::vector<MessageTerm>> Stretches(
      const Round& round, const std::vector<MessageTerm>& terms,
      const std::vector<size_t>& kinds) const;
  void AddRace(MessageRace race);

  const GroupNetwork& group_;
  CollectiveForm form_;
  bool threads_ = false;
  std::vector<Wave> waves_;
  std::vector<Message> messages_;
};

}  // namespace orrery
