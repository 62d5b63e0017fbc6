#include "run/simulated_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/units_text.h"
#include "sim/analysis/busiest_rank.h"
#include "sim/analysis/path_bound.h"
#include "sim/engine/engine.h"
#include "sim/folding/folding.h"
#include "sim/folding/marks.h"
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
  if (placed.folded || !symmetric) {
    paths.longest = LongestPath(placed.program, transfers);
    paths.slowest = SlowestPath(placed.program, transfers, paths.longest);
    return paths;
  }
  paths.slowest = SlowestPath(placed.program, transfers);
  // Replicas need not be joined alike by the network: each group by itself.
  ASSIGN_OR_RETURN(PlacedProgram folded, lower({.on = true}));
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

// Whether every rank is simulated.
bool StandsForItself(const Program& program) {
  const auto alone = [](const ProgramRank& rank) {
    return rank.multiplicity == 1;
  };
  return std::all_of(program.ranks().begin(), program.ranks().end(), alone);
}

// Tasks of all the ranks that the program's ranks stand for.
int64_t WholeTasks(const Program& program) {
  int64_t tasks = 0;
  for (const ProgramRank& rank : program.ranks()) {
    tasks += rank.multiplicity * program.roles()[rank.role].task_count();
  }
  return tasks;
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

// The program that is run, and why it is not folded or not quite.
struct ChosenProgram {
  PlacedProgram placed;
  std::string asymmetry = {};
  std::string nearly = {};
  // What both rest on, if it is folded.
  std::optional<FoldingVerdict> verdict = std::nullopt;
};

// What is found of the ranks of a folded program; what plans need not carry is
// dropped. A verdict that is given is taken.
absl::StatusOr<FoldingVerdict> Judge(PlacedProgram& placed,
                                     const System& system, CallPlanner& planner,
                                     const RunOptions& options) {
  if (options.checked || !options.folding || !system.chips_are_alike()) {
    return TrimReplicas(placed, system, planner);
  }
  TrimReplicas(placed, system, *options.folding);
  return *options.folding;
}

// Why one rank may not stand for all of its class, or nothing.
absl::StatusOr<std::optional<std::string>> WhyUnlike(
    const FoldingVerdict& verdict, const PlacedProgram& placed,
    CallPlanner& planner, const RunOptions& options) {
  // Of those that are folded anyway it would only be told.
  const bool told = options.checked || !options.fold_nearly;
  if (verdict.apart.empty() || !told) return verdict.difference;
  // Messages of one call move at once, and a log of all would be large.
  if (options.fidelity == Fidelity::kStepped) {
    return std::optional<std::string>(verdict.unless_apart);
  }
  ASSIGN_OR_RETURN(const bool apart,
                   StaysApart(verdict.apart, placed, planner, options));
  if (apart) return std::optional<std::string>();
  return std::optional<std::string>(verdict.unless_apart);
}

// Folded if that may be, around those whom the machine tells apart.
absl::StatusOr<ChosenProgram> ChooseProgram(std::optional<std::string> why_not,
                                            const System& system,
                                            CallPlanner& planner,
                                            Lowering lower,
                                            const RunOptions& options,
                                            const Forecast& forecast) {
  const bool symmetric = !why_not && system.chips_are_alike();
  const auto check = [&](RunSize size, bool folded) {
    size.folded_too = !folded && symmetric && options.checked;
    return CheckRunSize(size, options.memory);
  };
  const auto lowered = [&](const Fold& fold) -> absl::StatusOr<PlacedProgram> {
    if (options.progress) options.progress("building the program", 0);
    if (forecast) {
      ASSIGN_OR_RETURN(const std::optional<RunSize> size, forecast(fold.on));
      if (size) RETURN_IF_ERROR(check(*size, fold.on));
    }
    ASSIGN_OR_RETURN(PlacedProgram placed, lower(fold));
    RETURN_IF_ERROR(
        check(SizeOf(placed.program, options.records_all()), placed.folded));
    return placed;
  };
  if (!system.faults().empty() && options.fidelity == Fidelity::kStepped &&
      !why_not) {
    why_not = "links that are cut or slow tell messages apart";
  }
  std::vector<Fold> ways;
  if (options.fold && !why_not) {
    ways.push_back({.on = true, .marks = MarksOf(system, MarkedBy::kChips)});
    if (!system.faults().empty()) {
      ways.push_back({.on = true, .marks = MarksOf(system, MarkedBy::kNodes)});
    }
  }
  for (size_t i = 0; i < ways.size(); ++i) {
    ASSIGN_OR_RETURN(PlacedProgram placed, lowered(ways[i]));
    if (!ways[i].marks.empty() && StandsForItself(placed.program)) {
      why_not = "chips or links that are slow or cut tell all ranks apart";
      continue;
    }
    if (options.progress) options.progress("planning transfers", 0);
    ASSIGN_OR_RETURN(FoldingVerdict verdict,
                     Judge(placed, system, planner, options));
    ASSIGN_OR_RETURN(why_not, WhyUnlike(verdict, placed, planner, options));
    const bool nearly =
        why_not && i + 1 == ways.size() &&
        (options.fold_nearly ||
         (options.nearly_beyond_tasks &&
          WholeTasks(placed.program) > *options.nearly_beyond_tasks));
    if (why_not && !nearly) continue;
    return ChosenProgram{.placed = std::move(placed),
                         .nearly = why_not.value_or(""),
                         .verdict = std::move(verdict)};
  }
  ASSIGN_OR_RETURN(PlacedProgram placed, lowered({.on = false}));
  return ChosenProgram{
      .placed = std::move(placed),
      .asymmetry = options.fold ? why_not.value_or("") : std::string()};
}

absl::Status OutsideBounds(const SimulatedRun& run) {
  return absl::InternalError(fmt::format(
      "the simulated step of {} ({} ps) is outside its bounds, {} to {} ps: a "
      "bug of Orrery; please report the scenario",
      SecondsText(ToSeconds(run.result.end)),
      run.result.end.time_since_epoch().count(), run.bounds.lower().count(),
      run.bounds.upper.count()));
}

// Calls of these dimensions end as they start.
void MakeFree(const Program& program, DimensionSet dimensions,
              Transfers& transfers) {
  if (dimensions == DimensionSet()) return;
  const TransferStep nothing;
  const PlanId free = transfers.plans.AddChain({&nothing, 1});
  transfers.efficiencies.Add({});
  transfers.sent_by_chips.Add(0);
  for (const RankId rank : program.ranks().ids()) {
    const Role& role = program.role_of(rank);
    for (int32_t p = 0; p < role.place_count(); ++p) {
      const Task& task = role.at(static_cast<PlaceId>(p));
      if (!IsCommunication(task.kind)) continue;
      const StreamId stream =
          role.slots()[static_cast<SlotId>(task.slot)].stream;
      const auto& dimension = program.streams()[stream].dimension;
      if (dimension && dimensions.Has(*dimension)) {
        transfers.plan_of_call[program.call_of(rank, task)] = free;
      }
    }
  }
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
  std::optional<CallPlanner> own;
  if (options.planner == nullptr) {
    own.emplace(network, PlannerOptions{.fidelity = options.fidelity,
                                        .one_of_alike = true});
  }
  CallPlanner& planner = own ? *own : *options.planner;
  std::optional<std::string> why_not = WhyNotFold(layout, system);
  const bool same_work = !why_not && system.chips_are_alike();
  ASSIGN_OR_RETURN(ChosenProgram chosen,
                   ChooseProgram(std::move(why_not), system, planner, lower,
                                 options, forecast));
  PlacedProgram& placed = chosen.placed;
  RunSize size = SizeOf(placed.program, options.records_all());
  size.folded_too = !placed.folded && same_work && options.checked;
  report("planning transfers", 0);
  TransferSize foreseen;
  const auto allow = [&](const TransferSize& so_far) {
    foreseen = so_far;
    size.transfers = so_far.total() + BytesOfRanks(placed.program);
    return CheckRunSize(size, options.memory);
  };
  ASSIGN_OR_RETURN(Transfers transfers, PlanTransfers(placed, planner, allow));
  MakeFree(placed.program, options.free, transfers);

  CallTimes alone;
  if (options.record) {
    ASSIGN_OR_RETURN(alone, AloneTimes(placed, transfers, planner));
  }
  report("simulating", 0);
  const RankId busiest = BusiestRank(placed);
  BreakdownSink breakdown(placed.program, busiest, /*alone=*/nullptr,
                          /*keeps_waits=*/false);
  TransferLog log;
  if (options.window) {
    log.from = options.window->from;
    log.to = options.window->to;
  }
  RecordingSink recording(options.memory, options.window);
  absl::StatusOr<RunResult> result;
  EngineOptions engine = {.max_state =
                              options.memory - size.total() + foreseen.state};
  if (options.progress) {
    engine.progress = [&](double done) { report("simulating", done); };
  }
  const auto simulate = [&] {
    if (options.record) {
      engine.log = &log;
      RecordingBreakdownSink both{breakdown, recording};
      result = Simulate(placed.program, transfers, engine, both);
    } else if (!options.breakdown) {
      UnseenSink unseen;
      result = Simulate(placed.program, transfers, engine, unseen);
    } else {
      result = Simulate(placed.program, transfers, engine, breakdown);
    }
  };
  absl::StatusOr<PathBounds> paths = PathBounds();
  const auto find_paths = [&] {
    paths = PathsOf(placed, transfers, same_work, lower, planner);
  };
  // Of the two neither needs the other; a small run is done before another
  // thread would begin.
  constexpr int64_t kTasksWorthAThread = 500'000;
  if (options.checked && placed.program.task_count() >= kTasksWorthAThread) {
    InParallel(2, [&](size_t i) { i == 0 ? simulate() : find_paths(); });
    RETURN_IF_ERROR(result.status());
  } else {
    simulate();
    RETURN_IF_ERROR(result.status());
    if (options.checked) {
      report("checking bounds", 0);
      find_paths();
    }
  }
  RETURN_IF_ERROR(paths.status());
  // While the program is where the breakdown looks for it.
  const StepBreakdown parts =
      options.breakdown ? breakdown.Finish(result->end) : StepBreakdown();
  SimulatedRun run{.placed = std::move(placed),
                   .transfers = std::move(transfers),
                   .result = *std::move(result)};
  run.breakdown = parts;
  run.busiest = busiest;
  run.asymmetry = std::move(chosen.asymmetry);
  run.nearly = std::move(chosen.nearly);
  run.folding = std::move(chosen.verdict);
  if (options.checked) {
    run.bounds = BoundsOf(run.placed, run.transfers, *paths);
    if (!run.bounds.Hold(run.result.end)) return OutsideBounds(run);
  }
  run.memory = MemoryPeaksOf(run.placed, run.result);
  for (const RoleWork& work : run.placed.work) {
    const auto ranks = static_cast<double>(work.ranks);
    run.executed += (work.passes.flops + work.optimizer.flops) * ranks;
    run.recomputed += work.passes.recomputed * ranks;
  }
  run.spans = recording.Take();
  run.memory_before = recording.TakeForgotten();
  run.log = std::move(log);
  run.alone = std::move(alone);
  return run;
}

}  // namespace orrery
