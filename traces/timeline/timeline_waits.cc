#include "traces/timeline/timeline_waits.h"

#include "base/format.h"
#include "sim/analysis/wait_work.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

std::string NameOfPart(const TimelineSource& source, const PassTable& passes,
                       const WaitedWork& part) {
  const Program& program = source.program;
  const TaskSpan* work = part.work;
  switch (part.wait->kind) {
    case RankWait::Kind::kHost:
      return "host";
    case RankWait::Kind::kExposed:
      return program.streams()[work->stream].name;
    case RankWait::Kind::kBubble:
    case RankWait::Kind::kLatePeer:
      break;
  }
  if (work == nullptr) return "other ranks";
  const int32_t rank = program.ranks()[work->rank].number;
  const std::string what = work->kind == SpanKind::kKernel
                               ? PassLabel(passes.MarkOf(*work))
                               : program.streams()[work->stream].name;
  return what.empty() ? fmt::format("rank {}", rank)
                      : fmt::format("rank {}: {}", rank, what);
}

}  // namespace

std::vector<WaitSlice> WaitSlices(const TimelineSource& source,
                                  const PassTable& passes,
                                  absl::Span<const RankWait> waits) {
  std::vector<WaitSlice> slices;
  for (const WaitedWork& part :
       FollowToWork(source.spans, source.path, waits)) {
    std::string name = NameOfPart(source, passes, part);
    if (!slices.empty() && slices.back().to == part.from &&
        slices.back().kind == part.wait->kind &&
        slices.back().waiter == part.wait->waiter &&
        slices.back().name == name) {
      slices.back().to = part.to;
    } else {
      slices.push_back({std::move(name), part.wait->kind, part.from, part.to,
                        part.wait->waiter});
    }
  }
  return slices;
}

}  // namespace orrery
