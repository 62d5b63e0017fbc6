#include "sim/time_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "sim/chip_sharing.h"

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

void AddKernel(const Program& program, const TaskSpan& span, Shares& shares) {
  const Role& role = program.role_of(span.rank);
  const KernelWork& kernel = role.kernel(role.task(span.task));
  const Duration solo =
      SoloDuration(kernel, program.ranks()[span.rank].slowness);
  shares.Add("slow rank", solo - kernel.duration);
  shares.Add("shared chip", span.running() - solo);
  if (role.mark(span.task).phase == WorkPhase::kOptimizer) {
    shares.Add("optimizer", kernel.duration);
    return;
  }
  shares.Add("launch", kernel.facts.launch);
  shares.Add("memory-bound", kernel.facts.memory_bound);
  shares.Add("compute",
             kernel.duration - kernel.facts.launch - kernel.facts.memory_bound);
}

// The times at which kernels run on a rank, as disjoint intervals in order.
using Intervals = std::vector<std::pair<Time, Time>>;

Intervals KernelTimes(const Program& program, const SpanIndex& spans,
                      RankId rank) {
  Intervals times;
  for (int32_t t = 0; t < program.role_of(rank).task_count(); ++t) {
    const TaskSpan& span = spans.of(rank, static_cast<TaskId>(t));
    if (span.kind == SpanKind::kKernel && span.started < span.ended) {
      times.emplace_back(span.started, span.ended);
    }
  }
  std::sort(times.begin(), times.end());
  Intervals merged;
  for (const auto& [from, to] : times) {
    if (!merged.empty() && from <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, to);
    } else {
      merged.emplace_back(from, to);
    }
  }
  return merged;
}

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

}  // namespace

std::vector<TimeShare> PathByCause(const Program& program,
                                   const std::vector<PathStep>& path) {
  Shares shares;
  for (const PathStep& step : path) {
    if (step.span.kind == SpanKind::kKernel) {
      AddKernel(program, step.span, shares);
    } else {
      shares.Add(fmt::format("communication: {}",
                             program.streams()[step.span.stream].name),
                 step.time());
    }
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
                                              RankId rank) {
  const Role& role = program.role_of(rank);
  const Intervals kernels = KernelTimes(program, spans, rank);
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
    time.exposed += span.running() - Overlap(kernels, span.started, span.ended);
  }
  std::vector<ExposedTime> times;
  for (const auto& [key, time] : by_kind) times.push_back(time);
  return times;
}

}  // namespace orrery
