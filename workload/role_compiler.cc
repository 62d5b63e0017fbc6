#include "workload/role_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "workload/dependency_reduction.h"

namespace orrery {
namespace {

bool IsShare(double x) { return x >= 0 && x <= 1; }
bool IsShare(const ChipShare& share) {
  return IsShare(share.compute) && IsShare(share.memory);
}

RoleSlot::Side SideOf(TaskKind kind) {
  switch (kind) {
    case TaskKind::kSend:
      return RoleSlot::Side::kSender;
    case TaskKind::kReceive:
      return RoleSlot::Side::kReceiver;
    case TaskKind::kCollective:
    case TaskKind::kKernel:
    case TaskKind::kMarker:
      break;
  }
  return RoleSlot::Side::kMember;
}

}  // namespace

std::string RoleCompiler::Describe(TaskId task) const {
  const StreamId stream = stream_of_[Index(task)];
  const auto position = Index(task) - Index(role_.stream_begin_[Index(stream)]);
  return fmt::format("'{}' ({} #{})",
                     source_.streams_[Index(stream)][position].name,
                     streams_[Index(stream)].name, position);
}

std::optional<Role> RoleCompiler::Compile(Violations& violations) {
  Violations found;
  role_.name_ = source_.name_;
  if (!FitsIds(found)) {
    violations.Add(found.ToStatus(), fmt::format("role '{}'", source_.name_));
    return std::nullopt;
  }
  role_.initial_memory_ = source_.initial_memory_;
  for (const RoleBuilder::PendingSlot& slot : source_.slots_) {
    role_.slots_.Add({.name = slot.name, .stream = slot.stream});
  }
  LayOutStreams();
  for (const std::vector<Pending>& stream : source_.streams_) {
    for (const Pending& task : stream) CompileTask(task, found);
  }
  role_.memory_effects_begin_.push_back(
      static_cast<int32_t>(role_.memory_effects_.size()));
  CheckMemory(found);
  CompileDependencies(found);
  for (const std::string& message : found.messages()) {
    violations.Add(fmt::format("role '{}': {}", role_.name_, message));
  }
  if (!found.empty()) return std::nullopt;
  return std::move(role_);
}

bool RoleCompiler::FitsIds(Violations& violations) const {
  constexpr size_t kMaxTasks = std::numeric_limits<int32_t>::max();
  constexpr size_t kMaxSlots = std::numeric_limits<decltype(Task::slot)>::max();
  size_t tasks = 0;
  for (const std::vector<Pending>& stream : source_.streams_) {
    tasks += stream.size();
  }
  if (tasks > kMaxTasks) {
    violations.Add(fmt::format("{} tasks are more than the {} a role can have",
                               tasks, kMaxTasks));
  }
  if (source_.slots_.size() > kMaxSlots) {
    violations.Add(fmt::format("{} slots are more than the {} a role can have",
                               source_.slots_.size(), kMaxSlots));
  }
  return violations.empty();
}

void RoleCompiler::LayOutStreams() {
  int32_t begin = 0;
  for (size_t s = 0; s < source_.streams_.size(); ++s) {
    role_.stream_begin_.push_back(static_cast<TaskId>(begin));
    begin += static_cast<int32_t>(source_.streams_[s].size());
    stream_of_.resize(static_cast<size_t>(begin), static_cast<StreamId>(s));
  }
  role_.stream_begin_.push_back(static_cast<TaskId>(begin));
}

void RoleCompiler::CompileTask(const Pending& task, Violations& violations) {
  Task compiled{.kind = task.kind, .has_memory_effects = !task.effects.empty()};
  if (task.kind == TaskKind::kKernel) {
    CompileKernel(task, compiled, violations);
  } else if (IsCommunication(task.kind)) {
    CompileCommunication(task, compiled, violations);
  }
  role_.tasks_.Add(compiled);
  role_.task_names_.Add(names_.at(task.name));
  role_.marks_.Add(task.mark);
  role_.memory_effects_begin_.push_back(
      static_cast<int32_t>(role_.memory_effects_.size()));
  role_.memory_effects_.insert(role_.memory_effects_.end(),
                               task.effects.begin(), task.effects.end());
  std::vector<TaskId>& waits = written_.emplace_back();
  for (const TaskRef before : task.after) waits.push_back(IdOf(before));
}

void RoleCompiler::CompileKernel(const Pending& task, Task& compiled,
                                 Violations& violations) {
  if (task.kernel.duration < Duration(0) || !IsShare(task.kernel.demand)) {
    violations.Add(fmt::format(
        "kernel {}: duration {} ps and demand {} of compute, {} of memory must "
        "be at least 0, the demands at most 1",
        Describe(static_cast<TaskId>(role_.tasks_.size())),
        task.kernel.duration.count(), task.kernel.demand.compute,
        task.kernel.demand.memory));
  }
  // Kernels repeat layer after layer: keep each once.
  const auto [found, is_new] = kernel_places_.try_emplace(
      task.kernel, static_cast<int32_t>(role_.kernels_.size()));
  if (is_new) role_.kernels_.push_back(task.kernel);
  compiled.payload = found->second;
}

void RoleCompiler::CompileCommunication(const Pending& task, Task& compiled,
                                        Violations& violations) {
  const auto id = static_cast<TaskId>(role_.tasks_.size());
  RoleSlot& slot = role_.slots_[static_cast<SlotId>(task.slot)];
  if (task.what.bytes < Bytes(0) || !IsShare(task.what.share)) {
    violations.Add(fmt::format(
        "{} {}: {} bytes and a share of {} of compute, {} of memory must be at "
        "least 0, the shares at most 1",
        NameOf(task.what.kind), Describe(id), task.what.bytes.value(),
        task.what.share.compute, task.what.share.memory));
  }
  const RoleSlot::Side side = SideOf(task.kind);
  if (slot.sequence.empty()) slot.side = side;
  if (slot.side != side) {
    violations.Add(fmt::format(
        "slot '{}' mixes collectives, sends and receives: {} is unlike {}",
        slot.name, Describe(id), Describe(slot.sequence.front())));
  }
  slot.sequence.push_back(id);
  const auto found = std::find(slot.calls.begin(), slot.calls.end(), task.what);
  compiled.slot = static_cast<uint16_t>(task.slot);
  compiled.payload = static_cast<int32_t>(found - slot.calls.begin());
  if (found == slot.calls.end()) slot.calls.push_back(task.what);
}

void RoleCompiler::CheckMemory(Violations& violations) const {
  MemoryByKind held = role_.initial_memory_;
  for (const MemoryEffect& effect : role_.memory_effects_) {
    held[static_cast<size_t>(effect.kind)] += effect.change;
  }
  for (int kind = 0; kind < kMemoryKinds; ++kind) {
    const Bytes left = held[static_cast<size_t>(kind)];
    if (left < Bytes(0)) {
      violations.Add(fmt::format("releases {} bytes of {} more than it holds",
                                 -left.value(),
                                 NameOf(static_cast<MemoryKind>(kind))));
    }
  }
}

std::vector<TaskId> RoleCompiler::TopologicalOrder() const {
  const size_t count = role_.tasks_.size();
  std::vector<int32_t> missing(count, 0);
  std::vector<std::vector<TaskId>> successors(count);
  for (size_t i = 0; i < count; ++i) {
    for (const TaskId before : written_[i]) {
      successors[Index(before)].push_back(static_cast<TaskId>(i));
      ++missing[i];
    }
    if (i > 0 && stream_of_[i - 1] == stream_of_[i]) {
      successors[i - 1].push_back(static_cast<TaskId>(i));
      ++missing[i];
    }
  }
  std::vector<TaskId> order;
  order.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) order.push_back(static_cast<TaskId>(i));
  }
  for (size_t next = 0; next < order.size(); ++next) {
    for (const TaskId after : successors[Index(order[next])]) {
      if (--missing[Index(after)] == 0) order.push_back(after);
    }
  }
  return order;
}

std::string RoleCompiler::DescribeCycle(
    const std::vector<TaskId>& sorted) const {
  std::vector<bool> is_sorted(role_.tasks_.size(), false);
  for (const TaskId task : sorted) is_sorted[Index(task)] = true;
  // Every task that is left waits for another that is left: walk back until one
  // comes up again.
  const auto left = std::find(is_sorted.begin(), is_sorted.end(), false);
  auto at = static_cast<TaskId>(left - is_sorted.begin());
  std::vector<TaskId> walk;
  while (std::find(walk.begin(), walk.end(), at) == walk.end()) {
    walk.push_back(at);
    const size_t i = Index(at);
    const auto blocker =
        std::find_if(written_[i].begin(), written_[i].end(),
                     [&](TaskId before) { return !is_sorted[Index(before)]; });
    at = blocker != written_[i].end() ? *blocker : static_cast<TaskId>(i - 1);
  }
  std::string text = Describe(at);
  const auto first = std::find(walk.begin(), walk.end(), at);
  for (auto it = first + 1; it != walk.end(); ++it) {
    text += " waits for " + Describe(*it);
  }
  return text + " waits for " + Describe(at);
}

void RoleCompiler::CompileDependencies(Violations& violations) {
  const std::vector<TaskId> order = TopologicalOrder();
  if (order.size() < role_.tasks_.size()) {
    violations.Add("dependencies form a cycle: " + DescribeCycle(order));
    return;
  }
  const std::vector<std::vector<Dependency>> needed =
      ReduceDependencies(role_.stream_begin_, stream_of_, order, written_);
  for (const std::vector<Dependency>& row : needed) {
    role_.dependencies_begin_.push_back(
        static_cast<int32_t>(role_.dependencies_.size()));
    role_.dependencies_.insert(role_.dependencies_.end(), row.begin(),
                               row.end());
  }
  role_.dependencies_begin_.push_back(
      static_cast<int32_t>(role_.dependencies_.size()));
}

}  // namespace orrery
