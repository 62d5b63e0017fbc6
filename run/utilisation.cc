#include "run/utilisation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/analysis/wait_chain.h"

namespace orrery {
namespace {

class Uses {
 public:
  void Add(double use, int64_t count) {
    sum_ += use * static_cast<double>(count);
    most_ = std::max(most_, use);
    count_ += count;
  }
  ResourceClassUse Named(std::string name) const {
    return {std::move(name), sum_ / static_cast<double>(count_), most_, count_};
  }

 private:
  double sum_ = 0;
  double most_ = 0;
  int64_t count_ = 0;
};

// What one rank's chip did, in seconds of all of it.
struct ChipUse {
  double kernels = 0;
  double matrix = 0;
  double memory = 0;
};

void AddTask(const Role& role, const TaskSpan& span, double peak,
             double bandwidth, ChipUse& use) {
  const Task& task = role.task(span.task);
  if (task.kind == TaskKind::kKernel) {
    const KernelFacts& facts = role.kernel(task).facts;
    use.kernels += ToSeconds(span.running());
    use.matrix += facts.flops.value() / peak;
    use.memory += static_cast<double>(facts.memory_traffic.value()) / bandwidth;
  } else if (IsCommunication(task.kind)) {
    use.memory +=
        role.communication(task).share.memory * ToSeconds(span.running());
  }
}

}  // namespace

std::vector<ResourceClassUse> Utilisation(const ResolvedScenario& scenario,
                                          const SimulatedRun& run) {
  const Program& program = run.placed.program;
  const Chip& chip = scenario.system.chip();
  const double step = ToSeconds(run.result.end);
  const double peak = chip.peak(scenario.precision())->value();
  std::vector<ChipUse> chips(program.ranks().size());
  for (const TaskSpan& span : run.spans) {
    if (RunsOnHost(program, span)) continue;
    AddTask(program.role_of(span.rank), span, peak,
            chip.memory_bandwidth().value(), chips[Index(span.rank)]);
  }
  Uses kernels, matrix, memory;
  for (const RankId rank : program.ranks().ids()) {
    const int64_t ranks = program.ranks()[rank].multiplicity;
    const ChipUse& use = chips[Index(rank)];
    kernels.Add(use.kernels / step, ranks);
    matrix.Add(use.matrix / step, ranks);
    memory.Add(use.memory / step, ranks);
  }
  std::vector<ResourceClassUse> result = {kernels.Named("kernels"),
                                          matrix.Named("matrix units"),
                                          memory.Named("HBM bandwidth")};
  // "scale-out" sorts before "scale-up"; people start inside the node.
  std::map<std::pair<bool, std::string>, Uses> links;
  for (const ResourceId link : run.result.carried.ids()) {
    if (run.result.carried[link] == 0) continue;
    const double use =
        run.result.carried[link] / run.transfers.capacities[link] / step;
    for (const ResourceClass& c : run.transfers.resource_classes[link]) {
      links[{c.name.find("scale-up") != 0, c.name}].Add(use, c.count);
    }
  }
  for (const auto& [key, uses] : links) {
    result.push_back(uses.Named(key.second));
  }
  return result;
}

}  // namespace orrery
