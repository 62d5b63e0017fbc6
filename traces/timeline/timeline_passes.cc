#include "traces/timeline/timeline_passes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.h"

namespace orrery {
namespace {

WorkPhase PassPhase(WorkPhase phase) {
  return phase == WorkPhase::kRecompute || phase == WorkPhase::kWeightGradient
             ? WorkPhase::kBackward
             : phase;
}

bool FollowsOn(const Mark& before, const Mark& mark) {
  return PassPhase(before.phase) == PassPhase(mark.phase) &&
         before.micro_batch == mark.micro_batch;
}

}  // namespace

PassTable::PassTable(const Program& program, const MarkTable& marks,
                     absl::Span<const TaskSpan> spans,
                     absl::Span<const RankId> ranks)
    : marks_(marks), places_(program.ranks().size(), -1) {
  for (const RankId rank : ranks) {
    if (places_[rank] >= 0) continue;
    places_[rank] = static_cast<int32_t>(ranks_.size());
    ranks_.emplace_back();
  }
  for (const TaskSpan& span : spans) {
    if (span.kind != SpanKind::kKernel || span.stream != kComputeStream) {
      continue;
    }
    const int32_t place = places_[span.rank];
    if (place >= 0) Add(span, ranks_[static_cast<size_t>(place)]);
  }
  for (RankPasses& of : ranks_) {
    // By start, the places in `runs` and `by_number` with them.
    std::vector<int32_t> order(of.passes.size()), place(of.passes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return of.passes[static_cast<size_t>(a)].from <
             of.passes[static_cast<size_t>(b)].from;
    });
    std::vector<TimelinePass> sorted;
    for (size_t i = 0; i < order.size(); ++i) {
      place[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
      sorted.push_back(of.passes[static_cast<size_t>(order[i])]);
    }
    of.passes = std::move(sorted);
    for (auto& [task, pass] : of.runs) pass = place[static_cast<size_t>(pass)];
    for (auto& [number, pass] : of.by_number) {
      pass = place[static_cast<size_t>(pass)];
    }
    Time reach{};
    size_t farthest = 0;
    for (size_t i = 0; i < of.passes.size(); ++i) {
      if (i > 0 && of.passes[i].from < reach) {
        of.passes[i].interleaved = of.passes[farthest].interleaved = true;
      }
      if (of.passes[i].to >= reach) {
        reach = of.passes[i].to;
        farthest = i;
      }
    }
  }
}

void PassTable::Add(const TaskSpan& span, RankPasses& of) {
  const Mark& mark = marks_.of(span);
  std::optional<int32_t> pass;
  if (mark.pass) {
    const auto found = of.by_number.find(*mark.pass);
    if (found != of.by_number.end()) pass = found->second;
  } else if (!of.runs.empty()) {
    const TimelinePass& last =
        of.passes[static_cast<size_t>(of.runs.back().second)];
    const bool waited = !mark.micro_batch && last.to < span.started;
    if (!last.mark.pass && FollowsOn(last.mark, mark) && !waited) {
      pass = of.runs.back().second;
    }
  }
  if (!pass) {
    pass = static_cast<int32_t>(of.passes.size());
    TimelinePass& added = of.passes.emplace_back();
    added.mark = mark;
    added.mark.layer.reset();
    if (mark.phase == WorkPhase::kRecompute) {
      added.mark.phase = WorkPhase::kBackward;
    }
    added.from = span.started;
    if (mark.pass) of.by_number[*mark.pass] = *pass;
  }
  if (of.runs.empty() || of.runs.back().second != *pass) {
    of.runs.emplace_back(span.task, *pass);
  }
  TimelinePass& to = of.passes[static_cast<size_t>(*pass)];
  to.to = span.ended;
  to.busy += span.running();
  ++to.kernels;
}

absl::Span<const TimelinePass> PassTable::of(RankId rank) const {
  const RankPasses* of = Find(rank);
  if (of == nullptr) return {};
  return of->passes;
}

const TimelinePass& PassTable::pass_of(const TaskSpan& span) const {
  CHECK(Find(span.rank) != nullptr);
  const RankPasses& of = *Find(span.rank);
  auto after = std::upper_bound(
      of.runs.begin(), of.runs.end(), span.task,
      [](TaskId task, const auto& run) { return task < run.first; });
  CHECK(after != of.runs.begin());
  return of.passes[static_cast<size_t>((--after)->second)];
}

PassTable::Cursor PassTable::Follow(RankId rank) const {
  Cursor cursor;
  cursor.of_ = Find(rank);
  CHECK(cursor.of_ != nullptr);
  return cursor;
}

const TimelinePass& PassTable::Cursor::pass_of(const TaskSpan& span) {
  while (next_ < of_->runs.size() && of_->runs[next_].first <= span.task) {
    ++next_;
  }
  CHECK(next_ > 0);
  return of_->passes[static_cast<size_t>(of_->runs[next_ - 1].second)];
}

const TimelinePass* PassTable::Numbered(const TaskSpan& span) const {
  const Mark& mark = marks_.of(span);
  const RankPasses* of = Find(span.rank);
  if (of == nullptr || !mark.pass) return nullptr;
  const auto pass = of->by_number.find(*mark.pass);
  if (pass == of->by_number.end()) return nullptr;
  return &of->passes[static_cast<size_t>(pass->second)];
}

bool PassTable::IsInterleaved(const TaskSpan& span) const {
  const TimelinePass* pass = Numbered(span);
  return pass != nullptr && pass->interleaved;
}

Mark PassTable::MarkOf(const TaskSpan& span) const {
  Mark mark = marks_.of(span);
  mark.layer.reset();
  if (mark.phase == WorkPhase::kRecompute) mark.phase = WorkPhase::kBackward;
  if (mark.phase != WorkPhase::kWeightGradient) return mark;
  if (const TimelinePass* pass = Numbered(span)) return pass->mark;
  if (Find(span.rank) != nullptr && span.kind == SpanKind::kKernel &&
      span.stream == kComputeStream) {
    return pass_of(span).mark;
  }
  return mark;
}

}  // namespace orrery
