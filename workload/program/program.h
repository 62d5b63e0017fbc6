#pragma once
// Program: what every rank does, in a form that scales to tens of thousands of
// ranks. Immutable; made by ProgramBuilder, which has checked everything here.
//
// A Role is a task-graph template: tasks lie stream by stream, in the order in
// which the stream runs them (a TaskId is a place in that list), with
// dependencies between streams in CSR form. Because a stream is FIFO, a
// dependency on a task implies all the tasks before it in its stream; a task
// keeps at most one dependency per stream, and none that follows from others.
// The engine therefore needs one counter per stream of a rank, and nothing per
// task: 16 384 ranks of 6 000 tasks cost as much as the roles they share.
//
// A rank plays a role. Where the role says "all-reduce in my slot 2", the
// rank's slot table says which group that is. Members of a group run its calls
// in the same order, so a call needs no tag: the n-th of one member meets the
// n-th of the others.
//
// A rank may stand for several (`multiplicity`, folding): groups then hold only
// the simulated members.
//
// A role may have a loop (role_loop.h): a part of every stream that is run many
// times is kept once. A TaskId counts every turn, as if all were written out; a
// PlaceId says where the task is kept. Without a loop the two are the same.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "topology/traffic/dimension.h"
#include "workload/program/role_loop.h"
#include "workload/program/task.h"

namespace orrery {

enum class StreamKind : uint8_t {
  kCompute,
  kCommunication,
  kCopy,
  // The host's thread that starts the others' tasks: its kernels need nothing
  // of the chip.
  kHost,
};

struct Stream {
  std::string name;
  StreamKind kind = StreamKind::kCompute;
  // Whose communication runs on it, if it is one dimension's.
  std::optional<Dimension> dimension = std::nullopt;
};
// Where a rank runs its kernels, if it has one such stream.
inline constexpr StreamId kComputeStream{0};

// Streams' sets as bits.
using StreamMask = uint16_t;
static_assert(sizeof(StreamMask) * 8 >= kMaxStreams);

// A role's communication with one group: which stream it runs on, the distinct
// calls, and the order in which they are made.
struct RoleSlot {
  enum class Side : uint8_t { kMember, kSender, kReceiver };
  std::string name;
  StreamId stream{};
  Side side = Side::kMember;
  std::vector<Communication> calls = {};
  // Those of a loop in its first turn only.
  std::vector<TaskId> sequence = {};
};

class Role {
 public:
  const std::string& name() const { return name_; }
  int32_t task_count() const {
    return static_cast<int32_t>(stream_begin_.back());
  }
  TaskId stream_begin(StreamId s) const { return stream_begin_[Index(s)]; }
  TaskId stream_end(StreamId s) const { return stream_begin_[Index(s) + 1]; }
  StreamId stream_of(TaskId task) const;

  // What is kept, whatever the number of turns.
  int32_t place_count() const { return static_cast<int32_t>(tasks_.size()); }
  PlaceId place_begin(StreamId s) const { return place_begin_[Index(s)]; }
  PlaceId place_end(StreamId s) const { return place_begin_[Index(s) + 1]; }
  const RoleLoop& loop() const { return loop_; }
  PlaceId place_of(TaskId t) const {
    return loop_.turns == 1 ? static_cast<PlaceId>(t) : Find(t).place;
  }
  // How often the task that is kept there is run.
  int32_t times(PlaceId p) const;

  const Task& task(TaskId t) const { return at(place_of(t)); }
  const Task& at(PlaceId p) const { return tasks_[p]; }
  const KernelWork& kernel(const Task& task) const {
    return kernels_[static_cast<size_t>(task.payload)];
  }
  const Communication& communication(const Task& task) const {
    return slots_[static_cast<SlotId>(task.slot)]
        .calls[static_cast<size_t>(task.payload)];
  }
  DependencyList dependencies(TaskId t) const {
    if (loop_.turns == 1) {
      return {dependencies_at(static_cast<PlaceId>(t)), loop_, 0};
    }
    const LoopPlace found = Find(t);
    return {dependencies_at(found.place), loop_, found.turn};
  }
  // In the first turn.
  absl::Span<const Dependency> dependencies_at(PlaceId p) const {
    return Row(dependencies_, dependencies_begin_, p);
  }
  absl::Span<const MemoryEffect> memory_effects(TaskId t) const {
    return memory_effects_at(place_of(t));
  }
  absl::Span<const MemoryEffect> memory_effects_at(PlaceId p) const {
    return Row(memory_effects_, memory_effects_begin_, p);
  }
  NameId name_of(TaskId t) const { return name_at(place_of(t)); }
  NameId name_at(PlaceId p) const { return task_names_[p]; }
  // Found by search. Of a loop, micro-batches and passes are counted as if it
  // had one turn: timelines are drawn of roles that are written out.
  const Mark& mark(TaskId t) const;
  const IdVector<SlotId, RoleSlot>& slots() const { return slots_; }
  const MemoryByKind& initial_memory() const { return initial_memory_; }

  // Which turn of the loop the task is in: 0 before it and after it.
  LoopPlace Find(TaskId t) const { return Find(stream_of(t), t); }
  // Requires: a task of that stream.
  LoopPlace Find(StreamId stream, TaskId t) const;

 private:
  friend class RoleCompiler;
  friend class RoleLengthening;
  Role() = default;

  template <class T>
  static absl::Span<const T> Row(const std::vector<T>& items,
                                 const std::vector<int32_t>& begin, PlaceId p) {
    const auto first = static_cast<size_t>(begin[Index(p)]);
    const auto last = static_cast<size_t>(begin[Index(p) + 1]);
    return absl::MakeConstSpan(items.data() + first, last - first);
  }

  std::string name_;
  std::vector<TaskId> stream_begin_;  // one more than streams
  std::vector<PlaceId> place_begin_;  // likewise
  RoleLoop loop_;
  IdVector<PlaceId, Task> tasks_;
  std::vector<KernelWork> kernels_;
  std::vector<int32_t> dependencies_begin_;  // one more than places
  std::vector<Dependency> dependencies_;
  std::vector<int32_t> memory_effects_begin_;  // one more than places
  std::vector<MemoryEffect> memory_effects_;
  IdVector<PlaceId, NameId> task_names_;
  // Tasks from `first` up to that of the next entry are marked alike.
  struct MarkedRun {
    PlaceId first;
    Mark mark;
  };
  std::vector<MarkedRun> marks_;
  IdVector<SlotId, RoleSlot> slots_;
  MemoryByKind initial_memory_{};
};

struct ProgramRank {
  int32_t number = 0;  // the user's: global rank, or the representative's
  RoleId role{};
  int64_t multiplicity = 1;  // ranks it stands for, itself included
  double slowness = 1;       // factor on the duration of its kernels
  int64_t slots_begin = 0;   // into the program's slot table
};

struct GroupMember {
  RankId rank;
  StreamId stream;
};

// A group is known by its family ("tensor", "pipeline forward") and an index.
// `members` of a point-to-point group: the sender, then the receiver.
struct ProgramGroup {
  NameId family{};
  int64_t index = 0;
  CallId first_call{};
  int32_t call_count = 0;
  int64_t members_begin = 0;
  int32_t member_count = 0;
};

class Program {
 public:
  const IdVector<StreamId, Stream>& streams() const { return streams_; }
  const IdVector<RoleId, Role>& roles() const { return roles_; }
  const IdVector<RankId, ProgramRank>& ranks() const { return ranks_; }
  const IdVector<GroupId, ProgramGroup>& groups() const { return groups_; }
  const IdVector<CallId, Call>& calls() const { return calls_; }
  const std::string& name(NameId id) const { return names_[id]; }

  const Role& role_of(RankId rank) const { return roles_[ranks_[rank].role]; }
  GroupId group_of(RankId rank, SlotId slot) const {
    return slot_groups_[static_cast<size_t>(ranks_[rank].slots_begin) +
                        Index(slot)];
  }
  // Requires: `task` is communication of `rank`'s role.
  CallId call_of(RankId rank, const Task& task) const {
    const GroupId group = group_of(rank, static_cast<SlotId>(task.slot));
    return static_cast<CallId>(static_cast<int32_t>(groups_[group].first_call) +
                               task.payload);
  }
  absl::Span<const GroupMember> members(GroupId id) const {
    const ProgramGroup& group = groups_[id];
    return absl::MakeConstSpan(members_.data() + group.members_begin,
                               static_cast<size_t>(group.member_count));
  }

  // Over all simulated ranks.
  int64_t task_count() const { return task_count_; }

  // "rank 3 compute: 'qkv' (task 12)", for errors.
  std::string Describe(RankId rank, TaskId task) const;
  // "group tensor[4]"
  std::string Describe(GroupId group) const;

 private:
  friend class ProgramBuilder;
  friend class ProgramLengthening;
  Program() = default;

  IdVector<StreamId, Stream> streams_;
  IdVector<RoleId, Role> roles_;
  IdVector<RankId, ProgramRank> ranks_;
  std::vector<GroupId> slot_groups_;
  IdVector<GroupId, ProgramGroup> groups_;
  std::vector<GroupMember> members_;
  IdVector<CallId, Call> calls_;
  IdVector<NameId, std::string> names_;
  int64_t task_count_ = 0;
};

}  // namespace orrery
