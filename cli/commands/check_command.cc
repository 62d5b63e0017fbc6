// orrery check: closed form and simulation side by side, term by term.
#include <cmath>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "cli/commands/commands.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/page/answer.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "cli/print/report_text.h"
#include "run/difference.h"
#include "run/report.h"
#include "run/run_scenario.h"

namespace orrery {
namespace {

// One term of both.
struct Term {
  const char* name;
  double estimate_s;
  double simulated_s;
};

std::vector<Term> Terms(const pb::Report& r) {
  const pb::Report::Estimate& e = r.estimate();
  const pb::Report::Breakdown& b = r.breakdown();
  return {{"kernels", e.compute_s(),
           b.compute_s() + b.memory_bound_s() + b.launch_s() +
               b.kernels_slowed_by_communication_s() + b.slow_chip_s()},
          {"tensor communication", e.tensor_s(), b.tensor_exposed_s()},
          {"context communication", e.context_s(), b.context_exposed_s()},
          {"expert communication", e.expert_s(), b.expert_exposed_s()},
          {"pipeline communication", e.pipeline_s(), b.pipeline_exposed_s()},
          {"data communication", e.data_s(), b.data_exposed_s()},
          {"bubble", e.bubble_s(), b.bubble_s()},
          {"late peers", 0, b.late_peer_s()},
          {"host", e.host_s(), b.host_s()},
          {"optimizer", e.optimizer_s(), b.optimizer_s()},
          {"held within its bounds", e.held_s(), 0}};
}

std::string DifferenceText(const pb::Report& report) {
  const double step = report.step_time_s();
  std::string text =
      "where the difference comes from (simulated minus closed form; each "
      "measured by\nrunning both without it)\n";
  const auto line = [&](const std::string& name, double seconds) {
    text += fmt::format("  {:<42} {:>1}{:>11} {:>+8.2f}%\n", name,
                        seconds < 0 ? "-" : "+", SecondsText(std::abs(seconds)),
                        100 * seconds / step);
  };
  for (const auto& effect : report.difference().effects()) {
    line(effect.name(), effect.seconds());
  }
  line("unexplained", report.difference().unexplained_s());
  return text;
}

std::string CheckText(const pb::Report& report, bool request) {
  std::string text =
      fmt::format("{}\n\n{:<24} {:>12} {:>12} {:>9}\n", report.scenario(), "",
                  "closed form", "simulated", "of step");
  const double step = report.step_time_s();
  for (const Term& term : Terms(report)) {
    if (term.estimate_s == 0 && term.simulated_s == 0) continue;
    text += fmt::format("{:<24} {:>12} {:>12} {:>+8.2f}%\n", term.name,
                        // What holds a closed form may take from it.
                        term.estimate_s < 0 ? SignedSecondsText(term.estimate_s)
                                            : SecondsText(term.estimate_s),
                        SecondsText(term.simulated_s),
                        100 * (term.estimate_s - term.simulated_s) / step);
  }
  const double total = report.estimate().step_time_s();
  text += fmt::format("{:<24} {:>12} {:>12} {:>+8.2f}%\n", "step",
                      SecondsText(total), SecondsText(step),
                      100 * (total - step) / step);
  const double peak = static_cast<double>(report.estimate().peak_bytes());
  const double simulated = static_cast<double>(report.memory().peak_bytes());
  text += fmt::format("{:<24} {:>12} {:>12} {:>+8.2f}%\n", "peak memory",
                      BytesText(report.estimate().peak_bytes()),
                      BytesText(report.memory().peak_bytes()),
                      100 * (peak - simulated) / simulated);
  if (report.engine().fidelity() == "CLOSED_FORM") {
    text += fmt::format("  (closed form{})\n", kLinksToItself);
  }
  if (request) {
    text += "  (at the end of the request, and in this step of it)\n";
  }
  text += "\n";
  text += DifferenceText(report) + "\n";
  text += fmt::format(
      "bounds: {} (longest path) and {} (busiest chip or link) <= {} <= {} "
      "(worst sharing, or all in turn)\n",
      SecondsText(report.bounds().critical_path_s()),
      SecondsText(report.bounds().busiest_resource_s()), SecondsText(step),
      SecondsText(report.bounds().upper_s()));
  return text;
}

absl::StatusOr<ExitCode> CheckScenario(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, LoadScenario(arguments));
  ASSIGN_OR_RETURN(RunOptions options, ReadRunOptions(arguments, scenario));
  if (arguments.Has("serial")) {
    options.waited = DimensionSet::All();
    options.chip_sharing = false;
  }
  Progress progress(arguments);
  options.progress = progress.Listener();
  ASSIGN_OR_RETURN(const StepEstimate estimate,
                   ClosedFormBeside(scenario, options));
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
  pb::Report report = MakeReport(scenario, run, estimate, options, {});
  if (options.progress) {
    options.progress("running both again without each effect", 0);
  }
  ASSIGN_OR_RETURN(*report.mutable_difference(),
                   MeasureDifference(scenario, options, report.step_time_s(),
                                     report.estimate()));
  progress.Wipe();
  ASSIGN_OR_RETURN(const bool print,
                   WriteReport(arguments, scenario.proto, report));
  if (print)
    RETURN_IF_ERROR(
        Print(CheckText(report, scenario.inference() != nullptr)).status());
  const double unexplained = report.difference().unexplained_s();
  if (std::abs(unexplained) <= kMostUnexplained * report.step_time_s()) {
    return ExitCode::kDone;
  }
  fmt::print(stderr,
             "orrery: {} of the step are unexplained, more than {:g} %: the "
             "closed form or the simulation is wrong here\n",
             SecondsText(std::abs(unexplained)), 100 * kMostUnexplained);
  return ExitCode::kNo;
}

}  // namespace

Command CheckCommand() {
  std::vector<Flag> flags = AnswerFlags(RunFlags());
  flags.push_back(PhaseFlag());
  flags.push_back({.name = "serial",
                   .value = "",
                   .help = "nothing overlaps, in both: they should agree"});
  return {.name = "check",
          .operands = "SCENARIO",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Closed form and simulation, term by term.",
          .details =
              "Says what every effect that they take differently is worth, by "
              "running both again\nwithout it: sharing of links and of chips, "
              "overlap, latency, the order of passes in\na pipeline. Exit code "
              "1 if more than 1 % of the step is left unexplained.\n\n"
              "  orrery check quickstart\n"
              "  orrery check quickstart --serial --fidelity CLOSED_FORM",
          .flags = std::move(flags),
          .run = CheckScenario};
}

}  // namespace orrery
