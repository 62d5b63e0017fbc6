#pragma once
// TaskTable: the names and kernels that the tasks of a program have in common,
// each kept once.
//
// Tasks repeat layer after layer and micro-batch after micro-batch; whoever
// writes many of them looks up a name or a kernel here once and then writes
// tasks by reference, which costs no comparison and no allocation.
#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>
#include <vector>

#include "workload/program/task.h"

namespace orrery {

enum class NameRef : int32_t {};
enum class KernelRef : int32_t {};

class TaskTable {
 public:
  NameRef Name(absl::string_view name);
  KernelRef Kernel(const KernelWork& kernel);

  const std::string& name(NameRef ref) const {
    return names_[static_cast<size_t>(ref)];
  }
  const KernelWork& kernel(KernelRef ref) const {
    return kernels_[static_cast<size_t>(ref)];
  }
  // A program holds only names that some task or group has.
  void Use(NameRef ref) { is_used_[static_cast<size_t>(ref)] = 1; }
  bool is_used(NameRef ref) const {
    return is_used_[static_cast<size_t>(ref)] != 0;
  }
  size_t names() const { return names_.size(); }
  size_t kernels() const { return kernels_.size(); }

 private:
  std::vector<std::string> names_;
  std::vector<char> is_used_;
  std::vector<KernelWork> kernels_;
  absl::flat_hash_map<std::string, NameRef> name_places_;
  absl::flat_hash_map<KernelWork, KernelRef> kernel_places_;
};

}  // namespace orrery
