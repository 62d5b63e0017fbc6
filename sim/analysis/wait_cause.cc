#include "sim/analysis/wait_cause.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/format.h"

namespace orrery {

std::string WaitCause(const Program& program, const SpanIndex& spans,
                      const TaskSpan& span) {
  CHECK(span.headed < span.ready);
  std::map<std::string, Duration> causes;
  for (const TaskSpan* at = spans.ReleaserOf(span);
       at != nullptr && at->ended > span.headed; at = spans.ReleaserOf(*at)) {
    const bool own = at->rank == span.rank;
    causes[own ? program.streams()[at->stream].name
               : fmt::format("rank {}", program.ranks()[at->rank].number)] +=
        at->ended - std::max(at->started, span.headed);
    if (at->release.by == Release::By::kPartner) {
      // The same call on the rank that came last: counted already.
      at = spans.ReleaserOf(*at);
    }
    if (at->started <= span.headed) break;
  }
  CHECK(!causes.empty());
  return std::max_element(
             causes.begin(), causes.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace orrery
