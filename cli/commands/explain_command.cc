// orrery explain: why a step takes as long as it does, and what would help.
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "cli/commands/commands.h"
#include "cli/commands/trace_output.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/flags/trace_request.h"
#include "cli/page/answer.h"
#include "cli/print/csv.h"
#include "cli/print/explanation_text.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "run/explanation.h"
#include "run/picture.h"
#include "run/removals.h"
#include "run/run_scenario.h"
#include "run/search/plan_advice.h"
#include "run/sensitivities.h"

namespace orrery {
namespace {

absl::StatusOr<ExitCode> ExplainScenario(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, LoadScenario(arguments));
  ASSIGN_OR_RETURN(RunOptions options, ReadRunOptions(arguments, scenario));
  ASSIGN_OR_RETURN(const std::optional<TraceRequest> trace,
                   ReadTraceRequest(arguments));
  RecordForTrace(options);
  Progress progress(arguments);
  options.progress = progress.Listener();
  std::vector<StepSensitivity> sensitivities;
  if (!arguments.Has("no-sensitivities")) {
    ASSIGN_OR_RETURN(sensitivities, Sensitivities(scenario, options));
  }
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
  std::vector<pb::Explanation::PlanAdvice> advice;
  std::vector<pb::Explanation::Removal> removals;
  if (!arguments.Has("no-sensitivities")) {
    ASSIGN_OR_RETURN(const pb::Scenario said,
                     MergeScenario(Catalog(), arguments.positional()[0],
                                   arguments.All("set")));
    ASSIGN_OR_RETURN(
        advice, AdvisePlans(said, scenario, run.result.end - Time{}, options));
    ASSIGN_OR_RETURN(removals, MeasureRemovals(scenario, run, options));
  }
  if (trace) RETURN_IF_ERROR(WriteTrace(*trace, scenario, run));
  const pb::Explanation explanation =
      Explain(scenario, run, sensitivities, advice, removals);
  progress.Wipe();
  const auto page = [&] {
    pb::Page made;
    *made.mutable_explanation() = explanation;
    *made.mutable_picture() =
        PictureOf(run, scenario.kernels.reserved_memory());
    AddSources(scenario.proto, &made);
    return made;
  };
  ASSIGN_OR_RETURN(const bool print,
                   WriteAnswer(
                       arguments, explanation,
                       [&] { return FieldsCsv(explanation); }, page));
  return print ? Print(ExplanationText(explanation)) : ExitCode::kDone;
}

std::vector<Flag> ExplainFlags() {
  std::vector<Flag> flags = AnswerFlags(TracedRunFlags());
  flags.push_back(PhaseFlag());
  flags.push_back({.name = "no-sensitivities",
                   .value = "",
                   .help = "do not simulate what could be taken away, better "
                           "machines and plans"});
  return flags;
}

}  // namespace

Command ExplainCommand() {
  return {
      .name = "explain",
      .operands = "SCENARIO",
      .min_operands = 1,
      .max_operands = 1,
      .summary = "Say why a step takes as long as it does.",
      .details =
          "The largest cause that could be taken away and the bottleneck in "
          "a sentence each;\nthe critical path by cause and by task; which "
          "communication is hidden and which\nis not; what a better machine "
          "or another plan would change, each simulated.\n\n"
          "  orrery explain quickstart\n"
          "  orrery explain quickstart --trace run.pftrace",
      .flags = ExplainFlags(),
      .run = ExplainScenario};
}

}  // namespace orrery
