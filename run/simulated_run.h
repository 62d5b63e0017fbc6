#pragma once
// SimulatedRun: a placed program, simulated: what happened, and what it means.
//
//   ASSIGN_OR_RETURN(const SimulatedRun run,
//                    RunLowered(plan.layout(), system, network, lower, {}));
//   run.result.end                 // how long it takes
//   run.breakdown.total()          // the same, by cause
//
// Whatever a plan is for, it becomes a program by a Lowering; nothing from here
// on knows the difference. Every run that is `checked` carries its bounds (see
// step_bounds.h); one outside of them is a bug of ours, and comes back as an
// internal error.
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/run_size.h"
#include "sim/analysis/memory_peaks.h"
#include "sim/analysis/step_bounds.h"
#include "sim/analysis/step_breakdown.h"
#include "sim/engine/run_result.h"
#include "sim/engine/span_sinks.h"
#include "sim/folding/folding.h"
#include "sim/network/call_planner.h"
#include "sim/network/collective_plan.h"
#include "sim/network/network.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/machine/system.h"
#include "topology/traffic/dimension_set.h"
#include "traces/format/span.h"
#include "workload/model/op.h"
#include "workload/plan/parallel_layout.h"
#include "workload/plan/rank_classes.h"
#include "workload/program/placed_program.h"

namespace orrery {

// What of an inference request is looked at in detail.
enum class InferencePart : uint8_t {
  kDecodeStep,  // in the middle of the output
  kPrefill,
  // Prefill and the first decode steps, one after the other; of plans without
  // separate pools.
  kRequest,
  // The same with every decode step.
  kWholeRequest,
};

struct RunOptions {
  InferencePart part = InferencePart::kDecodeStep;
  Fidelity fidelity = Fidelity::kFluid;
  // Ranks that do the same are simulated as one, where that changes nothing; or
  // also where it is near (sim/folding).
  bool fold = true;
  bool fold_nearly = false;
  // Where the whole step has more tasks than this, as if `fold_nearly`.
  std::optional<int64_t> nearly_beyond_tasks = std::nullopt;
  // The run is held to its bounds, and says why ranks that were folded nearly
  // are not quite alike: for those who look at one run. Changes no result.
  bool checked = true;
  // What was found of a run alike but for how often it repeats itself; only for
  // one that is not checked.
  std::optional<FoldingVerdict> folding = std::nullopt;
  // Who plans its calls, with what it knows from runs before: of this network
  // and fidelity, and of the same traffic between experts. Unset: one of its
  // own.
  CallPlanner* planner = nullptr;
  // Where the time of the busiest rank went; without it a run is faster.
  bool breakdown = true;
  // Every kernel is a task of its own. Without it, kernels that have no
  // communication between them run as one: fewer tasks, and a step time that
  // differs a little where communication beside them slows kernels down.
  bool detail = true;
  // Micro-batches that repeat are kept once, where nothing is recorded: that
  // changes what the run takes, and no result.
  bool loops = true;
  // Keep every span, and what was granted to every transfer.
  bool record = false;
  // Of it only this part, if given: what it takes grows with the part.
  std::optional<RecordingWindow> window = std::nullopt;
  bool records_all() const { return record && !window; }
  // What the run may take of this computer's memory: a larger one is refused
  // with the numbers, before it is built where that can be known.
  Bytes memory = Bytes(std::numeric_limits<int64_t>::max());
  // For comparison with closed forms: dimensions whose communication is waited
  // for, and whether communication takes its share of the chip.
  DimensionSet waited = {};
  bool chip_sharing = true;
  // For what-if runs: communication of these dimensions takes no time.
  DimensionSet free = {};
  // How much longer kernels take than on a chip by itself, for a step that is
  // part of a longer one; unset: by the plan's variation.
  std::optional<double> slowness = std::nullopt;
  // If given, is told now and then what is being done and how much of it is.
  std::function<void(std::string_view stage, double done)> progress = {};
};

struct SimulatedRun {
  PlacedProgram placed;
  Transfers transfers;
  RunResult result;
  // The rank with most work, and where its time went, if asked for.
  RankId busiest{};
  StepBreakdown breakdown = {};
  // Why every rank was simulated although folding was asked for.
  std::string asymmetry = {};
  // Why ranks that were simulated as one are not quite alike.
  std::string nearly = {};
  // What both rest on, if ranks were folded.
  std::optional<FoldingVerdict> folding = std::nullopt;
  StepBounds bounds = {};
  MemoryPeaks memory = {};
  // Arithmetic of all ranks, and of it what was computed again.
  Flops executed{};
  Flops recomputed{};
  // If asked for.
  std::vector<TaskSpan> spans = {};
  TransferLog log = {};
  // Of a window: what the tasks before it added to the memory of each rank.
  IdVector<RankId, MemoryByKind> memory_before = {};
  // How long calls take with the network to themselves.
  CallTimes alone = {};
  // What the facts of kernels refer to.
  IdVector<OpId, Op> ops = {};
};

// Whether ranks that do the same are one, and which are told apart then.
struct Fold {
  bool on = false;
  std::vector<RankMark> marks = {};
};

// A plan as a program, with one rank for all that do the same or with all.
using Lowering =
    absl::FunctionRef<absl::StatusOr<PlacedProgram>(const Fold& fold)>;

// What the run will take, if that can be told before the program is built.
using Forecast =
    std::function<absl::StatusOr<std::optional<RunSize>>(bool fold)>;

// `network` is the system's; many runs may share it, also at the same time.
// `ops` of the result are left to the caller, who timed them.
absl::StatusOr<SimulatedRun> RunLowered(const ParallelLayout& layout,
                                        const System& system,
                                        const Network& network, Lowering lower,
                                        const RunOptions& options,
                                        const Forecast& forecast = {});

}  // namespace orrery
