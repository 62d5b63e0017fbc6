#include "sim/analysis/path_bound.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/analysis/worst_sharing.h"
#include "sim/engine/chip_sharing.h"
#include "sim/engine/engine_state.h"
#include "sim/sharing/step_waits.h"

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
  // Of kernels, a multiple of their time alone.
  IdVector<RoleId, double> slowness;
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
        ready += SoloDuration(role.kernel(task),
                              program_.ranks()[rank].slowness *
                                  times_.slowness[program_.ranks()[rank].role]);
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
  return LongestChain(
      transfers.plans, plan,
      [&](const TransferPlans::Step& step) { return Alone(transfers, step); });
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
  times.slowness.resize(program.roles().size(), 1);
  return PathRun(program, std::move(times)).Run();
}

std::optional<Duration> SlowestPath(const Program& program,
                                    const Transfers& transfers) {
  if (transfers.arbitration != Arbitration::kFlowFair) return std::nullopt;
  TaskTimes times;
  const IdVector<ResourceId, double> most = MostAtOnce(program, transfers);
  // So that no path leaves the range of time.
  const double longest =
      kMaxSeconds / static_cast<double>(program.task_count() + 1);
  bool in_range = true;
  const auto worst = [&](const TransferPlans::Step& step) {
    double rate = step.rate_cap;
    for (const ResourceUse& use : step.uses) {
      rate = std::min(rate,
                      transfers.capacities[use.resource] / most[use.resource]);
    }
    const double seconds = step.work > 0 ? step.work / rate : 0;
    if (seconds < longest) return step.latency + FromSeconds(seconds);
    in_range = false;
    return Duration(0);
  };
  for (const CallId id : program.calls().ids()) {
    times.calls.Add(
        LongestChain(transfers.plans, transfers.plan_of_call[id], worst));
  }
  if (!in_range) return std::nullopt;
  const std::optional<Duration> lost = MostLost(program, times.calls);
  std::optional<Duration> slowest;
  if (lost) {
    for (const Role& role : program.roles()) {
      times.slowness.Add(SpinningSlowness(role));
    }
    slowest = PathRun(program, times).Run() + *lost;
  }
  times.slowness = {};
  for (const Role& role : program.roles()) {
    const std::optional<double> slowness =
        MostSlowness(role, program.streams().size());
    if (!slowness) return slowest;
    times.slowness.Add(*slowness);
  }
  const Duration at_worst = PathRun(program, std::move(times)).Run();
  return slowest ? std::min(*slowest, at_worst) : at_worst;
}

}  // namespace orrery
