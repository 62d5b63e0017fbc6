#pragma once
// EngineRun: one run of the engine, from the first instant to the last. Use it
// through Simulate in engine.h, which says what it promises.
//
// How a task moves on:
//   touched    something it may have waited for has happened
//   TryStart   at the head of its stream, and its dependencies are done: start
//              a kernel, end a marker, or arrive at a call
//   Arrive     the last member to arrive starts the call for all
//   EndTask    the span is reported, the stream moves on, and whoever waits for
//              this task is touched
// Touched streams are tried in the order of ids after all that ends at an
// instant has ended.
//
// Of ranks whose spans nobody wants, kernels that follow one another unseen
// (kernel_chains.h) end with one event, as long as they have their chip to
// themselves; when something comes beside them, the chain is left where it is.
#include <absl/status/statusor.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sim/engine/chain_state.h"
#include "sim/engine/chip_sharing.h"
#include "sim/engine/engine_state.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/memory_tracker.h"
#include "sim/engine/run_result.h"
#include "sim/engine/stall.h"
#include "sim/engine/touch_list.h"
#include "sim/engine/transfer_runner.h"
#include "sim/sharing/completion.h"

namespace orrery {

// Tells that time ran out of range, and where.
absl::Status OutOfTime(const Program& program, const EngineState& state,
                       Event event, Time last);
absl::Status NegativeMemory(const Program& program, RankId rank);

template <EventQueue Queue, SpanSink Sink>
class EngineRun {
 public:
  EngineRun(const Program& program, const Transfers& transfers,
            const EngineOptions& options, Sink& sink)
      : program_(program),
        transfers_(transfers),
        sink_(sink),
        state_(program),
        chips_(state_, queue_),
        runner_(transfers, queue_, options.log),
        progress_(options.progress),
        arrived_(program.groups().size(), 0),
        tasks_left_(program.task_count()) {
    queue_.Grow(EventPhase::kKernel, state_.streams.size());
    result_.tasks = program.task_count();
    result_.ranks.resize(program.ranks().size());
    memory_.reserve(program.ranks().size());
    chains_ = FindChains(program, state_,
                         [&](RankId rank) { return SinkWants(rank); });
    for (const RankState& rank : state_.ranks) {
      memory_.Add(MemoryTracker(rank.role->initial_memory()));
    }
  }

  absl::StatusOr<RunResult> Run() {
    for (uint32_t i = 0; i < state_.streams.size(); ++i) {
      if (state_.streams[i].next != state_.streams[i].end) touched_.Add(i);
    }
    StartTouched();
    Settle();
    while (!queue_.empty()) {
      const Time last = std::exchange(now_, queue_.PopInstant(events_));
      if (now_ == kEndOfTime) {
        return OutOfTime(program_, state_, events_.front(), last);
      }
      result_.events += static_cast<int64_t>(events_.size());
      ++result_.instants;
      for (const Event event : events_) Apply(event);
      EndFinishedCalls();
      StartTouched();
      Settle();
      if (result_.instants % kInstantsPerReport == 0) Report();
    }
    if (tasks_left_ > 0) {
      return absl::FailedPreconditionError(ExplainStall(program_, state_));
    }
    return Finish();
  }

 private:
  static constexpr int64_t kInstantsPerReport = 1 << 14;

  void Report() const {
    if (!progress_) return;
    progress_(1 - static_cast<double>(tasks_left_) /
                      static_cast<double>(result_.tasks));
  }

  void Apply(Event event) {
    switch (event.phase()) {
      case EventPhase::kKernel:
        return EndKernel(event.index());
      case EventPhase::kTransfer:
        return runner_.OnEvent(event.index(), now_);
    }
  }

  void StartTouched() {
    while (!touched_.empty()) {
      for (const uint32_t index : touched_.Take()) TryStart(index);
      EndFinishedCalls();  // those that took no time
    }
  }

  void TryStart(uint32_t index) {
    StreamState& stream = state_.streams[index];
    // It may have been touched for two reasons.
    if (stream.status != StreamStatus::kHeading) return;
    const RankId rank = state_.RankOf(index);
    const Role& role = *state_.ranks[rank].role;
    const Task& task = role.at(stream.place);
    PrefetchAfter(task);
    if (task.dependency_count > 0 &&
        !DependenciesMet(role, task, stream, index)) {
      return;
    }
    stream.ready = now_;
    if (IsCommunication(task.kind)) return Arrive(index, rank, role, task);
    stream.started = now_;
    if (task.has_memory_effects) {
      ChangeMemory(rank, role, stream.place, MemoryEffect::When::kStart);
    }
    if (task.kind == TaskKind::kMarker) return EndTask(index);
    StartKernel(index, rank, role.kernel(task));
  }

  // If not, the stream that is behind will touch this one as it moves on.
  bool DependenciesMet(const Role& role, const Task& task, StreamState& stream,
                       uint32_t index) {
    const Dependency first{static_cast<StreamId>(task.first_dependency_stream),
                           task.first_dependency};
    const RoleLoop& loop = role.loop();
    const int32_t turn = stream.turn;
    if (!IsMet(loop.InTurn(first, turn), stream, index)) return false;
    if (task.dependency_count == 1) return true;
    for (const Dependency& needed :
         role.dependencies_at(stream.place).subspan(1)) {
      if (!IsMet(loop.InTurn(needed, turn), stream, index)) return false;
    }
    return true;
  }

  bool IsMet(const Dependency& needed, StreamState& stream, uint32_t index) {
    StreamState& other =
        state_.Beside(index, static_cast<uint32_t>(needed.stream));
    if (other.next > needed.task) return true;
    other.waiters =
        static_cast<StreamMask>(other.waiters | Bit(state_.StreamOf(index)));
    stream.awaited = needed.task;
    stream.released_by = Release::By::kDependency;
    stream.releaser = static_cast<int32_t>(needed.stream);
    return false;
  }

  void StartKernel(uint32_t index, RankId rank, const KernelWork& kernel) {
    RankState& chip = state_.ranks[rank];
    state_.streams[index].status = StreamStatus::kRunning;
    const bool is_alone =
        chip.kernels == 0 && chip.communications == 0 && chip.spinning == 0;
    chip.kernels =
        static_cast<StreamMask>(chip.kernels | Bit(state_.StreamOf(index)));
    if (is_alone && chip.chains != nullptr) {
      StreamState& stream = state_.streams[index];
      if (const auto end = ChainEnd(stream, *chip.chains, now_)) {
        stream.status = StreamStatus::kChained;
        queue_.Schedule({EventPhase::kKernel, index}, *end);
        return;
      }
    }
    queue_.Schedule({EventPhase::kKernel, index},
                    After(now_, SoloDuration(kernel, chip.slowness)));
    if (!is_alone) chips_.Mark(rank);
  }

  // So many kernels of chains are done, unseen.
  void CountUnseen(int32_t kernels) {
    tasks_left_ -= kernels;
    result_.events += kernels;
  }

  // Something is beside these chains: on from the kernels that run now.
  void LeaveChains() {
    for (const RankId rank : chips_.marked()) {
      const RankState& chip = state_.ranks[rank];
      if (chip.chains == nullptr) continue;
      ForEachStream(chip.kernels, [&](StreamId id) {
        const uint32_t index = state_.IndexOf(rank, id);
        StreamState& stream = state_.streams[index];
        if (stream.status != StreamStatus::kChained) return;
        CountUnseen(LeaveChain(stream, *chip.chains, now_));
        queue_.Schedule(
            {EventPhase::kKernel, index},
            After(stream.started, chip.chains->sums.Of(stream.place, 1)));
      });
    }
  }

  void EndKernel(uint32_t index) {
    const RankId rank = state_.RankOf(index);
    RankState& chip = state_.ranks[rank];
    chip.kernels =
        static_cast<StreamMask>(chip.kernels & ~Bit(state_.StreamOf(index)));
    if (chip.kernels != 0) chips_.Mark(rank);
    StreamState& stream = state_.streams[index];
    if (stream.status == StreamStatus::kChained) {
      const int32_t others = chip.chains->chains.length(stream.place) - 1;
      PassKernels(stream, others);
      CountUnseen(others);
    }
    EndTask(index);
  }

  void Arrive(uint32_t index, RankId rank, const Role& role, const Task& task) {
    const GroupId group =
        program_.group_of(rank, static_cast<SlotId>(task.slot));
    state_.streams[index].status = StreamStatus::kArrived;
    if (++arrived_[group] < program_.groups()[group].member_count) {
      if (task.kind == TaskKind::kCollective &&
          role.communication(task).share.compute > 0) {
        RankState& chip = state_.ranks[rank];
        chip.spinning = static_cast<StreamMask>(chip.spinning |
                                                Bit(state_.StreamOf(index)));
        chips_.Mark(rank);
      }
      return;
    }
    arrived_[group] = 0;
    StartCall(group, rank, role.communication(task).share);
    runner_.Start(group, transfers_.plan_of_call[program_.call_of(rank, task)],
                  now_);
  }

  void StartCall(GroupId group, RankId last, const ChipShare& share) {
    const bool holds_chip = share.compute > 0 || share.memory > 0;
    for (const GroupMember& member : program_.members(group)) {
      StreamState& stream =
          state_.streams[state_.IndexOf(member.rank, member.stream)];
      stream.status = StreamStatus::kCommunicating;
      stream.started = now_;
      if (stream.ready < now_) {
        stream.released_by = Release::By::kPartner;
        stream.releaser = static_cast<int32_t>(last);
      }
      RankState& chip = state_.ranks[member.rank];
      if (chip.role->at(stream.place).has_memory_effects) {
        ChangeMemory(member.rank, *chip.role, stream.place,
                     MemoryEffect::When::kStart);
      }
      if (holds_chip) {
        chip.spinning =
            static_cast<StreamMask>(chip.spinning & ~Bit(member.stream));
        chip.communications =
            static_cast<StreamMask>(chip.communications | Bit(member.stream));
        chips_.Mark(member.rank);
      }
    }
  }

  void EndFinishedCalls() {
    for (const GroupId group : runner_.finished()) {
      for (const GroupMember& member : program_.members(group)) {
        RankState& chip = state_.ranks[member.rank];
        if ((chip.communications & Bit(member.stream)) != 0) {
          chip.communications = static_cast<StreamMask>(chip.communications &
                                                        ~Bit(member.stream));
          chips_.Mark(member.rank);
        }
        EndTask(state_.IndexOf(member.rank, member.stream));
      }
    }
    runner_.finished().clear();
  }

  void EndTask(uint32_t index) {
    StreamState& stream = state_.streams[index];
    const RankId rank = state_.RankOf(index);
    const Role& role = *state_.ranks[rank].role;
    const Task& task = role.at(stream.place);
    if (SinkWants(rank)) sink_.Add(SpanOf(state_, index, now_));
    if (task.has_memory_effects) {
      ChangeMemory(rank, role, stream.place, MemoryEffect::When::kEnd);
    }
    --tasks_left_;
    stream.MoveOn(role.loop(), state_.StreamOf(index));
    stream.status = StreamStatus::kHeading;
    stream.released_by = Release::By::kStream;
    stream.releaser = 0;
    stream.headed = now_;
    if (stream.waiters != 0) TouchWaiters(index, stream);
    if (stream.next == stream.end) return;
    if (state_.ranks[rank].chains != nullptr && IsHeldUp(index, role)) return;
    touched_.Add(index);
  }

  // Those who wait for what has been done by now. A head waits for one stream
  // at a time, and the others' need not be tried before.
  void TouchWaiters(uint32_t index, StreamState& stream) {
    const uint32_t base = index & ~state_.stream_bits;
    ForEachStream(stream.waiters, [&](StreamId id) {
      const uint32_t waiter = base | static_cast<uint32_t>(id);
      if (state_.streams[waiter].awaited >= stream.next) return;
      stream.waiters = static_cast<StreamMask>(stream.waiters & ~Bit(id));
      touched_.Add(waiter);
    });
  }

  // Whether the head of a stream is known not to start in this round, because
  // it needs a stream whose head takes time: that one will touch it.
  bool IsHeldUp(uint32_t index, const Role& role) {
    StreamState& stream = state_.streams[index];
    const Task& task = role.at(stream.place);
    if (task.dependency_count == 0) return false;
    const StreamState& other =
        state_.Beside(index, task.first_dependency_stream);
    if (other.next == other.end ||
        role.at(other.place).kind == TaskKind::kMarker) {
      return false;
    }
    const Dependency first{static_cast<StreamId>(task.first_dependency_stream),
                           task.first_dependency};
    return !IsMet(role.loop().InTurn(first, stream.turn), stream, index);
  }

  // A sink may say whose spans it has no use for.
  bool SinkWants(RankId rank) const {
    if constexpr (requires { sink_.Wants(rank); }) return sink_.Wants(rank);
    return true;
  }

  void ChangeMemory(RankId rank, const Role& role, PlaceId task,
                    MemoryEffect::When when) {
    for (const MemoryEffect& effect : role.memory_effects_at(task)) {
      if (effect.when != when) continue;
      memory_[rank].Change(effect.kind, effect.change, now_);
    }
  }

  void Settle() {
    LeaveChains();
    chips_.Settle(now_);
    runner_.Settle(now_);
  }

  absl::StatusOr<RunResult> Finish() {
    result_.end = now_;
    for (const RankId rank : program_.ranks().ids()) {
      if (memory_[rank].went_negative()) return NegativeMemory(program_, rank);
      result_.ranks[rank].memory = memory_[rank].peak();
      for (const StreamId stream : program_.streams().ids()) {
        result_.ranks[rank].finished =
            std::max(result_.ranks[rank].finished,
                     state_.streams[state_.IndexOf(rank, stream)].headed);
      }
    }
    result_.transfer_steps = runner_.steps();
    result_.kernel_rate_changes = chips_.changes();
    result_.sharing = runner_.sharing().counters();
    for (const ResourceId id : transfers_.capacities.ids()) {
      result_.carried.Add(runner_.sharing().carried(id));
    }
    return std::move(result_);
  }

  const Program& program_;
  const Transfers& transfers_;
  Sink& sink_;
  Time now_{};
  Queue queue_;
  EngineState state_;
  ChipSharing<Queue> chips_;
  TransferRunner<Queue> runner_;
  std::function<void(double)> progress_;
  std::vector<std::unique_ptr<RoleChains>> chains_;
  IdVector<GroupId, int32_t> arrived_;
  IdVector<RankId, MemoryTracker> memory_;
  int64_t tasks_left_;
  std::vector<Event> events_;
  TouchList touched_;
  RunResult result_;
};

}  // namespace orrery
