#include "base/check.h"
#include "workload/program_builder.h"

namespace orrery {

SlotRef RoleBuilder::AddSlot(absl::string_view name, StreamId stream) {
  CHECK(Index(stream) < streams_.size()) << "no such stream";
  slots_.push_back({std::string(name), stream});
  return static_cast<SlotRef>(slots_.size() - 1);
}

TaskRef RoleBuilder::Add(StreamId stream, PendingTask task) {
  CHECK(Index(stream) < streams_.size()) << "no such stream";
  std::vector<PendingTask>& tasks = streams_[Index(stream)];
  CHECK(tasks.size() < (size_t{1} << 30)) << "too many tasks in a stream";
  tasks.push_back(std::move(task));
  return {stream, static_cast<int32_t>(tasks.size()) - 1};
}

RoleBuilder::PendingTask& RoleBuilder::at(TaskRef ref) {
  return const_cast<PendingTask&>(std::as_const(*this).at(ref));
}

const RoleBuilder::PendingTask& RoleBuilder::at(TaskRef ref) const {
  CHECK(Index(ref.stream) < streams_.size()) << "no such stream";
  const std::vector<PendingTask>& tasks = streams_[Index(ref.stream)];
  CHECK(ref.position >= 0 && static_cast<size_t>(ref.position) < tasks.size())
      << "no such task";
  return tasks[static_cast<size_t>(ref.position)];
}

TaskRef RoleBuilder::AddKernel(StreamId stream, absl::string_view name,
                               KernelWork kernel) {
  return Add(
      stream,
      {.name = std::string(name), .kind = TaskKind::kKernel, .kernel = kernel});
}

TaskRef RoleBuilder::AddMarker(StreamId stream, absl::string_view name) {
  return Add(stream, {.name = std::string(name), .kind = TaskKind::kMarker});
}

TaskRef RoleBuilder::AddCommunication(TaskKind kind, SlotRef slot,
                                      absl::string_view name,
                                      const Communication& what) {
  CHECK(Index(slot) < slots_.size()) << "no such slot";
  return Add(
      slots_[Index(slot)].stream,
      {.name = std::string(name), .kind = kind, .slot = slot, .what = what});
}

TaskRef RoleBuilder::AddCollective(SlotRef slot, absl::string_view name,
                                   const Communication& what) {
  return AddCommunication(TaskKind::kCollective, slot, name, what);
}

TaskRef RoleBuilder::AddSend(SlotRef slot, absl::string_view name,
                             Communication what) {
  what.kind = CommunicationKind::kPointToPoint;
  return AddCommunication(TaskKind::kSend, slot, name, what);
}

TaskRef RoleBuilder::AddReceive(SlotRef slot, absl::string_view name,
                                Communication what) {
  what.kind = CommunicationKind::kPointToPoint;
  return AddCommunication(TaskKind::kReceive, slot, name, what);
}

void RoleBuilder::AddDependency(TaskRef before, TaskRef after) {
  (void)at(before);
  at(after).after.push_back(before);
}

void RoleBuilder::SetMark(TaskRef task, const Mark& mark) {
  at(task).mark = mark;
}

void RoleBuilder::Allocate(TaskRef task, MemoryEffect::When when,
                           MemoryKind kind, Bytes bytes) {
  at(task).effects.push_back({when, kind, bytes});
}

void RoleBuilder::Release(TaskRef task, MemoryEffect::When when,
                          MemoryKind kind, Bytes bytes) {
  at(task).effects.push_back({when, kind, -bytes});
}

void RoleBuilder::SetInitialMemory(MemoryKind kind, Bytes bytes) {
  initial_memory_[static_cast<size_t>(kind)] = bytes;
}

}  // namespace orrery
