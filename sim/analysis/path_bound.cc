#include "sim/analysis/path_bound.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/analysis/plan_path.h"
#include "sim/analysis/role_overlap.h"
#include "sim/analysis/worst_sharing.h"
#include "sim/engine/chip_sharing.h"
#include "sim/engine/engine_state.h"

namespace orrery {
namespace {

Duration Alone(const Transfers& transfers, const TransferPlans::Step& step) {
  double rate = step.rate_cap;
  for (const ResourceUse& use : step.uses) {
    rate = std::min(rate, transfers.capacities[use.resource] / use.weight);
  }
  return AddTimes(step.latency,
                  step.work > 0 ? FromSeconds(step.work / rate) : Duration(0));
}

// How long tasks take.
struct TaskTimes {
  IdVector<CallId, Duration> calls;
  // Of kernels, by role and task, a multiple of their time alone; empty: 1.
  IdVector<RoleId, std::vector<double>> slowness = {};
};

class PathRun {
 public:
  PathRun(const Program& program, TaskTimes times)
      : program_(program),
        times_(std::move(times)),
        streams_(program.streams().size()),
        heads_(program.ranks().size() * streams_),
        groups_(program.groups().size()) {
    for (const RankId rank : program.ranks().ids()) {
      const Role& role = program.role_of(rank);
      // Written before it is read.
      ends_.push_back(std::make_unique_for_overwrite<Duration[]>(
          static_cast<size_t>(role.task_count())));
      for (size_t s = 0; s < streams_; ++s) {
        At(rank, s).next = role.stream_begin(static_cast<StreamId>(s));
      }
    }
  }

  Duration Run() {
    for (const RankId rank : program_.ranks().ids()) {
      for (size_t s = 0; s < streams_; ++s) Wake(rank, s);
    }
    while (!awake_.empty()) {
      const auto [rank, stream] = awake_.back();
      awake_.pop_back();
      At(rank, stream).awake = false;
      while (Advance(rank, stream)) {
      }
    }
    Duration end{};
    for (const RankId rank : program_.ranks().ids()) {
      const Role& role = program_.role_of(rank);
      for (size_t s = 0; s < streams_; ++s) {
        CHECK(At(rank, s).next == role.stream_end(static_cast<StreamId>(s)))
            << "the program stalls";
        end = std::max(end, At(rank, s).end);
      }
    }
    return end;
  }

 private:
  struct Head {
    TaskId next{};
    Duration end{};          // of the task before
    StreamMask waiters = 0;  // streams of the rank that wait for this one
    bool arrived = false;
    bool awake = false;
  };
  struct Meeting {
    int32_t arrived = 0;
    Duration ready{};
  };

  Head& At(RankId rank, size_t stream) {
    return heads_[Index(rank) * streams_ + stream];
  }

  void Wake(RankId rank, size_t stream) {
    Head& head = At(rank, stream);
    if (std::exchange(head.awake, true)) return;
    awake_.emplace_back(rank, stream);
  }

  // Runs the head of a stream if it can; whether another may follow at once.
  bool Advance(RankId rank, size_t stream) {
    Head& head = At(rank, stream);
    const Role& role = program_.role_of(rank);
    if (head.arrived ||
        head.next == role.stream_end(static_cast<StreamId>(stream))) {
      return false;
    }
    Duration ready = head.end;
    const Task& task = role.task(head.next);
    const auto is_met = [&](const Dependency& needed) {
      Head& other = At(rank, Index(needed.stream));
      if (other.next <= needed.task) {
        other.waiters = static_cast<StreamMask>(
            other.waiters | Bit(static_cast<StreamId>(stream)));
        return false;
      }
      ready = std::max(ready, ends_[Index(rank)][Index(needed.task)]);
      return true;
    };
    if (task.dependency_count > 0 &&
        !is_met({static_cast<StreamId>(task.first_dependency_stream),
                 task.first_dependency})) {
      return false;
    }
    if (task.dependency_count > 1) {
      for (const Dependency& needed : role.dependencies(head.next).subspan(1)) {
        if (!is_met(needed)) return false;
      }
    }
    if (!IsCommunication(task.kind)) {
      if (task.kind == TaskKind::kKernel) {
        ready += SoloDuration(role.kernel(task), SlownessOf(rank, head.next));
      }
      End(rank, stream, ready);
      return true;
    }
    const GroupId group =
        program_.group_of(rank, static_cast<SlotId>(task.slot));
    const auto members = program_.members(group);
    Meeting& meeting = groups_[group];
    meeting.ready = std::max(meeting.ready, ready);
    head.arrived = true;
    if (++meeting.arrived < static_cast<int32_t>(members.size())) return false;
    const Duration end =
        meeting.ready + times_.calls[program_.call_of(rank, task)];
    meeting = {};
    for (const GroupMember& member : members) {
      At(member.rank, Index(member.stream)).arrived = false;
      End(member.rank, Index(member.stream), end);
      Wake(member.rank, Index(member.stream));
    }
    return false;
  }

  double SlownessOf(RankId rank, TaskId task) const {
    const ProgramRank& of = program_.ranks()[rank];
    if (times_.slowness.empty()) return of.slowness;
    return of.slowness * times_.slowness[of.role][Index(task)];
  }

  void End(RankId rank, size_t stream, Duration end) {
    Head& head = At(rank, stream);
    ends_[Index(rank)][Index(head.next)] = end;
    head.end = end;
    head.next = static_cast<TaskId>(static_cast<int32_t>(head.next) + 1);
    if (head.waiters != 0) {
      ForEachStream(std::exchange(head.waiters, StreamMask{0}),
                    [&](StreamId waiter) { Wake(rank, Index(waiter)); });
    }
  }

  const Program& program_;
  TaskTimes times_;
  size_t streams_;
  std::vector<Head> heads_;
  IdVector<GroupId, Meeting> groups_;
  std::vector<std::unique_ptr<Duration[]>> ends_;  // by rank and task
  std::vector<std::pair<RankId, size_t>> awake_;
};

}  // namespace

Duration ShortestTime(const Transfers& transfers, PlanId plan) {
  return LongestChain(transfers, plan, [&](const TransferPlans::Step& step) {
    return Alone(transfers, step);
  });
}

Duration SerialTime(const Transfers& transfers, PlanId plan) {
  Duration sum{};
  for (int32_t i = 0; i < transfers.plans.listed_count(plan); ++i) {
    const TransferPlans::Step step = transfers.plans.listed(plan, i);
    const Duration alone = Alone(transfers, step);
    for (int32_t time = transfers.plans.times(plan, step); time > 0; --time) {
      sum = AddTimes(sum, alone);
    }
  }
  return sum;
}

Duration LongestPath(const Program& program, const Transfers& transfers) {
  TaskTimes times;
  for (const CallId id : program.calls().ids()) {
    times.calls.Add(ShortestTime(transfers, transfers.plan_of_call[id]));
  }
  return PathRun(program, std::move(times)).Run();
}

std::optional<Duration> SlowestPath(const Program& program,
                                    const Transfers& transfers) {
  if (transfers.arbitration != Arbitration::kFlowFair) return std::nullopt;
  std::optional<IdVector<CallId, Duration>> calls =
      SlowestCalls(program, transfers);
  if (!calls) return std::nullopt;
  IdVector<RoleId, RoleOverlap> overlaps;
  bool stopped = false;
  for (const Role& role : program.roles()) {
    RoleOverlap overlap = OverlapOf(role, program.streams());
    stopped |= overlap.at_worst.empty() && role.task_count() > 0;
    overlaps.Add(std::move(overlap));
  }
  std::optional<Duration> slowest;
  if (const auto lost = MostLost(program, overlaps, *calls)) {
    TaskTimes times = {.calls = *calls};
    for (RoleOverlap& overlap : overlaps) {
      times.slowness.Add(std::move(overlap.spinning));
    }
    slowest = PathRun(program, std::move(times)).Run() + *lost;
  }
  if (stopped) return slowest;
  TaskTimes times = {.calls = *std::move(calls)};
  for (RoleOverlap& overlap : overlaps) {
    times.slowness.Add(std::move(overlap.at_worst));
  }
  const Duration at_worst = PathRun(program, std::move(times)).Run();
  return slowest ? std::min(*slowest, at_worst) : at_worst;
}

}  // namespace orrery
