#include "workload/program/work_split.h"

namespace orrery {

void WorkSplit::Add(const KernelWork& kernel, bool is_recomputed) {
  const KernelFacts& facts = kernel.facts;
  launch += facts.launch;
  memory_bound += facts.memory_bound;
  compute += kernel.duration - facts.launch - facts.memory_bound;
  flops += facts.flops;
  if (is_recomputed) recomputed += facts.flops;
}

WorkSplit& WorkSplit::operator+=(const WorkSplit& other) {
  compute += other.compute;
  memory_bound += other.memory_bound;
  launch += other.launch;
  flops += other.flops;
  recomputed += other.recomputed;
  host += other.host;
  return *this;
}

}  // namespace orrery
