#include "run/training_step.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/status.h"
#include "cost/kernel/kernel_work.h"
#include "sim/analysis/path_bound.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "sim/folding/network_symmetry.h"
#include "sim/folding/symmetry.h"
#include "sim/network/network_transfers.h"

namespace orrery {
namespace {

// The pipeline rank whose kernels take longest; of equal ones the first.
int BusiestRole(const LoweredStep& step) {
  const auto longer = [](const RoleWork& a, const RoleWork& b) {
    return a.step.total() < b.step.total();
  };
  return static_cast<int>(
      std::max_element(step.work.begin(), step.work.end(), longer) -
      step.work.begin());
}

// The first simulated rank of a pipeline rank: roles are named in order.
RankId RankOfRole(const Program& program, int role) {
  for (const RankId rank : program.ranks().ids()) {
    if (static_cast<int>(program.ranks()[rank].role) == role) return rank;
  }
  CHECK(false) << "nobody plays role " << role;
  return {};
}

// Between the nodes there is room for everybody: what other nodes send does not
// slow down this one.
bool NetworkNeverBlocks(const System& system) {
  if (system.scale_up() && system.scale_up()->spans_nodes) return false;
  if (!system.scale_out()) return true;
  const FabricKind& kind = system.scale_out()->fabric.kind;
  if (const auto* tree = std::get_if<FatTreeFabric>(&kind)) {
    return tree->taper <= 1;
  }
  if (const auto* rails = std::get_if<RailOptimizedFabric>(&kind)) {
    return rails->taper <= 1;
  }
  return std::holds_alternative<SwitchFabric>(kind) ||
         std::holds_alternative<FullyConnectedFabric>(kind);
}

// A chip has its port into the island and its NIC to itself.
bool PortsArePrivate(const System& system) {
  const bool island =
      !system.scale_up() ||
      std::holds_alternative<SwitchFabric>(system.scale_up()->fabric.kind);
  return island && (!system.scale_out() || system.scale_out()->nics_per_node >=
                                               system.chips_per_node());
}

// Of the groups that a folded group stands for, only those that share a node
// with it can share a link that is full; and where ports are private not even
// those, because groups of one family have no chip in common.
void KeepNeighbours(const System& system,
                    IdVector<GroupId, PlacedGroup>& groups) {
  if (!NetworkNeverBlocks(system)) return;
  if (PortsArePrivate(system)) {
    for (PlacedGroup& group : groups) group.replicas = {group.members};
    return;
  }
  const int node = system.chips_per_node();
  std::vector<bool> own(static_cast<size_t>(system.nodes()));
  for (PlacedGroup& group : groups) {
    const auto at = [&](int rank) { return static_cast<size_t>(rank / node); };
    for (const int rank : group.members) own[at(rank)] = true;
    std::erase_if(group.replicas, [&](const std::vector<int>& members) {
      return std::none_of(members.begin(), members.end(),
                          [&](int rank) { return own[at(rank)]; });
    });
    for (const int rank : group.members) own[at(rank)] = false;
  }
}

StepMemory MemoryOf(const LoweredStep& step, const RunResult& result) {
  const Program& program = step.program;
  StepMemory memory;
  for (const RankId rank : program.ranks().ids()) {
    const MemoryPeak& peak = result.ranks[rank].memory;
    const auto stage = static_cast<size_t>(
        step.work[Index(program.ranks()[rank].role)].pipeline);
    if (stage >= memory.stages.size()) memory.stages.resize(stage + 1);
    if (peak.total > memory.stages[stage].total) memory.stages[stage] = peak;
    if (peak.total <= memory.peak.total) continue;
    memory.peak = peak;
    memory.rank = program.ranks()[rank].number;
    memory.pipeline = static_cast<int>(stage);
  }
  return memory;
}

// The longest path through the step. Where ranks of a stage do the same, the
// folded program has the same path as the whole one, and groups that stand for
// themselves alone.
absl::StatusOr<Duration> CriticalPath(const LoweredStep& step,
                                      const Transfers& transfers,
                                      bool symmetric, const Model& model,
                                      const TrainingPlan& plan, OpTimer timer,
                                      LowerOptions options,
                                      CallPlanner& planner) {
  if (step.folded || !symmetric) return LongestPath(step.program, transfers);
  options.fold = true;
  ASSIGN_OR_RETURN(LoweredStep folded, LowerStep(model, plan, timer, options));
  for (PlacedGroup& group : folded.groups) group.replicas = {group.members};
  ASSIGN_OR_RETURN(const Transfers alone,
                   PlanTransfers(folded.program, folded.groups, planner,
                                 folded.traffic ? &*folded.traffic : nullptr));
  return LongestPath(folded.program, alone);
}

// Both sinks at once.
struct RecordingBreakdownSink {
  BreakdownSink& breakdown;
  RecordingSink& recording;
  absl::Status Expect(const Program& program) {
    return recording.Expect(program);
  }
  void Add(const TaskSpan& span) {
    breakdown.Add(span);
    recording.Add(span);
  }
};

}  // namespace

absl::StatusOr<TrainingRun> RunTrainingStep(const Model& model,
                                            const System& system,
                                            const TrainingPlan& plan,
                                            const TrainingOptions& options) {
  const Chip& chip = system.chip();
  ASSIGN_OR_RETURN(const KernelTimer timer, KernelTimer::Create(chip));
  OpTimeCache cache(timer);
  std::optional<std::string> asymmetry =
      Asymmetry(plan, Placement(plan), system.chips_per_node());
  if (!asymmetry) asymmetry = NetworkAsymmetry(system, options.arbitration);
  if (!asymmetry && !options.fold_nearly) {
    asymmetry = TrafficAsymmetry(system, plan.degrees());
  }
  LowerOptions lower{.fold = options.fold && !asymmetry};
  lower.pass.merge = !options.detail;
  if (plan.overlap_tensor()) lower.pass.tensor_chunks = plan.degrees().tensor;
  lower.pass.overlap_weight_gradient = plan.overlap_weight_gradient();
  lower.pass.serial = options.serial;
  if (!options.serial) {
    lower.pass.exchange_share = {
        .compute = chip.calibration().communication_compute_share,
        .memory = chip.calibration().communication_memory_share};
  }
  const auto timed = [&](const Op& op) {
    KernelWork work = ToKernelWork(cache.Time(op), chip);
    work.facts.op = cache.Id(op);
    return work;
  };
  const auto report = [&](std::string_view stage, double done) {
    if (options.progress) options.progress(stage, done);
  };
  report("building the program", 0);
  ASSIGN_OR_RETURN(LoweredStep step, LowerStep(model, plan, timed, lower));
  if (step.folded) KeepNeighbours(system, step.groups);
  report("planning transfers", 0);
  ASSIGN_OR_RETURN(const Network network, Network::Make(system));
  CallPlanner planner(network, {.fidelity = options.fidelity,
                                .arbitration = options.arbitration});
  ASSIGN_OR_RETURN(Transfers transfers,
                   PlanTransfers(step.program, step.groups, planner,
                                 step.traffic ? &*step.traffic : nullptr));

  const int busiest = BusiestRole(step);
  BreakdownSink breakdown(step.program, RankOfRole(step.program, busiest));
  RecordingSink recording;
  TransferLog log;
  absl::StatusOr<RunResult> result;
  EngineOptions engine;
  if (options.progress) {
    engine.progress = [&](double done) { report("simulating", done); };
  }
  if (options.record) {
    engine.log = &log;
    RecordingBreakdownSink both{breakdown, recording};
    result = Simulate(step.program, transfers, engine, both);
  } else {
    result = Simulate(step.program, transfers, engine, breakdown);
  }
  RETURN_IF_ERROR(result.status());

  report("checking bounds", 0);
  ASSIGN_OR_RETURN(const Duration path,
                   CriticalPath(step, transfers, !asymmetry, model, plan, timed,
                                lower, planner));
  // While the program is where the breakdown looks for it.
  const StepBreakdown parts = breakdown.Finish(result->end);
  TrainingRun run{.step = std::move(step),
                  .transfers = std::move(transfers),
                  .result = *std::move(result)};
  run.breakdown = parts;
  run.representative = busiest;
  if (options.fold) run.asymmetry = asymmetry.value_or("");
  run.bounds = BoundsOf(run.step, run.transfers, run.result, path);
  run.memory = MemoryOf(run.step, run.result);
  for (const RoleWork& work : run.step.work) {
    const auto ranks = static_cast<double>(work.ranks);
    run.executed += (work.step.flops + work.optimizer.flops) * ranks;
    run.recomputed += work.step.recomputed * ranks;
  }
  run.spans = recording.spans();
  run.log = std::move(log);
  run.ops = cache.ops();
  return run;
}

}  // namespace orrery
