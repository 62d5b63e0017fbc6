#pragma once
// RankTape: what a rank does in a step in which nothing hides, one thing after
// the other, as far as time cares: work, calls with its groups, transfers.
//
// Ranks of one class (workload/plan/rank_classes.h) on a pipeline rank do the
// same, each in groups of its own; classes differ by the load of their experts.
// Reductions of gradients stand beside the rest: they follow one another, and
// it says where the rank waits for them.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/communication_kind.h"
#include "workload/plan/placement.h"

namespace orrery {

struct TapeCall {
  GroupFamily family = GroupFamily::kTensor;
  CommunicationKind kind = CommunicationKind::kAllReduce;
  Bytes bytes;
  // One after the other: blocks of a ring.
  int steps = 1;
  CallShape shape = CallShape::kEven;
  // Of weights that are gathered: these do not wait for reductions.
  bool gathers = false;
  // What passes before it starts, when all of its ranks are there.
  double ahead_s = 0;
  friend bool operator==(const TapeCall&, const TapeCall&) = default;
};

struct TapeItem {
  enum class What : uint8_t {
    kWork,             // for `seconds`
    kHost,             // goes on when its host has worked for `seconds` more
    kHostReceives,     // its host waits for the last receive
    kCall,             // of the calls, number `index`
    kReduce,           // the same, beside what follows
    kAwaitReductions,  // all of them
    kReceive,          // its `index`-th
    kSend,             // the `index`-th that `peer` receives
    kAwaitSends,       // all of them
    kForgetCalls,      // what follows waits for the last work only
  };
  What what = What::kWork;
  // Of a send: transfers of one way follow one another.
  uint8_t way = 0;
  // Of a reduction: it waits for the last work only. Of a host: it waits for
  // what the rank did before.
  bool flag = false;
  int32_t index = 0;
  int32_t peer = 0;  // a pipeline rank
  double seconds = 0;
};

struct RankTapes {
  std::vector<TapeCall> calls;
  // By pipeline rank; of one class after the other.
  std::vector<std::vector<TapeItem>> of_rank;
  std::vector<int> receives;  // how many, by pipeline rank
  Bytes transfer;             // what is sent

  const std::vector<TapeItem>& Of(int rank_class, int pipeline) const {
    return of_rank[static_cast<size_t>(rank_class) * receives.size() +
                   static_cast<size_t>(pipeline)];
  }
};

}  // namespace orrery
