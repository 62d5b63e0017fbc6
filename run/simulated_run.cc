#include "run/simulated_run.h"

#include <optional>
#include <utility>

#include "base/status.h"
#include "sim/analysis/busiest_rank.h"
#include "sim/analysis/path_bound.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "sim/folding/folding.h"
#include "sim/network/call_planner.h"
#include "sim/network/network_transfers.h"

namespace orrery {
namespace {

// The longest path through the program. Where ranks of a stage do the same, the
// folded program has the same path as the whole one, and groups that stand for
// themselves alone.
absl::StatusOr<Duration> LongestPathOf(const PlacedProgram& placed,
                                       const Transfers& transfers,
                                       bool symmetric, Lowering lower,
                                       CallPlanner& planner) {
  if (placed.folded || !symmetric) {
    return LongestPath(placed.program, transfers);
  }
  ASSIGN_OR_RETURN(PlacedProgram folded, lower(/*fold=*/true));
  for (PlacedGroup& group : folded.groups) group.replicas = {group.members};
  ASSIGN_OR_RETURN(const Transfers alone, PlanTransfers(folded, planner));
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

absl::StatusOr<SimulatedRun> RunLowered(const ParallelLayout& layout,
                                        const System& system,
                                        const Network& network, Lowering lower,
                                        const RunOptions& options) {
  const auto report = [&](std::string_view stage, double done) {
    if (options.progress) options.progress(stage, done);
  };
  std::optional<std::string> asymmetry =
      WhyNotFold(layout, system, options.arbitration);
  const bool same_work = !asymmetry;
  report("building the program", 0);
  ASSIGN_OR_RETURN(PlacedProgram placed, lower(options.fold && same_work));
  report("planning transfers", 0);
  CallPlanner planner(network, {.fidelity = options.fidelity,
                                .arbitration = options.arbitration});
  std::string nearly;
  if (placed.folded) {
    ASSIGN_OR_RETURN(asymmetry, TrimReplicas(placed, system, planner));
    if (asymmetry && options.fold_nearly) {
      nearly = *std::move(asymmetry);
      asymmetry.reset();
    } else if (asymmetry) {
      ASSIGN_OR_RETURN(placed, lower(/*fold=*/false));
    }
  }
  ASSIGN_OR_RETURN(Transfers transfers, PlanTransfers(placed, planner));

  const RankId busiest = BusiestRank(placed);
  BreakdownSink breakdown(placed.program, busiest);
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
    result = Simulate(placed.program, transfers, engine, both);
  } else {
    result = Simulate(placed.program, transfers, engine, breakdown);
  }
  RETURN_IF_ERROR(result.status());

  report("checking bounds", 0);
  ASSIGN_OR_RETURN(const Duration path,
                   LongestPathOf(placed, transfers, same_work, lower, planner));
  // While the program is where the breakdown looks for it.
  const StepBreakdown parts = breakdown.Finish(result->end);
  SimulatedRun run{.placed = std::move(placed),
                   .transfers = std::move(transfers),
                   .result = *std::move(result)};
  run.breakdown = parts;
  run.busiest = busiest;
  if (options.fold) run.asymmetry = asymmetry.value_or("");
  run.nearly = std::move(nearly);
  run.bounds = BoundsOf(run.placed, run.transfers, run.result, path);
  run.memory = MemoryPeaksOf(run.placed, run.result);
  for (const RoleWork& work : run.placed.work) {
    const auto ranks = static_cast<double>(work.ranks);
    run.executed += (work.passes.flops + work.optimizer.flops) * ranks;
    run.recomputed += work.passes.recomputed * ranks;
  }
  run.spans = recording.spans();
  run.log = std::move(log);
  return run;
}

}  // namespace orrery
