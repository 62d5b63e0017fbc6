#include "sim/analysis/wait_work.h"

#include <algorithm>

namespace orrery {
namespace {

class Follower {
 public:
  Follower(const SpanIndex& spans, const std::vector<PathStep>& path)
      : spans_(spans), path_(path) {}

  void Follow(const RankWait& wait) {
    const size_t first = parts_.size();
    switch (wait.kind) {
      case RankWait::Kind::kExposed:
      case RankWait::Kind::kHost:
        Add(wait, wait.from, wait.to,
            wait.link ? spans_.find(wait.link->rank, wait.link->task)
                      : nullptr);
        return;
      case RankWait::Kind::kBubble:
      case RankWait::Kind::kLatePeer:
        break;
    }
    if (wait.link) {
      FollowPartner(wait);
    } else if (!wait.waiter) {
      FollowPath(wait);
    } else {
      Add(wait, wait.from, wait.to, nullptr);
    }
    std::reverse(parts_.begin() + static_cast<std::ptrdiff_t>(first),
                 parts_.end());
  }

  std::vector<WaitedWork> Take() { return std::move(parts_); }

 private:
  void Add(const RankWait& wait, Time from, Time to, const TaskSpan* work) {
    if (from < to) parts_.push_back({&wait, from, to, work});
  }

  // From the last moment to the first.
  void FollowPartner(const RankWait& wait) {
    Time to = wait.to;
    const TaskSpan* at =
        spans_.ReleaserOf(spans_.of(wait.link->rank, wait.link->task));
    for (; at != nullptr && wait.from < to; at = spans_.ReleaserOf(*at)) {
      const Time begin = std::clamp(at->started, wait.from, to);
      const Time end = std::clamp(at->ended, begin, to);
      Add(wait, end, to, nullptr);
      Add(wait, begin, end, at);
      to = begin;
    }
    Add(wait, wait.from, to, nullptr);
  }

  void FollowPath(const RankWait& wait) {
    Time to = wait.to;
    auto step = std::upper_bound(
        path_.begin(), path_.end(), wait.from,
        [](Time at, const PathStep& s) { return at < s.span.ended; });
    auto last = step;
    while (last != path_.end() && last->span.started < wait.to) ++last;
    while (last != step) {
      --last;
      const Time begin = std::max(last->span.started, wait.from);
      const Time end = std::min(last->span.ended, to);
      Add(wait, end, to, nullptr);
      Add(wait, begin, end, &spans_.of(last->span.rank, last->span.task));
      to = std::min(to, begin);
    }
    Add(wait, wait.from, to, nullptr);
  }

  const SpanIndex& spans_;
  const std::vector<PathStep>& path_;
  std::vector<WaitedWork> parts_;
};

}  // namespace

std::vector<WaitedWork> FollowToWork(const SpanIndex& spans,
                                     const std::vector<PathStep>& path,
                                     absl::Span<const RankWait> waits) {
  Follower follower(spans, path);
  for (const RankWait& wait : waits) follower.Follow(wait);
  return follower.Take();
}

}  // namespace orrery
