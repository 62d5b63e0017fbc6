#pragma once
// RankClock: when the last rank is at the end of its tape.
//
//   start(call) = the latest of its members
//   end(call)   = start + what the call costs these members
//
// and the other items as RankTape says: each rank by itself, since groups of
// one family may lie on the machine in different ways, and a rank that has a
// slow group holds up those it meets in other groups. With equal prices it
// gives what PipelineClock does.
//
//   RankClock clock(placement, tapes, price);
//   if (!clock.groups_are_alike()) clock.Run();
//
// Cost: every item of every rank once.
#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <deque>
#include <utility>
#include <vector>

#include "analytic/step/rank_tape.h"
#include "workload/plan/placement.h"

namespace orrery {

// Seconds of a call among these chips.
using CallPrice = absl::FunctionRef<double(const TapeCall& call,
                                           absl::Span<const int> chips)>;

class RankClock {
 public:
  // Both must outlive the clock.
  RankClock(const Placement& placement, const RankTapes& tapes,
            CallPrice price);

  // Every call costs all groups of its family the same, and a transfer all
  // pairs of two pipeline ranks, there and back.
  bool groups_are_alike() const { return alike_; }
  // Seconds.
  double Run();

 private:
  // Groups that have calls one after the other.
  struct Line {
    GroupFamily family;
    bool gathers;
    std::vector<int> group_of;              // by rank
    std::vector<std::vector<int>> members;  // by group
    // Of the call that members wait for now.
    std::vector<int> present;
    std::vector<double> latest;
  };
  struct Reduction {
    int call;
    double ready;
  };
  struct Rank {
    size_t next = 0;
    double free = 0;
    double worked = 0;  // its last work ends
    double host = 0;
    double received = 0;
    double sent = 0;
    double reduced = 0;
    bool in_call = false;
    bool in_reduction = false;
    std::deque<Reduction> reductions;
    std::vector<double> transferred;  // by way
    std::vector<double> arrivals;     // negative: still to come
  };

  size_t LineOf(GroupFamily family, bool gathers);
  void PriceCalls(CallPrice price);
  void PriceTransfers(CallPrice price);
  const std::vector<TapeItem>& TapeOf(int rank) const;
  void Advance(int rank);
  bool Do(const TapeItem& item, int rank);
  void StartReduction(int rank);
  // A member has come; ends the call if it was the last.
  void Join(int call, int rank, double at);
  void Send(const TapeItem& item, int rank);

  const Placement& placement_;
  const RankTapes& tapes_;
  std::vector<int> pipeline_of_;  // by rank
  std::vector<Line> lines_;
  std::vector<size_t> line_of_;             // by call
  std::vector<std::vector<double>> price_;  // by call and group
  // By rank and the pipeline rank it sends to.
  absl::flat_hash_map<std::pair<int, int>, double> transfers_;
  bool alike_ = true;
  std::vector<Rank> ranks_;
  std::deque<int> ready_;
};

}  // namespace orrery
