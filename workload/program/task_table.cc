#include "workload/program/task_table.h"

namespace orrery {

NameRef TaskTable::Name(absl::string_view name) {
  const auto found = name_places_.find(name);
  if (found != name_places_.end()) return found->second;
  const auto ref = static_cast<NameRef>(names_.size());
  names_.emplace_back(name);
  is_used_.push_back(0);
  name_places_.emplace(names_.back(), ref);
  return ref;
}

KernelRef TaskTable::Kernel(const KernelWork& kernel) {
  const auto [found, is_new] = kernel_places_.try_emplace(
      kernel, static_cast<KernelRef>(kernels_.size()));
  if (is_new) kernels_.push_back(kernel);
  return found->second;
}

}  // namespace orrery
