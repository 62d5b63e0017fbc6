#pragma once
// RankTape: what a rank does in a step in which nothing hides, one thing after
// the other, as far as time cares: work, calls with its groups, transfers.
//
// Ranks of a pipeline rank do the same, each in groups of its own: where
// experts are not balanced all of them have the kernels of the fullest.
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
  std::vector<std::vector<TapeItem>> of_rank;  // by pipeline rank
  std::vector<int> receives;                   // how many, by pipeline rank
  Bytes transfer;                              // what is sent

  // Items of all ranks, if each pipeline rank has so many.
  int64_t Count(int64_t ranks) const {
    size_t items = 0;
    for (const auto& tape : of_rank) items += tape.size();
    return static_cast<int64_t>(items) * ranks;
  }
};

}  // namespace orrery
