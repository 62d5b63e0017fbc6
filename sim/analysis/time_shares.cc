#include "sim/analysis/time_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/overload.h"
#include "sim/analysis/kernel_parts.h"
#include "sim/analysis/wait_chain.h"

namespace orrery {
namespace {

// Names to times, in the order of names until sorted.
class Shares {
 public:
  void Add(const std::string& name, Duration time) {
    if (time == Duration(0)) return;
    TimeShare& share = shares_[name];
    share.name = name;
    share.time += time;
    ++share.count;
  }
  std::vector<TimeShare> LargestFirst() const {
    std::vector<TimeShare> sorted;
    for (const auto& [name, share] : shares_) sorted.push_back(share);
    std::stable_sort(
        sorted.begin(), sorted.end(),
        [](const TimeShare& a, const TimeShare& b) { return a.time > b.time; });
    return sorted;
  }

 private:
  std::map<std::string, TimeShare> shares_;
};

std::string ComputeName(const KernelFacts& facts,
                        const IdVector<OpId, Op>& ops) {
  if (!facts.op || Index(*facts.op) >= ops.size()) return "compute";
  return std::visit(
      Overload{[](const Gemm&) { return "compute: matrix products"; },
               [](const GroupedGemm&) { return "compute: expert products"; },
               [](const FusedAttention&) { return "compute: attention"; },
               [](const Pointwise&) { return "compute: elementwise"; }},
      ops[*facts.op].work);
}

// What memory is read for, where it is weights and cache that a step streams.
std::string MemoryName(const KernelFacts& facts, WorkPhase phase,
                       const IdVector<OpId, Op>& ops) {
  const bool serves =
      phase == WorkPhase::kDecode || phase == WorkPhase::kPrefill;
  if (!serves || !facts.op || Index(*facts.op) >= ops.size()) {
    return "memory-bound";
  }
  return std::visit(
      Overload{
          [](const Gemm&) { return "memory-bound: weights"; },
          [](const GroupedGemm&) { return "memory-bound: expert weights"; },
          [](const FusedAttention&) { return "memory-bound: KV cache"; },
          [](const Pointwise&) { return "memory-bound: activations"; }},
      ops[*facts.op].work);
}

// A task of the path by cause.
class Causes {
 public:
  void Add(std::string name, Duration time) {
    if (time > Duration(0)) parts_.emplace_back(std::move(name), time);
  }
  // Takes out `time`, of each part its share, to the picosecond. Requires: no
  // more than there is.
  void Shrink(Duration time) {
    if (time == Duration(0)) return;
    Duration total{0};
    for (const auto& [part, length] : parts_) total += length;
    Duration done{0}, taken{0};
    for (auto& [part, length] : parts_) {
      done += length;
      const Duration due(static_cast<int64_t>(
          static_cast<__int128>(time.count()) * done.count() / total.count()));
      length -= due - std::exchange(taken, due);
    }
  }
  void AddTo(Shares& shares) const {
    for (const auto& [name, time] : parts_) shares.Add(name, time);
  }

 private:
  std::vector<std::pair<std::string, Duration>> parts_;
};

Causes KernelCauses(const Program& program, const TaskSpan& span,
                    const IdVector<OpId, Op>& ops) {
  const KernelParts parts = PartsOfKernel(program, span);
  const Role& role = program.role_of(span.rank);
  Causes causes;
  causes.Add("optimizer", parts.optimizer);
  causes.Add("launch", parts.launch);
  const KernelFacts& facts = role.kernel(role.task(span.task)).facts;
  causes.Add(MemoryName(facts, role.mark(span.task).phase, ops),
             parts.memory_bound);
  causes.Add(ComputeName(facts, ops), parts.arithmetic);
  causes.Add("slow chip", parts.slow_chip);
  causes.Add(kSlowedByCommunication, parts.shared_chip);
  return causes;
}

// Disjoint and in order.
using Intervals = std::vector<std::pair<Time, Time>>;

Duration Overlap(const Intervals& times, Time from, Time to) {
  auto at = std::upper_bound(
      times.begin(), times.end(), from,
      [](Time t, const auto& interval) { return t < interval.second; });
  Duration overlap{0};
  for (; at != times.end() && at->first < to; ++at) {
    overlap += std::min(to, at->second) - std::max(from, at->first);
  }
  return overlap;
}

// Whether `rank` waits for this kernel as one of another stage's passes.
bool IsOthersPass(const Program& program, const TaskSpan& span, RankId rank) {
  if (span.kind != SpanKind::kKernel ||
      program.ranks()[span.rank].role == program.ranks()[rank].role) {
    return false;
  }
  const WorkPhase phase = program.role_of(span.rank).mark(span.task).phase;
  return phase != WorkPhase::kOptimizer && phase != WorkPhase::kGradientSync;
}

}  // namespace

std::vector<TimeShare> PathByCause(const Program& program,
                                   const std::vector<PathStep>& path,
                                   const PathViewpoint& from,
                                   const IdVector<OpId, Op>& ops) {
  Intervals bubbles;
  for (const Bubble& bubble : from.bubbles) {
    bubbles.emplace_back(bubble.from, bubble.to);
  }
  Shares shares;
  for (const PathStep& step : path) {
    const TaskSpan& span = step.span;
    Causes causes;
    if (RunsOnHost(program, span)) {
      causes.Add("host", step.time());
    } else if (span.kind == SpanKind::kKernel) {
      causes = KernelCauses(program, span, ops);
    } else if (span.kind != SpanKind::kMarker) {
      const std::string& stream = program.streams()[span.stream].name;
      const Duration congestion =
          from.alone == nullptr ? Duration(0)
                                : CongestionOf(program, span, *from.alone);
      causes.Add(fmt::format("communication: {}", stream),
                 step.time() - congestion);
      causes.Add(fmt::format("congestion: {}", stream), congestion);
    }
    if (!bubbles.empty() && IsOthersPass(program, span, from.rank)) {
      const Duration bubble = Overlap(bubbles, span.started, span.ended);
      causes.Shrink(bubble);
      causes.Add(kWorkOfOtherStages, bubble);
    }
    causes.AddTo(shares);
  }
  return shares.LargestFirst();
}

std::vector<TimeShare> TopTasks(const Program& program,
                                const std::vector<PathStep>& path,
                                size_t limit) {
  Shares shares;
  for (const PathStep& step : path) {
    const WorkPhase phase =
        program.role_of(step.span.rank).mark(step.span.task).phase;
    const std::string& name = program.name(step.span.name);
    shares.Add(phase == WorkPhase::kOther
                   ? name
                   : fmt::format("{} {}", name, NameOf(phase)),
               step.time());
  }
  std::vector<TimeShare> top = shares.LargestFirst();
  if (top.size() > limit) top.resize(limit);
  return top;
}

std::vector<ExposedTime> ExposedCommunication(const Program& program,
                                              const SpanIndex& spans,
                                              RankId rank,
                                              const BreakdownSink& breakdown,
                                              const CallTimes* alone) {
  const Role& role = program.role_of(rank);
  std::map<std::pair<StreamId, CommunicationKind>, ExposedTime> by_kind;
  for (int32_t t = 0; t < role.task_count(); ++t) {
    const TaskSpan& span = spans.of(rank, static_cast<TaskId>(t));
    if (!IsCommunication(role.task(span.task).kind)) continue;
    const CommunicationKind kind =
        role.communication(role.task(span.task)).kind;
    ExposedTime& time = by_kind[{span.stream, kind}];
    time.stream = program.streams()[span.stream].name;
    time.kind = kind;
    ++time.count;
    time.total += span.running();
    if (alone != nullptr)
      time.congestion += CongestionOf(program, span, *alone);
  }
  std::vector<ExposedTime> times;
  for (auto& [key, time] : by_kind) {
    time.exposed = breakdown.exposed(key.first, key.second);
    times.push_back(time);
  }
  return times;
}

}  // namespace orrery
