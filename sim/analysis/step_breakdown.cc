#include "sim/analysis/step_breakdown.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace orrery {
Duration StepBreakdown::total() const {
  Duration sum = kernels.total() + bubble + straggler + host;
  for (const Exposed& e : exposed) sum += e.time;
  return sum;
}

double StepBreakdown::ExposedSeconds(Dimension dimension) const {
  double seconds = 0;
  for (const Exposed& e : exposed) {
    if (e.dimension == dimension) seconds += ToSeconds(e.time);
  }
  return seconds;
}

BreakdownSink::BreakdownSink(const Program& program, RankId rank)
    : program_(program), rank_(rank), recent_(program.streams().size()) {
  for (const Stream& stream : program.streams()) {
    breakdown_.exposed.Add({stream.dimension, Duration(0)});
    by_kind_.Add({});
  }
}

void BreakdownSink::AddOwn(const TaskSpan& span) {
  if (span.stream != kComputeStream) {
    recent_[Index(span.stream)].push_back(span);
    return;
  }
  FollowWait(
      program_, span, span.headed, span.started,
      [this](StreamId stream, TaskId task) { return Recent(stream, task); },
      [this](const WaitPart& part) { AddWait(part); });
  if (span.kind == SpanKind::kKernel) {
    breakdown_.kernels += PartsOfKernel(program_, span);
  }
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

void BreakdownSink::AddBubble(Time from, Time to) {
  if (from >= to) return;
  breakdown_.bubble += to - from;
  bubbles_.push_back({from, to});
}

void BreakdownSink::AddWait(const WaitPart& part) {
  if (part.from >= part.to) return;
  if (part.link != nullptr &&
      program_.streams()[part.link->stream].kind == StreamKind::kHost) {
    breakdown_.host += part.time();
  } else if (part.cause == WaitPart::Cause::kTransfer) {
    const Role& role = program_.role_of(rank_);
    const auto kind = role.communication(role.task(part.link->task)).kind;
    breakdown_.exposed[part.link->stream].time += part.time();
    by_kind_[part.link->stream][static_cast<size_t>(kind)] += part.time();
  } else if (part.cause == WaitPart::Cause::kPartner &&
             WaitsForStraggler(program_, *part.link, rank_)) {
    breakdown_.straggler += part.time();
  } else {
    AddBubble(part.from, part.to);
  }
}

StepBreakdown BreakdownSink::Finish(Time end) {
  using Cause = WaitPart::Cause;
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
    AddWait({Cause::kPartner, ready, span->started, span});
    AddWait({Cause::kTransfer, std::max(at, span->started), span->ended, span});
    at = span->ended;
  }
  AddBubble(at, end);
  std::sort(bubbles_.begin(), bubbles_.end(),
            [](const Bubble& a, const Bubble& b) { return a.from < b.from; });
  return breakdown_;
}

}  // namespace orrery
