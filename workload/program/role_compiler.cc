#include "workload/program/role_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace orrery {
namespace {

constexpr int32_t kNotThere = -1;

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
  return fmt::format(
      "'{}' ({} #{})",
      table_.name(source_.streams_[Index(stream)][position].name),
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
    role_.slots_.Add(
        {.name = slot.name, .stream = slot.stream, .calls = slot.calls});
  }
  LayOutStreams();
  kernel_places_.assign(table_.kernels(), kNotThere);
  role_.tasks_.reserve(stream_of_.size());
  role_.task_names_.reserve(stream_of_.size());
  for (const std::vector<Pending>& stream : source_.streams_) {
    for (const Pending& task : stream) CompileTask(task, found);
  }
  CompileMarks();
  CompileMemoryEffects();
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
    role_.place_begin_.push_back(static_cast<PlaceId>(begin));
    begin += static_cast<int32_t>(source_.streams_[s].size());
    stream_of_.resize(static_cast<size_t>(begin), static_cast<StreamId>(s));
  }
  role_.stream_begin_.push_back(static_cast<TaskId>(begin));
  role_.place_begin_.push_back(static_cast<PlaceId>(begin));
}

void RoleCompiler::CompileTask(const Pending& task, Violations& violations) {
  Task compiled{.kind = task.kind};
  if (task.kind == TaskKind::kKernel) {
    CompileKernel(task, compiled, violations);
  } else if (IsCommunication(task.kind)) {
    CompileCommunication(task, compiled, violations);
  }
  role_.tasks_.Add(compiled);
  role_.task_names_.Add(names_[Index(task.name)]);
}

void RoleCompiler::CompileKernel(const Pending& task, Task& compiled,
                                 Violations& violations) {
  const KernelWork& kernel =
      table_.kernel(static_cast<KernelRef>(task.payload));
  if (kernel.duration < Duration(0) || !IsShare(kernel.demand)) {
    violations.Add(fmt::format(
        "kernel {}: duration {} ps and demand {} of compute, {} of memory must "
        "be at least 0, the demands at most 1",
        Describe(static_cast<TaskId>(role_.tasks_.size())),
        kernel.duration.count(), kernel.demand.compute, kernel.demand.memory));
  }
  int32_t& place = kernel_places_[static_cast<size_t>(task.payload)];
  if (place == kNotThere) {
    place = static_cast<int32_t>(role_.kernels_.size());
    role_.kernels_.push_back(kernel);
  }
  compiled.payload = place;
}

void RoleCompiler::CompileCommunication(const Pending& task, Task& compiled,
                                        Violations& violations) {
  const auto id = static_cast<TaskId>(role_.tasks_.size());
  RoleSlot& slot = role_.slots_[static_cast<SlotId>(task.slot)];
  const Communication& what = slot.calls[static_cast<size_t>(task.payload)];
  if (what.bytes < Bytes(0) || !IsShare(what.share)) {
    violations.Add(fmt::format(
        "{} {}: {} bytes and a share of {} of compute, {} of memory must be at "
        "least 0, the shares at most 1",
        NameOf(what.kind), Describe(id), what.bytes.value(), what.share.compute,
        what.share.memory));
  }
  const RoleSlot::Side side = SideOf(task.kind);
  if (slot.sequence.empty()) slot.side = side;
  if (slot.side != side) {
    violations.Add(fmt::format(
        "slot '{}' mixes collectives, sends and receives: {} is unlike {}",
        slot.name, Describe(id), Describe(slot.sequence.front())));
  }
  slot.sequence.push_back(id);
  compiled.slot = static_cast<uint16_t>(task.slot);
  compiled.payload = task.payload;
}

void RoleCompiler::CompileMarks() {
  const auto visit = [&](auto add) {
    for (size_t s = 0; s < source_.streams_.size(); ++s) {
      const auto at = [&](int32_t position) {
        return TaskRef{static_cast<StreamId>(s), position};
      };
      int32_t end = 0;
      for (const RoleBuilder::MarkedRun& run : source_.marks_[s]) {
        if (run.begin > end) add(at(end), Mark{});
        add(at(run.begin), run.mark);
        end = run.end;
      }
      const auto size = static_cast<int32_t>(source_.streams_[s].size());
      if (end < size) add(at(end), Mark{});
    }
  };
  // There are as many as tasks where every kernel is one: room for no more.
  size_t count = 0;
  visit([&](TaskRef, const Mark&) { ++count; });
  role_.marks_.reserve(count);
  visit([&](TaskRef first, const Mark& mark) {
    role_.marks_.push_back({static_cast<PlaceId>(IdOf(first)), mark});
  });
}

void RoleCompiler::CompileMemoryEffects() {
  std::vector<int32_t>& begin = role_.memory_effects_begin_;
  begin.assign(stream_of_.size() + 1, 0);
  for (const RoleBuilder::PendingEffect& pending : source_.effects_) {
    ++begin[Index(IdOf(pending.task)) + 1];
    role_.tasks_[static_cast<PlaceId>(IdOf(pending.task))].has_memory_effects =
        true;
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> next(begin.begin(), begin.end() - 1);
  role_.memory_effects_.resize(source_.effects_.size());
  for (const RoleBuilder::PendingEffect& pending : source_.effects_) {
    const int32_t place = next[Index(IdOf(pending.task))]++;
    role_.memory_effects_[static_cast<size_t>(place)] = pending.effect;
  }
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

DependencyRows RoleCompiler::WrittenDependencies() const {
  DependencyRows rows;
  rows.begin.assign(stream_of_.size() + 1, 0);
  for (const RoleBuilder::PendingDependency& pending : source_.dependencies_) {
    ++rows.begin[Index(IdOf(pending.after)) + 1];
  }
  std::partial_sum(rows.begin.begin(), rows.begin.end(), rows.begin.begin());
  std::vector<int32_t> next(rows.begin.begin(), rows.begin.end() - 1);
  rows.entries.resize(source_.dependencies_.size());
  for (const RoleBuilder::PendingDependency& pending : source_.dependencies_) {
    const int32_t place = next[Index(IdOf(pending.after))]++;
    rows.entries[static_cast<size_t>(place)] = {pending.before.stream,
                                                IdOf(pending.before)};
  }
  return rows;
}

std::string RoleCompiler::DescribeCycle(
    const DependencyRows& written, const std::vector<TaskId>& reached) const {
  const auto is_left = [&](TaskId task) {
    return task >= reached[Index(stream_of_[Index(task)])];
  };
  // Every task that is left waits for another that is left: walk back until one
  // comes up again.
  TaskId at{};
  while (!is_left(at)) at = static_cast<TaskId>(static_cast<int32_t>(at) + 1);
  std::vector<TaskId> walk;
  while (std::find(walk.begin(), walk.end(), at) == walk.end()) {
    walk.push_back(at);
    const auto first = written.entries.begin() + written.begin[Index(at)];
    const auto last = written.entries.begin() + written.begin[Index(at) + 1];
    const auto blocker = std::find_if(
        first, last, [&](const Dependency& d) { return is_left(d.task); });
    at = blocker != last ? blocker->task
                         : static_cast<TaskId>(static_cast<int32_t>(at) - 1);
  }
  std::string text = Describe(at);
  const auto first = std::find(walk.begin(), walk.end(), at);
  for (auto it = first + 1; it != walk.end(); ++it) {
    text += " waits for " + Describe(*it);
  }
  return text + " waits for " + Describe(at);
}

void RoleCompiler::CompileDependencies(Violations& violations) {
  const DependencyRows written = WrittenDependencies();
  ReducedDependencies reduced =
      ReduceDependencies(role_.stream_begin_, written);
  for (size_t stream = 0; stream < reduced.reached.size(); ++stream) {
    if (reduced.reached[stream] == role_.stream_begin_[stream + 1]) continue;
    violations.Add("dependencies form a cycle: " +
                   DescribeCycle(written, reduced.reached));
    return;
  }
  for (size_t i = 0; i < stream_of_.size(); ++i) {
    const int32_t begin = reduced.rows.begin[i];
    const int32_t count = reduced.rows.begin[i + 1] - begin;
    if (count == 0) continue;
    const Dependency& first = reduced.rows.entries[static_cast<size_t>(begin)];
    Task& task = role_.tasks_[static_cast<PlaceId>(i)];
    task.first_dependency = first.task;
    task.first_dependency_stream = static_cast<uint8_t>(first.stream);
    task.dependency_count = static_cast<uint8_t>(count);
  }
  role_.dependencies_begin_ = std::move(reduced.rows.begin);
  role_.dependencies_ = std::move(reduced.rows.entries);
}

}  // namespace orrery
