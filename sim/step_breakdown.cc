#include "sim/step_breakdown.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace orrery {
namespace {

constexpr StreamId kCompute{0};

Duration Overlap(Time from, Time to, Time begin, Time end) {
  return std::max(Duration(0), std::min(to, end) - std::max(from, begin));
}

}  // namespace

Duration StepBreakdown::total() const {
  Duration sum = compute + memory_bound + launch + optimizer + slowed + bubble;
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

void BreakdownSink::AddGap(const TaskSpan& span) {
  const Duration gap = span.started - span.headed;
  if (gap == Duration(0)) return;
  const bool known = span.release.by == Release::By::kDependency;
  const auto stream = static_cast<size_t>(known ? span.release.index : 0);
  const TaskSpan* cause = nullptr;
  for (const TaskSpan& before : recent_[stream]) {
    if (before.ended == span.ready) cause = &before;
  }
  if (cause == nullptr) {
    breakdown_.bubble += gap;
    return;
  }
  // A receive waits for its sender; a collective for its last member.
  const bool receives = cause->kind == SpanKind::kReceive;
  const Duration running =
      Overlap(span.headed, span.started, cause->started, cause->ended);
  const Duration waiting = receives ? gap - running
                                    : Overlap(span.headed, span.started,
                                              cause->ready, cause->started);
  breakdown_.bubble += waiting;
  breakdown_.exposed[stream] += gap - waiting;
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
    breakdown_.bubble += std::max(Duration(0), span->started - at);
    breakdown_.exposed[Index(span->stream)] +=
        Overlap(at, end, span->started, span->ended);
    at = span->ended;
  }
  breakdown_.bubble += end - at;
  return breakdown_;
}

}  // namespace orrery
