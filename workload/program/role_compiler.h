#pragma once
// RoleCompiler: turns what was written into a RoleBuilder into a Role.
//
// Tasks get their ids stream by stream; dependencies that follow from the order
// of streams or from other dependencies are dropped; the calls of each slot are
// made distinct. What is wrong is added to `violations`, with names.
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "workload/program/dependency_reduction.h"
#include "workload/program/program_builder.h"

namespace orrery {

class RoleCompiler {
 public:
  RoleCompiler(const std::vector<Stream>& streams, const RoleBuilder& source,
               const TaskTable& table, const std::vector<NameId>& names)
      : streams_(streams), source_(source), table_(table), names_(names) {}

  // Nothing if there were violations.
  std::optional<Role> Compile(Violations& violations);

 private:
  using Pending = RoleBuilder::PendingTask;

  TaskId IdOf(TaskRef ref) const {
    return static_cast<TaskId>(
        static_cast<int32_t>(role_.stream_begin_[Index(ref.stream)]) +
        ref.position);
  }
  std::string Describe(TaskId task) const;
  // Before anything is allocated.
  bool FitsIds(Violations& violations) const;
  void LayOutStreams();
  void CompileTask(const Pending& task, Violations& violations);
  void CompileMarks();
  void CompileMemoryEffects();
  void CompileKernel(const Pending& task, Task& compiled,
                     Violations& violations);
  void CompileCommunication(const Pending& task, Task& compiled,
                            Violations& violations);
  void CheckMemory(Violations& violations) const;
  DependencyRows WrittenDependencies() const;
  void CompileDependencies(Violations& violations);
  std::string DescribeCycle(const DependencyRows& written,
                            const std::vector<TaskId>& reached) const;

  const std::vector<Stream>& streams_;
  const RoleBuilder& source_;
  const TaskTable& table_;
  const std::vector<NameId>& names_;  // by NameRef
  Role role_;
  std::vector<StreamId> stream_of_;
  std::vector<int32_t> kernel_places_;  // in the role, by KernelRef
};

}  // namespace orrery
