// orrery cost: what a scenario, or a package, costs.
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "cli/commands/commands.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/page/answer.h"
#include "cli/print/cost_text.h"
#include "cli/print/csv.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "cli/print/report_text.h"
#include "run/package_report.h"
#include "run/report.h"
#include "run/requests/inference_report.h"
#include "run/run_scenario.h"
#include "run/silicon_catalog.h"

namespace orrery {
namespace {

absl::StatusOr<ExitCode> CostOfPackage(const std::string& name,
                                       const Arguments& arguments) {
  const Catalog catalog;
  ASSIGN_OR_RETURN(const pb::Package package, catalog.Package(name));
  pb::CostOptions options;
  if (const auto prices = arguments.Get("prices")) {
    options.set_prices(*prices);
  }
  ASSIGN_OR_RETURN(const SiliconLibrary library, LoadSilicon(catalog, options));
  ASSIGN_OR_RETURN(const pb::PackageResult result,
                   ReportPackage(package, library));
  ASSIGN_OR_RETURN(const bool print,
                   WriteAnswer(
                       arguments, result, [&] { return FieldsCsv(result); },
                       [] { return pb::Page(); }));
  return print ? Print(PackageText(result)) : ExitCode::kDone;
}

absl::StatusOr<pb::Report> ReportOf(const ResolvedScenario& scenario,
                                    const RunOptions& options) {
  if (scenario.inference() != nullptr) {
    return ReportInference(scenario, {.run = options});
  }
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
  ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
  return MakeReport(scenario, run, estimate, options, {});
}

absl::StatusOr<ExitCode> Cost(const Arguments& arguments) {
  if (const auto package = arguments.Get("package")) {
    if (!arguments.positional().empty()) {
      return absl::InvalidArgumentError(
          "cost: give a SCENARIO or --package, not both");
    }
    std::vector<absl::string_view> others = {"html", "set"};
    for (const Flag& flag : RunFlags()) {
      if (flag.name != "json" && flag.name != "csv" && flag.name != "memory") {
        others.push_back(flag.name);
      }
    }
    RETURN_IF_ERROR(RefuseFlags(arguments, others,
                                "--package, of which nothing is simulated"));
    return CostOfPackage(*package, arguments);
  }
  if (arguments.positional().empty()) {
    return absl::InvalidArgumentError("cost: give a SCENARIO, or --package");
  }
  if (arguments.Get("prices")) {
    return absl::InvalidArgumentError(
        "cost: a scenario says its prices itself: --set cost.prices=NAME");
  }
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, LoadScenario(arguments));
  ASSIGN_OR_RETURN(RunOptions options, ReadRunOptions(arguments, scenario));
  Progress progress(arguments);
  options.progress = progress.Listener();
  ASSIGN_OR_RETURN(const pb::Report report, ReportOf(scenario, options));
  progress.Wipe();
  if (!report.has_cost()) {
    for (const std::string& warning : report.warnings()) {
      if (warning.find("no cost: ") == 0) {
        return absl::InvalidArgumentError(warning);
      }
    }
  }
  ASSIGN_OR_RETURN(const bool print,
                   WriteReport(arguments, scenario.proto, report));
  return print ? Print(CostText(report) + TrustText(report)) : ExitCode::kDone;
}

}  // namespace

Command CostCommand() {
  std::vector<Flag> flags = AnswerFlags(RunFlags());
  flags.push_back({.name = "package",
                   .value = "NAME",
                   .help = "what a package costs to make: a preset or a file"});
  flags.push_back({.name = "prices",
                   .value = "NAME",
                   .help = "with --package: the list of prices"});
  return {.name = "cost",
          .operands = "[SCENARIO]",
          .min_operands = 0,
          .max_operands = 1,
          .summary = "What it costs: die, package, machine, hour, step, run.",
          .details =
              "Prices the machine of SCENARIO from its own graph, simulates a "
              "step for its time\nand energy, and prints what a chip-hour, a "
              "step, a run and a million tokens cost,\neach as a nominal value "
              "and the middle 90 % of what the prices allow. With\n--package, "
              "what a package costs to make, from the wafer up.\n\n"
              "  orrery cost llama3_405b_16k\n"
              "  orrery cost llama3_405b_16k --set cost.rent='$2.5/h'\n"
              "  orrery cost --package h100_sxm",
          .flags = std::move(flags),
          .run = Cost};
}

}  // namespace orrery
