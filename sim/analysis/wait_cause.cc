#include "sim/analysis/wait_cause.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/format.h"
#include "sim/analysis/wait_chain.h"

namespace orrery {
namespace {

// Which ranks were at work while `part` waited for a partner: the chain of who
// made whom start, over ranks.
void AddOtherRanks(const Program& program, const SpanIndex& spans,
                   const WaitPart& part,
                   std::map<std::string, Duration>& causes) {
  Time to = part.to;
  for (const TaskSpan* at = spans.ReleaserOf(*part.link);
       at != nullptr && part.from < to; at = spans.ReleaserOf(*at)) {
    const Time begin = std::clamp(at->started, part.from, to);
    const Time end = std::clamp(at->ended, part.from, to);
    causes[fmt::format("rank {}", program.ranks()[at->rank].number)] +=
        end - begin;
    to = begin;
  }
}

}  // namespace

std::string WaitCause(const Program& program, const SpanIndex& spans,
                      const TaskSpan& span) {
  CHECK(span.headed < span.ready);
  std::map<std::string, Duration> causes;
  FollowWait(
      program, span, span.headed, span.ready,
      [&](StreamId, TaskId task) { return &spans.of(span.rank, task); },
      [&](const WaitPart& part) {
        switch (part.cause) {
          case WaitPart::Cause::kTransfer:
            causes[program.streams()[part.link->stream].name] += part.time();
            return;
          case WaitPart::Cause::kPartner:
            return AddOtherRanks(program, spans, part, causes);
          case WaitPart::Cause::kNothing:
            causes["other ranks"] += part.time();
            return;
        }
      });
  CHECK(!causes.empty());
  return std::max_element(
             causes.begin(), causes.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace orrery
