#include "sim/analysis/critical_path.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace orrery {

std::vector<PathStep> CriticalPath(const SpanIndex& spans, Time until) {
  const TaskSpan* last = nullptr;
  for (const TaskSpan& span : spans.spans()) {
    const auto later = [](const TaskSpan& a, const TaskSpan& b) {
      return std::make_tuple(b.ended, a.rank, a.stream, a.task) <
             std::make_tuple(a.ended, b.rank, b.stream, b.task);
    };
    if (!spans.is_whole() && span.started >= until) continue;
    if (last == nullptr || later(span, *last)) last = &span;
  }
  std::vector<PathStep> path;
  for (const TaskSpan* span = last; span != nullptr;) {
    path.push_back({*span});
    const TaskSpan* by = spans.ReleaserOf(*span);
    if (by != nullptr && span->release.by == Release::By::kPartner) {
      // The partner came when the call started; what held the partner back is
      // what held the call back.
      CHECK(by->ready == span->started);
      by = spans.ReleaserOf(*by);
    }
    if (by != nullptr || spans.is_whole()) {
      CHECK((by == nullptr ? Time{} : by->ended) == span->started)
          << "the critical path has a gap";
    }
    span = by;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Duration PathLength(const std::vector<PathStep>& path) {
  Duration length{0};
  for (const PathStep& step : path) length += step.time();
  return length;
}

}  // namespace orrery
