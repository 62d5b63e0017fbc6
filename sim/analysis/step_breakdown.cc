#include "sim/analysis/step_breakdown.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace orrery {
namespace {

constexpr StreamId kCompute{0};

}  // namespace

Duration StepBreakdown::total() const {
  Duration sum =
      compute + memory_bound + launch + optimizer + slowed + bubble + straggler;
  for (const Duration d : exposed) sum += d;
  return sum;
}

BreakdownSink::BreakdownSink(const Program& program, RankId rank)
    : program_(program), rank_(rank), recent_(program.streams().size()) {
  breakdown_.exposed.resize(program.streams().size());
}

void BreakdownSink::AddOwn(const TaskSpan& span) {
  if (span.stream != kCompute) {
    recent_[Index(span.stream)].push_back(span);
    return;
  }
  AddGap(span);
  AddKernel(span);
  compute_end_ = span.ended;
  // Whatever ended before this kernel began can delay no later one.
  for (auto& spans : recent_) {
    while (!spans.empty() && spans.front().ended < span.started) {
      spans.pop_front();
    }
  }
}

const TaskSpan* BreakdownSink::Recent(StreamId stream, TaskId task) const {
  const std::deque<TaskSpan>& spans = recent_[Index(stream)];
  if (spans.empty() || task < spans.front().task) return nullptr;
  const size_t place = Index(task) - Index(spans.front().task);
  return place < spans.size() ? &spans[place] : nullptr;
}

const TaskSpan* BreakdownSink::Before(const TaskSpan& span) const {
  if (span.headed == span.ready) {
    if (span.stream == kCompute || Index(span.task) == 0) return nullptr;
    const auto before =
        static_cast<TaskId>(static_cast<int32_t>(span.task) - 1);
    return Recent(span.stream, before);
  }
  for (const Dependency& needed :
       program_.role_of(rank_).dependencies(span.task)) {
    const TaskSpan* before = Recent(needed.stream, needed.task);
    if (before != nullptr && before->ended == span.ready) return before;
  }
  return nullptr;
}

void BreakdownSink::AddExposed(StreamId stream, Time from, Time to) {
  if (from < to) breakdown_.exposed[Index(stream)] += to - from;
}

void BreakdownSink::AddBubble(Time from, Time to) {
  if (from >= to) return;
  breakdown_.bubble += to - from;
  bubbles_.push_back({from, to});
}

void BreakdownSink::AddPartnerWait(const TaskSpan& span, Time from, Time to) {
  if (from >= to) return;
  const auto last = static_cast<RankId>(span.release.index);
  if (span.kind == SpanKind::kCollective &&
      span.release.by == Release::By::kPartner &&
      program_.ranks()[last].role == program_.ranks()[rank_].role) {
    breakdown_.straggler += to - from;
  } else {
    AddBubble(from, to);
  }
}

void BreakdownSink::AddGap(const TaskSpan& span) {
  const Time from = span.headed;
  Time to = span.started;  // what is left to explain: [from, to)
  for (const TaskSpan* link = Before(span); link != nullptr && from < to;
       link = Before(*link)) {
    const auto within = [&](Time at) { return std::clamp(at, from, to); };
    // Whatever lies between the link's end and what it made start.
    AddBubble(within(link->ended), to);
    AddExposed(link->stream, within(link->started), within(link->ended));
    AddPartnerWait(*link, within(link->ready), within(link->started));
    to = within(link->ready);
  }
  AddBubble(from, to);
}

void BreakdownSink::AddKernel(const TaskSpan& span) {
  const Role& role = program_.role_of(rank_);
  const Task& task = role.task(span.task);
  if (task.kind != TaskKind::kKernel) return;
  const KernelWork& kernel = role.kernel(task);
  const Duration running = span.running();
  breakdown_.slowed += running - kernel.duration;
  if (role.mark(span.task).phase == WorkPhase::kOptimizer) {
    breakdown_.optimizer += kernel.duration;
    return;
  }
  breakdown_.launch += kernel.facts.launch;
  breakdown_.memory_bound += kernel.facts.memory_bound;
  breakdown_.compute +=
      kernel.duration - kernel.facts.launch - kernel.facts.memory_bound;
}

StepBreakdown BreakdownSink::Finish(Time end) {
  // After the last kernel: communication of its own, then other ranks.
  std::vector<const TaskSpan*> tail;
  for (const auto& spans : recent_) {
    for (const TaskSpan& span : spans) {
      if (span.ended > compute_end_) tail.push_back(&span);
    }
  }
  std::sort(tail.begin(), tail.end(), [](const TaskSpan* a, const TaskSpan* b) {
    return std::tie(a->started, a->ended, a->stream) <
           std::tie(b->started, b->ended, b->stream);
  });
  Time at = compute_end_;
  for (const TaskSpan* span : tail) {
    if (span->ended <= at) continue;
    const Time ready = std::max(at, span->ready);
    AddBubble(at, std::min(ready, span->started));
    AddPartnerWait(*span, ready, span->started);
    AddExposed(span->stream, std::max(at, span->started), span->ended);
    at = span->ended;
  }
  AddBubble(at, end);
  std::sort(bubbles_.begin(), bubbles_.end(),
            [](const Bubble& a, const Bubble& b) { return a.from < b.from; });
  return breakdown_;
}

}  // namespace orrery
