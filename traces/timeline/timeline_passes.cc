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

// The mark of a pass that begins with this kernel.
Mark PassMark(Mark mark) {
  mark.layer.reset();
  if (mark.phase == WorkPhase::kRecompute) mark.phase = WorkPhase::kBackward;
  return mark;
}

TaskId Next(TaskId t) {
  return static_cast<TaskId>(static_cast<int32_t>(t) + 1);
}
TaskId Previous(TaskId t) {
  return static_cast<TaskId>(static_cast<int32_t>(t) - 1);
}

}  // namespace

PassTable::PassTable(const Program& program, const MarkTable& marks,
                     absl::Span<const TaskSpan> spans,
                     absl::Span<const RankId> ranks, Time from, Time to)
    : program_(program),
      marks_(marks),
      from_(from),
      to_(to),
      places_(program.ranks().size(), -1) {
  for (const RankId rank : ranks) {
    if (places_[rank] >= 0) continue;
    places_[rank] = static_cast<int32_t>(ranks_.size());
    ranks_.emplace_back();
  }
  for (const TaskSpan& span : spans) {
    if (span.kind != SpanKind::kKernel || span.stream != kComputeStream ||
        !span.Touches(from_, to_)) {
      continue;
    }
    const int32_t place = places_[span.rank];
    if (place >= 0) Add(span, ranks_[static_cast<size_t>(place)]);
  }
  IdVector<RoleId, std::optional<RoleRanges>> ranges(program.roles().size());
  for (const RankId rank : program.ranks().ids()) {
    if (places_[rank] < 0) continue;
    RankPasses& of = ranks_[static_cast<size_t>(places_[rank])];
    if (of.passes.empty()) continue;
    auto& of_role = ranges[program.ranks()[rank].role];
    if (!of_role) of_role = RangesOf(rank);
    Extend(rank, *of_role, of);
    Finish(of);
  }
}

PassTable::RoleRanges PassTable::RangesOf(RankId rank) const {
  const Role& role = program_.role_of(rank);
  RoleRanges ranges;
  for (TaskId t = role.stream_begin(kComputeStream);
       t != role.stream_end(kComputeStream); t = Next(t)) {
    const Mark& mark = marks_.of(rank, t);
    if (!mark.pass || role.task(t).kind != TaskKind::kKernel) continue;
    ranges.try_emplace(*mark.pass, t, t).first->second.second = t;
  }
  return ranges;
}

void PassTable::Extend(RankId rank, const RoleRanges& ranges,
                       RankPasses& of) const {
  const Role& role = program_.role_of(rank);
  const TaskId first = of.runs.front().first;
  for (const auto& [number, range] : ranges) {
    const bool began = range.first<first, goes_on = range.second> of.last;
    if (!began && !goes_on) continue;
    const auto found = of.by_number.find(number);
    if (found == of.by_number.end()) {
      // It runs beside those that have kernels in the window.
      if (!began || !goes_on) continue;
      of.passes.push_back({.mark = PassMark(marks_.of(rank, range.first)),
                           .from = from_,
                           .to = to_});
      continue;
    }
    TimelinePass& pass = of.passes[static_cast<size_t>(found->second)];
    if (began) {
      pass.from = from_;
      pass.mark = PassMark(marks_.of(rank, range.first));
    }
    if (goes_on) pass.to = to_;
  }
  TimelinePass& pass = of.passes.front();
  if (pass.mark.pass || !pass.mark.micro_batch) return;
  for (TaskId t = first; t != role.stream_begin(kComputeStream);) {
    t = Previous(t);
    if (role.task(t).kind != TaskKind::kKernel) continue;
    const Mark& mark = marks_.of(rank, t);
    if (mark.pass || !FollowsOn(mark, pass.mark)) break;
    pass.from = from_;
    pass.mark = PassMark(mark);
  }
}

void PassTable::Finish(RankPasses& of) const {
  for (TimelinePass& pass : of.passes) {
    pass.from = std::clamp(pass.from, from_, to_);
    pass.to = std::clamp(pass.to, from_, to_);
  }
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
    of.passes.push_back({.mark = PassMark(mark), .from = span.started});
    if (mark.pass) of.by_number[*mark.pass] = *pass;
  }
  if (of.runs.empty() || of.runs.back().second != *pass) {
    of.runs.emplace_back(span.task, *pass);
  }
  TimelinePass& to = of.passes[static_cast<size_t>(*pass)];
  to.to = span.ended;
  of.last = span.task;
  if (span.started >= to_) return;
  to.busy += std::min(span.ended, to_) - std::max(span.started, from_);
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
  const Mark mark = PassMark(marks_.of(span));
  if (mark.phase != WorkPhase::kWeightGradient) return mark;
  if (const TimelinePass* pass = Numbered(span)) return pass->mark;
  if (Find(span.rank) != nullptr && span.kind == SpanKind::kKernel &&
      span.stream == kComputeStream && span.Touches(from_, to_)) {
    return pass_of(span).mark;
  }
  return mark;
}

}  // namespace orrery
