#pragma once
// TransferLog: what happened to every step of every plan, for those who draw
// it.
#include <vector>

#include "base/simulation_ids.h"
#include "base/units.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

struct TransferLog {
  struct Span {
    GroupId group;
    int32_t place;  // of the step in its plan
    Time began;     // its latency passes ...
    Time moved;     // ... then its bytes move
    Time ended;
    PlanId plan{};
  };
  // From then on, until its next one or its end.
  struct Rate {
    GroupId group;
    int32_t place;
    Time at;
    double rate;  // of work, per second
    PlanId plan;
  };

  std::vector<Span> spans;  // in the order in which they end
  std::vector<Rate> rates;  // in the order of time
};

}  // namespace orrery
