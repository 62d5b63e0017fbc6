#include "run/simulated_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "sim/analysis/busiest_rank.h"
#include "sim/analysis/path_bound.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "sim/folding/folding.h"
#include "sim/network/call_planner.h"
#include "sim/network/network_transfers.h"

namespace orrery {
namespace {

// The longest paths through the program. Where ranks of a stage do the same,
// the folded program has the same paths as the whole one: the longest among
// groups that stand for themselves alone, the slowest among those that stand
// for all. A group of messages stands for itself only.
absl::StatusOr<PathBounds> PathsOf(const PlacedProgram& placed,
                                   const Transfers& transfers, bool symmetric,
                                   Lowering lower, CallPlanner& planner) {
  PathBounds paths;
  paths.slowest = SlowestPath(placed.program, transfers);
  if (placed.folded || !symmetric) {
    paths.longest = LongestPath(placed.program, transfers);
    return paths;
  }
  // Replicas need not be joined alike by the network: each group by itself.
  ASSIGN_OR_RETURN(PlacedProgram folded, lower(/*fold=*/true));
  for (PlacedGroup& group : folded.groups) group.replicas = {group.members};
  ASSIGN_OR_RETURN(const Transfers alone, PlanTransfers(folded, planner));
  paths.longest = LongestPath(folded.program, alone);
  return paths;
}

// Calls with the network to themselves; a folded group without those it stands
// for.
absl::StatusOr<CallTimes> AloneTimes(const PlacedProgram& placed,
                                     const Transfers& transfers,
                                     CallPlanner& planner) {
  const auto times = [&](const Transfers& of) {
    IdVector<PlanId, Duration> plans;
    for (size_t i = 0; i < of.plans.size(); ++i) {
      plans.Add(ShortestTime(of, static_cast<PlanId>(i)));
    }
    CallTimes calls;
    for (const PlanId plan : of.plan_of_call) calls.Add(plans[plan]);
    return calls;
  };
  const auto alone = [](const PlacedGroup& group) {
    return group.replicas.size() <= 1;
  };
  if (std::all_of(placed.groups.begin(), placed.groups.end(), alone)) {
    return times(transfers);
  }
  IdVector<GroupId, PlacedGroup> groups = placed.groups;
  for (PlacedGroup& group : groups) group.replicas = {group.members};
  ASSIGN_OR_RETURN(const Transfers single,
                   PlanTransfers(placed.program, groups, planner,
                                 placed.traffic ? &*placed.traffic : nullptr));
  return times(single);
}

// Whether these calls of a folded program stay apart. A run of its own: it is
// small, and what it logs is not kept.
absl::StatusOr<bool> StaysApart(absl::Span<const ApartCall> calls,
                                const PlacedProgram& placed,
                                CallPlanner& planner,
                                const RunOptions& options) {
  ASSIGN_OR_RETURN(const Transfers transfers, PlanTransfers(placed, planner));
  TransferLog log;
  NullSink sink;
  const EngineOptions engine = {.max_state = options.memory, .log = &log};
  RETURN_IF_ERROR(Simulate(placed.program, transfers, engine, sink).status());
  return RanApart(calls, transfers, log);
}

absl::Status OutsideBounds(const SimulatedRun& run) {
  return absl::InternalError(fmt::format(
      "the simulated step of {} ({} ps) is outside its bounds, {} to {} ps: a "
      "bug of Orrery; please report the scenario",
      SecondsText(ToSeconds(run.result.end)),
      run.result.end.time_since_epoch().count(), run.bounds.lower().count(),
      run.bounds.upper.count()));
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
                                        const RunOptions& options,
                                        const Forecast& forecast) {
  const auto report = [&](std::string_view stage, double done) {
    if (options.progress) options.progress(stage, done);
  };
  std::optional<std::string> asymmetry =
      WhyNotFold(layout, system, options.arbitration);
  const bool same_work = !asymmetry;
  report("building the program", 0);
  const bool fold = options.fold && same_work;
  if (forecast) {
    ASSIGN_OR_RETURN(const std::optional<RunSize> size, forecast(fold));
    if (size) RETURN_IF_ERROR(CheckRunSize(*size, options.memory));
  }
  ASSIGN_OR_RETURN(PlacedProgram placed, lower(fold));
  RunSize size = SizeOf(placed.program, options.records_all());
  RETURN_IF_ERROR(CheckRunSize(size, options.memory));
  report("planning transfers", 0);
  CallPlanner planner(network, {.fidelity = options.fidelity,
                                .arbitration = options.arbitration});
  std::string nearly;
  if (placed.folded) {
    ASSIGN_OR_RETURN(FoldingVerdict verdict,
                     TrimReplicas(placed, system, planner));
    asymmetry = std::move(verdict.difference);
    if (!verdict.apart.empty() && options.fidelity == Fidelity::kStepped) {
      // Messages of one call move at once, and a log of all would be large.
      asymmetry = std::move(verdict.unless_apart);
    } else if (!verdict.apart.empty()) {
      ASSIGN_OR_RETURN(const bool apart,
                       StaysApart(verdict.apart, placed, planner, options));
      if (!apart) asymmetry = std::move(verdict.unless_apart);
    }
    if (asymmetry && options.fold_nearly) {
      nearly = *std::move(asymmetry);
      asymmetry.reset();
    } else if (asymmetry) {
      if (forecast) {
        ASSIGN_OR_RETURN(const std::optional<RunSize> whole,
                         forecast(/*fold=*/false));
        if (whole) RETURN_IF_ERROR(CheckRunSize(*whole, options.memory));
      }
      ASSIGN_OR_RETURN(placed, lower(/*fold=*/false));
      size = SizeOf(placed.program, options.records_all());
      RETURN_IF_ERROR(CheckRunSize(size, options.memory));
    }
  }
  TransferSize foreseen;
  const auto allow = [&](const TransferSize& so_far) {
    foreseen = so_far;
    size.transfers = so_far.total();
    return CheckRunSize(size, options.memory);
  };
  ASSIGN_OR_RETURN(Transfers transfers, PlanTransfers(placed, planner, allow));

  CallTimes alone;
  if (options.record) {
    ASSIGN_OR_RETURN(alone, AloneTimes(placed, transfers, planner));
  }
  report("simulating", 0);
  const RankId busiest = BusiestRank(placed);
  BreakdownSink breakdown(placed.program, busiest, /*alone=*/nullptr,
                          /*keeps_waits=*/false);
  std::optional<RecordingWindow> window;
  TransferLog log;
  if (options.part_recorded) {
    window = {
        .from = options.part_recorded->from,
        .to = options.part_recorded->to,
        .whole = IdVector<RankId, bool>(placed.program.ranks().size(), false)};
    for (const RankId rank : options.part_recorded->whole(placed.program)) {
      window->whole[rank] = true;
    }
    log.from = window->from;
    log.to = window->to;
  }
  RecordingSink recording(options.memory, std::move(window));
  absl::StatusOr<RunResult> result;
  EngineOptions engine = {.max_state =
                              options.memory - size.total() + foreseen.state};
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
  ASSIGN_OR_RETURN(const PathBounds paths,
                   PathsOf(placed, transfers, same_work, lower, planner));
  // While the program is where the breakdown looks for it.
  const StepBreakdown parts = breakdown.Finish(result->end);
  SimulatedRun run{.placed = std::move(placed),
                   .transfers = std::move(transfers),
                   .result = *std::move(result)};
  run.breakdown = parts;
  run.busiest = busiest;
  if (options.fold) run.asymmetry = asymmetry.value_or("");
  run.nearly = std::move(nearly);
  run.bounds = BoundsOf(run.placed, run.transfers, paths);
  if (!run.bounds.Hold(run.result.end)) return OutsideBounds(run);
  run.memory = MemoryPeaksOf(run.placed, run.result);
  for (const RoleWork& work : run.placed.work) {
    const auto ranks = static_cast<double>(work.ranks);
    run.executed += (work.passes.flops + work.optimizer.flops) * ranks;
    run.recomputed += work.passes.recomputed * ranks;
  }
  run.spans = recording.Take();
  run.log = std::move(log);
  run.alone = std::move(alone);
  return run;
}

}  // namespace orrery
