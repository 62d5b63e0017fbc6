#include "sim/analysis/kernel_parts.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/engine/chip_sharing.h"

namespace orrery {
namespace {

// Takes out `time`, of each part its share, to the picosecond. Requires: no
// more than there is.
void Shrink(KernelParts& parts, Duration time) {
  const Duration total = parts.total();
  Duration done{0}, taken{0};
  for (Duration* part : {&parts.optimizer, &parts.launch, &parts.memory_bound,
                         &parts.arithmetic}) {
    done += *part;
    const Duration due(static_cast<int64_t>(
        static_cast<__int128>(time.count()) * done.count() / total.count()));
    *part -= due - std::exchange(taken, due);
  }
}

}  // namespace

KernelParts& KernelParts::operator+=(const KernelParts& other) {
  arithmetic += other.arithmetic;
  memory_bound += other.memory_bound;
  launch += other.launch;
  optimizer += other.optimizer;
  slow_chip += other.slow_chip;
  shared_chip += other.shared_chip;
  return *this;
}

KernelParts PartsOfKernel(const Program& program, const TaskSpan& span) {
  const Role& role = program.role_of(span.rank);
  const Task& task = role.task(span.task);
  CHECK(task.kind == TaskKind::kKernel);
  const KernelWork& kernel = role.kernel(task);
  KernelParts parts;
  if (role.mark(span.task).phase == WorkPhase::kOptimizer) {
    parts.optimizer = kernel.duration;
  } else {
    parts.launch = kernel.facts.launch;
    parts.memory_bound = kernel.facts.memory_bound;
    parts.arithmetic = kernel.duration - parts.launch - parts.memory_bound;
  }
  const Duration added = span.running() - kernel.duration;
  if (added < Duration(0)) {  // a chip faster than others
    Shrink(parts, -added);
    return parts;
  }
  const double slowness = program.ranks()[span.rank].slowness;
  parts.slow_chip = std::clamp(SoloDuration(kernel, slowness) - kernel.duration,
                               Duration(0), added);
  parts.shared_chip = added - parts.slow_chip;
  return parts;
}

}  // namespace orrery
