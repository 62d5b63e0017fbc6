#pragma once
// ProgramBuilder: says what every rank does, and is told what is wrong with it.
//
//   ProgramBuilder builder({{"compute", StreamKind::kCompute},
//                           {"tensor", StreamKind::kCommunication}});
//   RoleBuilder& role = builder.AddRole("stage 0");
//   const SlotRef tensor = role.AddSlot("tensor", StreamId(1));
//   const TaskRef qkv = role.AddKernel(StreamId(0), "qkv", {.duration = 10us});
//   const TaskRef sum = role.AddCollective(tensor, "sum", {.kind = ...});
//   role.AddDependency(qkv, sum);
//   const RankRef rank = builder.AddRank(0, role);
//   builder.Bind(rank, tensor, builder.AddGroup("tensor", 0));
//   ASSIGN_OR_RETURN(const Program program, std::move(builder).Build());
//
// A stream runs its tasks in the order in which they were added to it. Nothing
// else depends on the order of calls: roles are numbered by name, ranks by
// number, groups by family and index.
//
// Build refuses, naming the culprits, all at once: dependencies that form a
// cycle; slots left unbound; groups whose members disagree on the calls they
// make; sends nobody receives and receives nobody sends; memory released that
// was never allocated; numbers out of range. Deadlocks between ranks depend on
// the order of streams and are found by the engine.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "workload/program/group_linker.h"
#include "workload/program/program.h"
#include "workload/program/task_table.h"

namespace orrery {

// Where a task was put; valid for the role that made it.
struct TaskRef {
  StreamId stream{};
  int32_t position = 0;
  friend auto operator<=>(const TaskRef&, const TaskRef&) = default;
};
enum class SlotRef : int32_t {};
enum class RankRef : int32_t {};
enum class GroupRef : int32_t {};

// The tasks of one role, as they are written down.
class RoleBuilder {
 public:
  // All communication of a slot runs on `stream`, with one group.
  SlotRef AddSlot(absl::string_view name, StreamId stream);

  TaskRef AddKernel(StreamId stream, absl::string_view name,
                    const KernelWork& kernel);
  TaskRef AddMarker(StreamId stream, absl::string_view name);
  TaskRef AddCollective(SlotRef slot, absl::string_view name,
                        const Communication& what);
  // The kind of `what` is taken to be point-to-point. A slot either sends or
  // receives: a channel has one direction.
  TaskRef AddSend(SlotRef slot, absl::string_view name, Communication what);
  TaskRef AddReceive(SlotRef slot, absl::string_view name, Communication what);
  // The same with what ProgramBuilder::table() knows already.
  TaskRef AddKernel(StreamId stream, NameRef name, KernelRef kernel);
  TaskRef AddCollective(SlotRef slot, NameRef name, const Communication& what);

  // `after` starts when `before` is done. Both must exist.
  void AddDependency(TaskRef before, TaskRef after);
  // Requires: tasks of a stream are marked in their order, if at all.
  void SetMark(TaskRef task, const Mark& mark);
  void Allocate(TaskRef task, MemoryEffect::When when, MemoryKind kind,
                Bytes bytes);
  void Release(TaskRef task, MemoryEffect::When when, MemoryKind kind,
               Bytes bytes);
  // Held from the beginning.
  void SetInitialMemory(MemoryKind kind, Bytes bytes);

  const std::string& name() const { return name_; }

 private:
  friend class ProgramBuilder;
  friend class RoleCompiler;

  struct PendingTask {
    NameRef name;
    TaskKind kind;
    SlotRef slot{};
    int32_t payload = 0;  // a KernelRef, or a place in the slot's calls
  };
  // Tasks [begin, end) of a stream.
  struct MarkedRun {
    int32_t begin;
    int32_t end;
    Mark mark;
  };
  struct PendingSlot {
    std::string name;
    StreamId stream;
    std::vector<Communication> calls = {};  // distinct
  };
  struct PendingDependency {
    TaskRef before;
    TaskRef after;
  };
  struct PendingEffect {
    TaskRef task;
    MemoryEffect effect;
  };

  RoleBuilder(std::string name, size_t streams, int32_t index, TaskTable& table)
      : name_(std::move(name)),
        index_(index),
        table_(table),
        streams_(streams),
        marks_(streams) {}
  // Room for as many tasks as another has.
  void Reserve(const RoleBuilder& other);
  TaskRef Add(StreamId stream, const PendingTask& task);
  TaskRef AddCommunication(TaskKind kind, SlotRef slot, NameRef name,
                           const Communication& what);
  const PendingTask& at(TaskRef ref) const;

  std::string name_;
  int32_t index_;
  TaskTable& table_;
  std::vector<std::vector<PendingTask>> streams_;
  std::vector<std::vector<MarkedRun>> marks_;  // per stream
  std::vector<PendingSlot> slots_;
  std::vector<PendingDependency> dependencies_;
  std::vector<PendingEffect> effects_;
  MemoryByKind initial_memory_{};
};

class ProgramBuilder {
 public:
  // The streams that every rank has; their order is their StreamId. Requires:
  // between 1 and kMaxStreams.
  explicit ProgramBuilder(std::vector<Stream> streams);

  // The reference lives as long as the builder.
  RoleBuilder& AddRole(absl::string_view name);
  RankRef AddRank(int32_t number, const RoleBuilder& role,
                  int64_t multiplicity = 1, double slowness = 1);
  GroupRef AddGroup(absl::string_view family, int64_t index);
  // Where the names and kernels of all roles are kept.
  TaskTable& table() { return table_; }
  // Makes `rank` a member of `group`, through `slot` of its role.
  void Bind(RankRef rank, SlotRef slot, GroupRef group);

  absl::StatusOr<Program> Build() &&;

 private:
  struct PendingRank {
    int32_t number;
    int32_t role;
    int64_t multiplicity;
    double slowness;
  };
  struct PendingGroup {
    std::string family;
    int64_t index;
    friend bool operator==(const PendingGroup&, const PendingGroup&) = default;
  };
  struct Binding {
    RankRef rank;
    SlotRef slot;
    GroupRef group;
  };
  // Things in the order of their content: `sorted` holds where each was added,
  // `place` its place in this order.
  struct Order {
    std::vector<size_t> sorted;
    std::vector<size_t> place;
  };

  // The parts of Build, in turn.
  void InternNames(Program& program);
  void CompileRoles(Program& program, Violations& violations);
  void PlaceRanks(Program& program, Violations& violations);
  void BindSlots(Program& program, Violations& violations);
  void LinkGroups(Program& program, Violations& violations);

  std::vector<Stream> streams_;
  TaskTable table_;
  std::deque<std::unique_ptr<RoleBuilder>> roles_;
  std::vector<PendingRank> ranks_;
  std::vector<PendingGroup> groups_;
  std::vector<Binding> bindings_;

  // Known in the course of Build.
  std::vector<NameId> names_;  // by NameRef, of the names in use
  Order role_order_;
  Order rank_order_;
  Order group_order_;
  size_t slot_count_ = 0;
  std::vector<std::vector<Attachment>> members_;  // per group, in its order
};

// What is called for every task of a program.

inline const RoleBuilder::PendingTask& RoleBuilder::at(TaskRef ref) const {
  CHECK(Index(ref.stream) < streams_.size()) << "no such stream";
  const std::vector<PendingTask>& tasks = streams_[Index(ref.stream)];
  CHECK(ref.position >= 0 && static_cast<size_t>(ref.position) < tasks.size())
      << "no such task";
  return tasks[static_cast<size_t>(ref.position)];
}

inline TaskRef RoleBuilder::Add(StreamId stream, const PendingTask& task) {
  CHECK(Index(stream) < streams_.size()) << "no such stream";
  std::vector<PendingTask>& tasks = streams_[Index(stream)];
  CHECK(tasks.size() < (size_t{1} << 30)) << "too many tasks in a stream";
  tasks.push_back(task);
  table_.Use(task.name);
  return {stream, static_cast<int32_t>(tasks.size()) - 1};
}

inline TaskRef RoleBuilder::AddKernel(StreamId stream, NameRef name,
                                      KernelRef kernel) {
  return Add(stream, {.name = name,
                      .kind = TaskKind::kKernel,
                      .payload = static_cast<int32_t>(kernel)});
}

inline void RoleBuilder::AddDependency(TaskRef before, TaskRef after) {
  (void)at(before);
  (void)at(after);
  dependencies_.push_back({before, after});
}

inline void RoleBuilder::SetMark(TaskRef task, const Mark& mark) {
  (void)at(task);
  std::vector<MarkedRun>& runs = marks_[Index(task.stream)];
  if (!runs.empty() && runs.back().end == task.position &&
      runs.back().mark == mark) {
    ++runs.back().end;
    return;
  }
  CHECK(runs.empty() || runs.back().end <= task.position)
      << "tasks are marked in their order";
  runs.push_back({task.position, task.position + 1, mark});
}

}  // namespace orrery
