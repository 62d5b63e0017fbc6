// orrery tune: the best plan for a scenario, and why.
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/defaults.h"
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
#include "run/search/tune.h"

namespace orrery {
namespace {

constexpr int kMostSimulated = 1000;

absl::StatusOr<ExitCode> TuneScenario(const Arguments& arguments) {
  const std::string& name = arguments.positional()[0];
  ASSIGN_OR_RETURN(const pb::Scenario said,
                   MergeScenario(Catalog(), name, arguments.All("set")));
  if (!said.has_training()) {
    return absl::InvalidArgumentError(fmt::format(
        "scenario '{}' is inference; plans are searched for training so far",
        name));
  }
  pb::Scenario filled = said;
  FillDefaults(&filled);
  ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                   MakeScenario(std::move(filled)));
  TuneOptions options;
  ASSIGN_OR_RETURN(options.run, ReadRunOptions(arguments, scenario));
  ASSIGN_OR_RETURN(const int64_t simulate, CountFlag(arguments, "simulate", 5));
  if (simulate > kMostSimulated) {
    return absl::InvalidArgumentError(
        fmt::format("--simulate: {} plans would take long; at most {}",
                    simulate, kMostSimulated));
  }
  options.simulate = static_cast<int>(simulate);
  for (const std::string& keep : arguments.All("keep")) {
    ASSIGN_OR_RETURN(const PlanAxis axis, ParsePlanAxis(keep));
    options.search.kept.push_back(axis);
  }
  options.search.prune = !arguments.Has("exhaustive");
  Progress progress(arguments);
  options.search.progress = progress.Listener();
  ASSIGN_OR_RETURN(const pb::Tuning tuning, Tune(said, options));
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
                   .help = "how many of the best to simulate (5)"});
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
              "the model and the\nmachine allow by closed forms, simulates the "
              "best, and prints what to type to use\nthem. Model, machine, "
              "batch and sequence stay as they are. Exit code 1 if no plan\n"
              "fits into memory.\n\n"
              "  orrery tune quickstart\n"
              "  orrery tune quickstart --keep schedule --keep sharding",
          .flags = std::move(flags),
          .run = TuneScenario};
}

}  // namespace orrery
