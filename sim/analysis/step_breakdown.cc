#include "sim/analysis/step_breakdown.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace orrery {
Duration StepBreakdown::total() const {
  Duration sum = kernels.total() + bubble + late_peer + host;
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

std::string_view NameOf(RankWait::Kind kind) {
  switch (kind) {
    case RankWait::Kind::kExposed:
      return "exposed";
    case RankWait::Kind::kBubble:
      return "bubble";
    case RankWait::Kind::kLatePeer:
      return "late peer";
    case RankWait::Kind::kHost:
      return "host";
  }
  return "";
}

Duration CongestionOf(const Program& program, const TaskSpan& span,
                      const CallTimes& alone) {
  const Task& task = program.role_of(span.rank).task(span.task);
  return std::max(Duration(0),
                  span.running() - alone[program.call_of(span.rank, task)]);
}

namespace {

// Ranks send to one another where they have different work to do.
bool HasPipeline(const Program& program) {
  const auto sends = [](const RoleSlot& slot) {
    return slot.side != RoleSlot::Side::kMember;
  };
  return std::any_of(
      program.roles().begin(), program.roles().end(), [&](const Role& role) {
        return std::any_of(role.slots().begin(), role.slots().end(), sends);
      });
}

}  // namespace

BreakdownSink::BreakdownSink(const Program& program, RankId rank,
                             const CallTimes* alone, bool keeps_waits)
    : program_(program),
      rank_(rank),
      alone_(alone),
      keeps_waits_(keeps_waits),
      pipelined_(HasPipeline(program)),
      recent_(program.streams().size()) {
  for (const Stream& stream : program.streams()) {
    breakdown_.exposed.Add({.dimension = stream.dimension});
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
      [&](const WaitPart& part) { AddWait(part, span.task); });
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

void BreakdownSink::Keep(RankWait::Kind kind, const WaitPart& part,
                         std::optional<TaskId> waiter) {
  if (!keeps_waits_) return;
  RankWait& wait = waits_.emplace_back(
      RankWait{.kind = kind, .from = part.from, .to = part.to});
  if (part.link != nullptr) wait.link = *part.link;
  wait.waiter = waiter;
}

void BreakdownSink::AddBubble(const WaitPart& part,
                              std::optional<TaskId> waiter) {
  if (part.from >= part.to) return;
  if (!pipelined_) {
    breakdown_.late_peer += part.time();
    return Keep(RankWait::Kind::kLatePeer, part, waiter);
  }
  breakdown_.bubble += part.time();
  if (keeps_waits_) bubbles_.push_back({part.from, part.to});
  Keep(RankWait::Kind::kBubble, part, waiter);
}

void BreakdownSink::AddWait(const WaitPart& part,
                            std::optional<TaskId> waiter) {
  if (part.from >= part.to) return;
  if (part.link != nullptr && RunsOnHost(program_, *part.link)) {
    breakdown_.host += part.time();
    Keep(RankWait::Kind::kHost, part, waiter);
  } else if (part.cause == WaitPart::Cause::kTransfer) {
    const Role& role = program_.role_of(rank_);
    const auto kind = role.communication(role.task(part.link->task)).kind;
    StepBreakdown::Exposed& exposed = breakdown_.exposed[part.link->stream];
    exposed.time += part.time();
    by_kind_[part.link->stream][static_cast<size_t>(kind)] += part.time();
    if (alone_ != nullptr) {
      // Of a call that is hidden in part, the same share is exposed of both.
      const Duration added = CongestionOf(program_, *part.link, *alone_);
      exposed.congestion += Duration(static_cast<int64_t>(
          static_cast<__int128>(added.count()) * part.time().count() /
          part.link->running().count()));
    }
    Keep(RankWait::Kind::kExposed, part, waiter);
  } else if (part.cause == WaitPart::Cause::kPartner &&
             WaitsForLatePeer(program_, *part.link, rank_)) {
    breakdown_.late_peer += part.time();
    Keep(RankWait::Kind::kLatePeer, part, waiter);
  } else {
    AddBubble(part, waiter);
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
    AddBubble({Cause::kNothing, at, std::min(ready, span->started), nullptr},
              std::nullopt);
    AddWait({Cause::kPartner, ready, span->started, span}, std::nullopt);
    AddWait({Cause::kTransfer, std::max(at, span->started), span->ended, span},
            std::nullopt);
    at = span->ended;
  }
  AddBubble({Cause::kNothing, at, end, nullptr}, std::nullopt);
  std::sort(
      waits_.begin(), waits_.end(),
      [](const RankWait& a, const RankWait& b) { return a.from < b.from; });
  std::sort(bubbles_.begin(), bubbles_.end(),
            [](const Bubble& a, const Bubble& b) { return a.from < b.from; });
  return breakdown_;
}

}  // namespace orrery
