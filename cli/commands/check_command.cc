// orrery check: closed form and simulation side by side, term by term.
#include <cmath>

#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "cli/commands/commands.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/print/json.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "run/report.h"
#include "run/run_scenario.h"

namespace orrery {
namespace {

// One term of both, and why they may differ.
struct Term {
  const char* name;
  double estimate_s;
  double simulated_s;
  const char* reason;
};

std::vector<Term> Terms(const pb::Report& r) {
  const pb::Report::Estimate& e = r.estimate();
  const pb::Report::Breakdown& b = r.breakdown();
  return {{"kernels", e.compute_s(),
           b.compute_s() + b.memory_bound_s() + b.launch_s() + b.other_s() +
               b.host_s(),
           "communication beside a kernel takes its share of the chip"},
          {"tensor communication", e.tensor_s(), b.tensor_exposed_s(),
           "what weight gradients hide is a matter of order, not of sums"},
          {"context communication", e.context_s(), b.context_exposed_s(),
           "blocks of a ring meet attention of different length"},
          {"expert communication", e.expert_s(), b.expert_exposed_s(),
           "links are shared with other communication"},
          {"pipeline communication", e.pipeline_s(), b.pipeline_exposed_s(),
           "hops show as waiting for the stage before, part of the bubble"},
          {"data communication", e.data_s(), b.data_exposed_s(),
           "buckets hide behind the passes that follow them"},
          {"bubble", e.bubble_s(), b.bubble_s(),
           "stages differ, hops delay, the closed form assumes neither"},
          {"optimizer", e.optimizer_s(), b.optimizer_s(), ""}};
}

std::string CheckText(const pb::Report& report) {
  std::string text =
      fmt::format("{}\n\n{:<24} {:>12} {:>12} {:>9}\n", report.scenario(), "",
                  "closed form", "simulated", "of step");
  const double step = report.step_time_s();
  // A difference below this part of the step needs no reason.
  constexpr double kWorthSaying = 0.001;
  for (const Term& term : Terms(report)) {
    const double difference = term.estimate_s - term.simulated_s;
    if (term.estimate_s <= 0 && term.simulated_s <= 0) continue;
    text += fmt::format(
        "{:<24} {:>12} {:>12} {:>+8.2f}%  {}\n", term.name,
        SecondsText(term.estimate_s), SecondsText(term.simulated_s),
        100 * difference / step,
        std::abs(difference) > kWorthSaying * step ? term.reason : "");
  }
  const double total = report.estimate().step_time_s();
  text += fmt::format("{:<24} {:>12} {:>12} {:>+8.2f}%\n", "step",
                      SecondsText(total), SecondsText(step),
                      100 * (total - step) / step);
  const double peak = static_cast<double>(report.estimate().peak_bytes());
  const double simulated = static_cast<double>(report.memory().peak_bytes());
  text += fmt::format("{:<24} {:>12} {:>12} {:>+8.2f}%\n\n", "peak memory",
                      BytesText(report.estimate().peak_bytes()),
                      BytesText(report.memory().peak_bytes()),
                      100 * (peak - simulated) / simulated);
  text += fmt::format(
      "bounds: {} (longest path) and {} (busiest chip or link) <= {} <= {} "
      "(everything one after the other)\n",
      SecondsText(report.bounds().critical_path_s()),
      SecondsText(report.bounds().busiest_resource_s()), SecondsText(step),
      SecondsText(report.bounds().upper_s()));
  return text;
}

absl::StatusOr<ExitCode> CheckScenario(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, LoadScenario(arguments));
  ASSIGN_OR_RETURN(RunOptions options, ReadRunOptions(arguments, scenario));
  options.serial = arguments.Has("serial");
  Progress progress(arguments);
  options.progress = progress.Listener();
  ASSIGN_OR_RETURN(const StepEstimate estimate,
                   EstimateScenario(scenario, options.serial));
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
  const pb::Report report = MakeReport(scenario, run, estimate, options, {});
  progress.Wipe();
  const auto json = arguments.Get("json");
  if (json) RETURN_IF_ERROR(WriteFile(*json, ToJson(report)));
  if (json != "-") RETURN_IF_ERROR(Print(CheckText(report)).status());
  RETURN_IF_ERROR(CheckBounds(report));
  return ExitCode::kDone;
}

}  // namespace

Command CheckCommand() {
  std::vector<Flag> flags = RunFlags();
  flags.push_back({.name = "serial",
                   .value = "",
                   .help = "nothing overlaps, in both: they should agree"});
  return {.name = "check",
          .operands = "SCENARIO",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Closed form and simulation, term by term.",
          .details =
              "Where the two differ by more than 0.1 % of the step, the table "
              "says why.\n\n"
              "  orrery check quickstart\n"
              "  orrery check quickstart --serial --fidelity CLOSED_FORM",
          .flags = std::move(flags),
          .run = CheckScenario};
}

}  // namespace orrery
