#pragma once
// RankClock: when the last rank is at the end of its tape.
//
//   start(call) = the latest of its members
//   end(call)   = start + what the call costs these members
//
// and the other items as RankTape says: each rank by itself, since groups of
// one family may lie on the machine in different ways, and a rank that has a
// slow group holds up those it meets in other groups. With equal prices one
// rank of each class and pipeline rank tells of all (kOneOfEach), and it gives
// what PipelineClock does.
//
//   RankClock clock(placement, classes, tapes, slow, price, RankClock::kEvery);
//   if (!clock.groups_are_alike()) clock.Run();
//
// Cost: every item of every rank once.
#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "analytic/step/rank_tape.h"
#include "workload/plan/placement.h"
#include "workload/plan/rank_classes.h"
#include "workload/plan/slow_ranks.h"

namespace orrery {

// Seconds of a call among these chips.
using CallPrice = absl::FunctionRef<double(const TapeCall& call,
                                           absl::Span<const int> chips)>;

class RankClock {
 public:
  enum Ranks { kEvery, kOneOfEach };

  // All must outlive the clock. Of slow ranks, work takes longer.
  RankClock(const Placement& placement, const RankClasses& classes,
            const RankTapes& tapes, absl::Span<const SlowRank> slow,
            CallPrice price, Ranks ranks);

  // Every call costs all groups of its family the same, and a transfer all
  // pairs of two pipeline ranks, there and back: of those that were looked at.
  bool groups_are_alike() const { return alike_; }
  // Of one of each: groups of ranks that it stands for are like its own. They
  // are not where groups of a class have members on different pipeline ranks.
  bool stands_for_all() const { return stands_for_all_; }
  // What Run() will look at.
  int64_t CountItems() const;
  // Seconds. Requires: stands_for_all().
  double Run();

 private:
  // Groups that have calls one after the other.
  struct Line {
    GroupFamily family;
    bool gathers;
    std::vector<int> group_of;              // by place
    std::vector<std::vector<int>> members;  // by group, places
    std::vector<std::vector<int>> chips;    // by group
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
  const std::vector<TapeItem>& TapeOf(int place) const {
    return *tape_of_[static_cast<size_t>(place)];
  }
  // Of the rank at the same place of another pipeline rank.
  int PeerOf(int place, int pipeline) const;
  void Advance(int place);
  bool Do(const TapeItem& item, int place);
  void StartReduction(int place);
  // A member has come; ends the call if it was the last.
  void Join(int call, int place, double at);
  void Send(const TapeItem& item, int place);

  const Placement& placement_;
  const RankTapes& tapes_;
  // Ranks that are looked at have places, in order.
  std::vector<int> rank_at_;
  std::vector<int> place_of_;     // by rank, of the one that stands for it
  std::vector<double> slowdown_;  // by place, as are the next
  std::vector<int> pipeline_of_;
  std::vector<const std::vector<TapeItem>*> tape_of_;
  std::vector<Line> lines_;
  std::vector<size_t> line_of_;             // by call
  std::vector<std::vector<double>> price_;  // by call and group
  // By place and the pipeline rank it sends to.
  absl::flat_hash_map<std::pair<int, int>, double> transfers_;
  bool alike_ = true;
  bool stands_for_all_ = true;
  std::vector<Rank> ranks_;
  std::deque<int> ready_;
};

}  // namespace orrery
