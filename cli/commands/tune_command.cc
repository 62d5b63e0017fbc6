// orrery tune: the best plan for a scenario, and why.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/defaults.h"
#include "catalog/nearest.h"
#include "catalog/resolve.h"
#include "cli/commands/commands.h"
#include "cli/flags/number_flags.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/page/answer.h"
#include "cli/print/csv.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "cli/print/tuning_text.h"
#include "run/report_value.h"
#include "run/requests/scenario_report.h"
#include "run/search/tune.h"
#include "run/search/tune_inference.h"

namespace orrery {
namespace {

constexpr int kMostSimulated = 100'000;

// What both kinds of plans are asked.
struct Question {
  const Arguments& arguments;
  const pb::Scenario& said;
  const ResolvedScenario& scenario;
  int best = 5;
  std::optional<int> simulate = std::nullopt;
  RunOptions run = {};
  Objective objective = Objective::kTime;
  std::function<void(std::string_view, double)> progress = {};
};

absl::StatusOr<pb::Tuning> TuneTraining(const Question& question) {
  const Arguments& arguments = question.arguments;
  for (const char* flag : {"limit", "also"}) {
    if (!arguments.Has(flag)) continue;
    return absl::InvalidArgumentError(
        fmt::format("--{} is for inference scenarios; this one trains", flag));
  }
  TuneOptions options;
  options.run = question.run;
  options.best = question.best;
  options.simulate = question.simulate;
  options.objective = question.objective;
  for (const std::string& keep : arguments.All("keep")) {
    const absl::StatusOr<PlanAxis> axis = ParsePlanAxis(keep);
    if (!axis.ok()) return Annotate(axis.status(), "--keep");
    options.search.kept.push_back(*axis);
  }
  options.search.prune = !arguments.Has("exhaustive");
  options.search.progress = question.progress;
  return Tune(question.said, options);
}

// An error if a limit asks for what reports of requests do not have: known
// from the closed form, before any plan is tried.
absl::Status CheckLimits(absl::Span<const Expression> limits,
                         const ResolvedScenario& scenario) {
  if (limits.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const pb::Report report, EstimateReport(scenario));
  std::vector<std::string> known;
  for (const std::string& name : ReportNames()) {
    if (ReportValue(report, name)) known.push_back(name);
  }
  for (const Expression& limit : limits) {
    for (const std::string& name : limit.names()) {
      if (ReportValue(report, name)) continue;
      return absl::InvalidArgumentError(fmt::format(
          "--limit: '{}': an inference scenario has no '{}'{} (names are those "
          "that 'orrery estimate SCENARIO --json -' prints, such as "
          "inference.end_to_end_s)",
          Excerpt(limit.text(), 200), name, DidYouMean(name, known)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<pb::Tuning> TuneInference(const Question& question) {
  const Arguments& arguments = question.arguments;
  ServingOptions options;
  options.objective = question.objective;
  options.run = question.run;
  options.best = question.best;
  if (question.simulate) options.simulate = *question.simulate;
  options.progress = question.progress;
  for (const std::string& keep : arguments.All("keep")) {
    const absl::StatusOr<ServingAxis> axis = ParseServingAxis(keep);
    if (!axis.ok()) return Annotate(axis.status(), "--keep");
    options.space.kept.push_back(*axis);
  }
  // A batch that is larger takes longer, and gets more done.
  options.space.batches = question.objective != Objective::kTime;
  for (const std::string& also : arguments.All("also")) {
    ASSIGN_OR_RETURN(const ServingAxis axis, ParseServingAxis(also));
    if (axis != ServingAxis::kPrecision) {
      return absl::InvalidArgumentError(fmt::format(
          "--also: '{}' is searched anyway; only precision is left out unless "
          "asked for, as it changes what is computed",
          also));
    }
    options.space.precisions = true;
  }
  for (const std::string& limit : arguments.All("limit")) {
    absl::StatusOr<Expression> expression = Expression::Parse(limit);
    if (!expression.ok()) return Annotate(expression.status(), "--limit");
    RETURN_IF_ERROR(Annotate(CheckNames(*expression), "--limit"));
    options.limits.push_back(*std::move(expression));
  }
  RETURN_IF_ERROR(CheckLimits(options.limits, question.scenario));
  return TuneServing(question.said, options);
}

absl::StatusOr<ExitCode> TuneScenario(const Arguments& arguments) {
  const std::string& name = arguments.positional()[0];
  ASSIGN_OR_RETURN(const pb::Scenario said,
                   MergeScenario(Catalog(), name, arguments.All("set")));
  pb::Scenario filled = said;
  FillDefaults(&filled);
  ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                   MakeScenario(std::move(filled)));
  Question question{.arguments = arguments, .said = said, .scenario = scenario};
  ASSIGN_OR_RETURN(question.run, ReadRunOptions(arguments, scenario));
  for (const char* flag : {"simulate", "best"}) {
    if (!arguments.Has(flag)) continue;
    ASSIGN_OR_RETURN(const int64_t count, CountFlag(arguments, flag, 5));
    if (count > kMostSimulated) {
      return absl::InvalidArgumentError(
          fmt::format("--{}: {} plans would take long; at most {}", flag, count,
                      kMostSimulated));
    }
    if (flag == std::string_view("best")) {
      question.best = static_cast<int>(count);
    } else {
      question.simulate = static_cast<int>(count);
    }
  }
  ASSIGN_OR_RETURN(question.objective,
                   ParseObjective(arguments.Get("objective").value_or("time")));
  Progress progress(arguments);
  question.progress = progress.Listener();
  ASSIGN_OR_RETURN(const pb::Tuning tuning, said.has_training()
                                                ? TuneTraining(question)
                                                : TuneInference(question));
  progress.Wipe();
  const auto page = [&] {
    pb::Page made;
    *made.mutable_tuning() = tuning;
    AddSources(scenario.proto, &made);
    return made;
  };
  ASSIGN_OR_RETURN(
      const bool print,
      WriteAnswer(
          arguments, tuning, [&] { return TableCsv(tuning.plans()); }, page));
  if (print) {
    RETURN_IF_ERROR(
        Print(TuningText(tuning, name, arguments.All("set"))).status());
  }
  const bool found =
      tuning.plans_size() > 0 && tuning.plans(0).report().memory().fits();
  return found ? ExitCode::kDone : ExitCode::kNo;
}

}  // namespace

Command TuneCommand() {
  std::vector<Flag> flags = AnswerFlags(RunFlags());
  flags.push_back({.name = "keep",
                   .value = "FIELD",
                   .help = "leave a choice as it was said, e.g. schedule",
                   .repeated = true});
  flags.push_back({.name = "simulate",
                   .value = "N",
                   .help = "simulate at most N plans (default: until no other "
                           "can win, or for some seconds)"});
  flags.push_back(
      {.name = "best", .value = "N", .help = "how many plans to report (5)"});
  flags.push_back(
      {.name = "objective",
       .value = "time|tokens|cost",
       .help = "what to look for (time); for inference tokens and cost search "
               "batches too"});
  flags.push_back({.name = "limit",
                   .value = "EXPRESSION",
                   .help = "inference: what must hold, e.g. "
                           "'inference.time_per_output_token_s < 0.02'",
                   .repeated = true});
  flags.push_back({.name = "also",
                   .value = "FIELD",
                   .help = "inference: search precision, too",
                   .repeated = true});
  flags.push_back({.name = "exhaustive",
                   .value = "",
                   .help = "estimate every plan, also those that cannot win"});
  return {.name = "tune",
          .operands = "SCENARIO",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Find the fastest plan that fits, and say why it is.",
          .details =
              "Tries all degrees, schedules, sharding and recomputation that "
              "the model, the machine\nand the framework allow. Closed forms "
              "say where to look, simulation which plan is\nfastest, and lower "
              "bounds whether another one could beat it. Prints what to type "
              "to\nuse the best. Model, machine, batch and sequence stay as "
              "they are. For inference:\ndegrees, chunks, pools, and with "
              "--objective tokens or cost the batch. Exit code 1 if\nno plan "
              "fits into memory.\n\n"
              "  orrery tune quickstart\n"
              "  orrery tune quickstart --keep schedule --keep sharding\n"
              "  orrery tune llama3_70b_fp8_serving --objective cost --limit "
              "'inference.time_per_output_token_s < 0.03'",
          .flags = std::move(flags),
          .run = TuneScenario};
}

}  // namespace orrery
