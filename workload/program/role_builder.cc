#include <algorithm>

#include "base/check.h"
#include "workload/program/program_builder.h"

namespace orrery {

void RoleBuilder::Reserve(const RoleBuilder& other) {
  for (size_t s = 0; s < streams_.size(); ++s) {
    streams_[s].reserve(other.streams_[s].size());
    marks_[s].reserve(other.marks_[s].size());
  }
  dependencies_.reserve(other.dependencies_.size());
  effects_.reserve(other.effects_.size());
}

SlotRef RoleBuilder::AddSlot(absl::string_view name, StreamId stream) {
  CHECK(Index(stream) < streams_.size()) << "no such stream";
  slots_.push_back({std::string(name), stream});
  return static_cast<SlotRef>(slots_.size() - 1);
}

TaskRef RoleBuilder::AddKernel(StreamId stream, absl::string_view name,
                               const KernelWork& kernel) {
  return AddKernel(stream, table_.Name(name), table_.Kernel(kernel));
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
