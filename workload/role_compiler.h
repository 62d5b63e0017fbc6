#pragma once
// RoleCompiler: turns what was written into a RoleBuilder into a Role.
//
// Tasks get their ids stream by stream; dependencies that follow from the order
// of streams or from other dependencies are dropped; the calls of each slot are
// made distinct. What is wrong is added to `violations`, with names.
#include <absl/container/flat_hash_map.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "workload/program_builder.h"

namespace orrery {

using NameIndex = absl::flat_hash_map<std::string, NameId>;

class RoleCompiler {
 public:
  RoleCompiler(const std::vector<Stream>& streams, const RoleBuilder& source,
               const NameIndex& names)
      : streams_(streams), source_(source), names_(names) {}

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
  void CompileKernel(const Pending& task, Task& compiled,
                     Violations& violations);
  void CompileCommunication(const Pending& task, Task& compiled,
                            Violations& violations);
  void CheckMemory(Violations& violations) const;
  void CompileDependencies(Violations& violations);
  // Tasks in an order that respects streams and dependencies; shorter than all
  // of them if there is a cycle.
  std::vector<TaskId> TopologicalOrder() const;
  std::string DescribeCycle(const std::vector<TaskId>& sorted) const;

  const std::vector<Stream>& streams_;
  const RoleBuilder& source_;
  const NameIndex& names_;
  Role role_;
  // Per task, in id order: what it waits for, as written.
  std::vector<std::vector<TaskId>> written_;
  std::vector<StreamId> stream_of_;
  absl::flat_hash_map<KernelWork, int32_t> kernel_places_;
};

}  // namespace orrery
