#include "sim/analysis/wait_chain.h"

#include <algorithm>

namespace orrery {
namespace {

// What `span` waited for last before its partners.
const TaskSpan* Preceding(const Program& program, const TaskSpan& span,
                          FindSpan find) {
  if (span.headed == span.ready) {
    if (span.stream == kComputeStream || Index(span.task) == 0) return nullptr;
    return find(span.stream,
                static_cast<TaskId>(static_cast<int32_t>(span.task) - 1));
  }
  for (const Dependency& needed :
       program.role_of(span.rank).dependencies(span.task)) {
    const TaskSpan* before = find(needed.stream, needed.task);
    if (before != nullptr && before->ended == span.ready) return before;
  }
  return nullptr;
}

}  // namespace

bool RunsOnHost(const Program& program, const TaskSpan& span) {
  const StreamKind kind = program.streams()[span.stream].kind;
  return kind == StreamKind::kHost ||
         (kind == StreamKind::kCommunication && span.kind == SpanKind::kKernel);
}

void FollowWait(const Program& program, const TaskSpan& span, Time from,
                Time to, FindSpan find,
                absl::FunctionRef<void(const WaitPart&)> visit) {
  using Cause = WaitPart::Cause;
  const auto part = [&](Cause cause, Time begin, Time end,
                        const TaskSpan* link) {
    if (begin < end) visit({cause, begin, end, link});
  };
  for (const TaskSpan* link = Preceding(program, span, find);
       link != nullptr && from < to; link = Preceding(program, *link, find)) {
    const auto within = [&](Time at) { return std::clamp(at, from, to); };
    // Whatever lies between the link's end and what it made start.
    part(Cause::kNothing, within(link->ended), to, nullptr);
    part(Cause::kTransfer, within(link->started), within(link->ended), link);
    part(Cause::kPartner, within(link->ready), within(link->started), link);
    to = within(link->ready);
  }
  part(Cause::kNothing, from, to, nullptr);
}

bool WaitsForLatePeer(const Program& program, const TaskSpan& link,
                      RankId rank) {
  const auto last = static_cast<RankId>(link.release.index);
  return link.kind == SpanKind::kCollective &&
         link.release.by == Release::By::kPartner &&
         program.ranks()[last].role == program.ranks()[rank].role;
}

}  // namespace orrery
