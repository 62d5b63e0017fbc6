#pragma once
// TransferLog: what happened to every step of every plan, for those who draw
// it; of a part of the run, if only that is wanted.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
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

  std::vector<Span> spans = {};  // in the order in which they end
  std::vector<Rate> rates = {};  // in the order of time

  // What happens before `from` and does not last until then is left out, and
  // what begins after `to`.
  Time from{};
  Time to = Time::max();
  // The rates of steps under way, until the window begins.
  std::map<std::pair<GroupId, int32_t>, Rate> before = {};

  void Add(const Rate& rate) {
    if (rate.at >= to) return;
    if (rate.at < from) {
      before.insert_or_assign({rate.group, rate.place}, rate);
      return;
    }
    KeepBefore();
    rates.push_back(rate);
  }
  void Add(const Span& span) {
    if (span.ended < from) {
      before.erase({span.group, span.place});
      return;
    }
    KeepBefore();
    if (span.began < to) spans.push_back(span);
  }

  void KeepBefore() {
    if (before.empty()) return;
    for (const auto& [step, rate] : before) rates.push_back(rate);
    before.clear();
    std::sort(rates.begin(), rates.end(), [](const Rate& a, const Rate& b) {
      return std::tie(a.at, a.group, a.place) <
             std::tie(b.at, b.group, b.place);
    });
  }
};

}  // namespace orrery
