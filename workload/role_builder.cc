#include <algorithm>

#include "base/check.h"
#include "workload/program_builder.h"

namespace orrery {

SlotRef RoleBuilder::AddSlot(absl::string_view name, StreamId stream) {
  CHECK(Index(stream) < streams_.size()) << "no such stream";
  slots_.push_back({std::string(name), stream});
  return static_cast<SlotRef>(slots_.size() - 1);
}

TaskRef RoleBuilder::Add(StreamId stream, const PendingTask& task) {
  CHECK(Index(stream) < streams_.size()) << "no such stream";
  std::vector<PendingTask>& tasks = streams_[Index(stream)];
  CHECK(tasks.size() < (size_t{1} << 30)) << "too many tasks in a stream";
  tasks.push_back(task);
  table_.Use(task.name);
  return {stream, static_cast<int32_t>(tasks.size()) - 1};
}

const RoleBuilder::PendingTask& RoleBuilder::at(TaskRef ref) const {
  CHECK(Index(ref.stream) < streams_.size()) << "no such stream";
  const std::vector<PendingTask>& tasks = streams_[Index(ref.stream)];
  CHECK(ref.position >= 0 && static_cast<size_t>(ref.position) < tasks.size())
      << "no such task";
  return tasks[static_cast<size_t>(ref.position)];
}

TaskRef RoleBuilder::AddKernel(StreamId stream, absl::string_view name,
                               const KernelWork& kernel) {
  return AddKernel(stream, table_.Name(name), table_.Kernel(kernel));
}

TaskRef RoleBuilder::AddKernel(StreamId stream, NameRef name,
                               KernelRef kernel) {
  return Add(stream, {.name = name,
                      .kind = TaskKind::kKernel,
                      .payload = static_cast<int32_t>(kernel)});
}

TaskRef RoleBuilder::AddMarker(StreamId stream, absl::string_view name) {
  return Add(stream, {.name = table_.Name(name), .kind = TaskKind::kMarker});
}

TaskRef RoleBuilder::AddCommunication(TaskKind kind, SlotRef slot, NameRef name,
                                      const Communication& what) {
  CHECK(Index(slot) < slots_.size()) << "no such slot";
  PendingSlot& to = slots_[Index(slot)];
  const auto found = std::find(to.calls.begin(), to.calls.end(), what);
  const auto call = static_cast<int32_t>(found - to.calls.begin());
  if (found == to.calls.end()) to.calls.push_back(what);
  return Add(to.stream,
             {.name = name, .kind = kind, .slot = slot, .payload = call});
}

TaskRef RoleBuilder::AddCollective(SlotRef slot, absl::string_view name,
                                   const Communication& what) {
  return AddCollective(slot, table_.Name(name), what);
}

TaskRef RoleBuilder::AddCollective(SlotRef slot, NameRef name,
                                   const Communication& what) {
  return AddCommunication(TaskKind::kCollective, slot, name, what);
}

TaskRef RoleBuilder::AddSend(SlotRef slot, absl::string_view name,
                             Communication what) {
  what.kind = CommunicationKind::kPointToPoint;
  return AddCommunication(TaskKind::kSend, slot, table_.Name(name), what);
}

TaskRef RoleBuilder::AddReceive(SlotRef slot, absl::string_view name,
                                Communication what) {
  what.kind = CommunicationKind::kPointToPoint;
  return AddCommunication(TaskKind::kReceive, slot, table_.Name(name), what);
}

void RoleBuilder::AddDependency(TaskRef before, TaskRef after) {
  (void)at(before);
  (void)at(after);
  dependencies_.push_back({before, after});
}

void RoleBuilder::SetMark(TaskRef task, const Mark& mark) {
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

void RoleBuilder::Allocate(TaskRef task, MemoryEffect::When when,
                           MemoryKind kind, Bytes bytes) {
  (void)at(task);
  effects_.push_back({task, {when, kind, bytes}});
}

void RoleBuilder::Release(TaskRef task, MemoryEffect::When when,
                          MemoryKind kind, Bytes bytes) {
  Allocate(task, when, kind, -bytes);
}

void RoleBuilder::SetInitialMemory(MemoryKind kind, Bytes bytes) {
  initial_memory_[static_cast<size_t>(kind)] = bytes;
}

}  // namespace orrery
