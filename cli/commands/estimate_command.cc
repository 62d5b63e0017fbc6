// orrery estimate: closed forms only.
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "cli/commands/commands.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/page/answer.h"
#include "cli/print/inference_text.h"
#include "cli/print/output.h"
#include "cli/print/report_text.h"
#include "run/measured_beside.h"
#include "run/report.h"
#include "run/requests/inference_report.h"
#include "run/run_scenario.h"
#include "run/scenario_cost.h"

namespace orrery {
namespace {

std::string EstimateText(const pb::Report& report) {
  const pb::Report::Estimate& e = report.estimate();
  std::string text = ReportText(report) + "terms of the closed form\n";
  const std::pair<const char*, double> rows[] = {
      {"kernels", e.compute_s()},
      {"waiting for the host", e.host_s()},
      {"tensor communication", e.tensor_s()},
      {"context communication", e.context_s()},
      {"expert communication", e.expert_s()},
      {"pipeline communication", e.pipeline_s()},
      {"data communication", e.data_s()},
      {"bubble", e.bubble_s()},
      {"optimizer", e.optimizer_s()}};
  for (const auto& [name, seconds] : rows) {
    if (seconds <= 0) continue;
    text += fmt::format("  {:<34} {:>12}  {:>5.1f} %\n", name,
                        SecondsText(seconds), 100 * seconds / e.step_time_s());
  }
  text += fmt::format("peak memory {}\n", BytesText(e.peak_bytes()));
  return text +
         "no program was built: 'orrery check' has its bounds, which these "
         "formulas alone may miss\n";
}

absl::StatusOr<ExitCode> Estimate(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, LoadScenario(arguments));
  if (scenario.inference() != nullptr) {
    ASSIGN_OR_RETURN(pb::Report report, EstimateInference(scenario));
    AddMeasured(scenario.proto, report);
    ASSIGN_OR_RETURN(const bool print,
                     WriteReport(arguments, scenario.proto, report));
    if (print) RETURN_IF_ERROR(Print(InferenceText(report)).status());
    return report.memory().fits() ? ExitCode::kDone : ExitCode::kNo;
  }
  ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
  pb::Report report;
  report.set_scenario(scenario.proto.name());
  FillThroughput(scenario, estimate.step_s(), estimate.recomputed, report);
  FillEstimate(estimate, *report.mutable_estimate());
  AddWarnings(scenario, report);
  FillCost(scenario, nullptr, report);
  AddMeasured(scenario.proto, report);
  ASSIGN_OR_RETURN(const bool print,
                   WriteReport(arguments, scenario.proto, report));
  const Bytes capacity = MemoryCapacity(scenario.system);
  const bool fits = estimate.reserved <= capacity;
  if (print) {
    std::string text = EstimateText(report);
    if (!fits) {
      text += fmt::format(
          "does not fit: {} with what allocator and libraries hold, of {}\n",
          BytesText(estimate.reserved.value()), BytesText(capacity.value()));
    }
    RETURN_IF_ERROR(Print(text).status());
  }
  return fits ? ExitCode::kDone : ExitCode::kNo;
}

}  // namespace

Command EstimateCommand() {
  return {.name = "estimate",
          .operands = "SCENARIO",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Step time and memory by closed forms alone.",
          .details =
              "Sums of kernel times and alpha-beta costs, put together by the "
              "formulas of the\nliterature; no simulation. Exit code 1 if the "
              "plan does not fit into memory.\n\n"
              "  orrery estimate quickstart",
          .flags = {SetFlag(),
                    {.name = "json",
                     .value = "FILE",
                     .help = "write the report as JSON (- is stdout)"},
                    CsvFlag(),
                    HtmlFlag()},
          .run = Estimate};
}

}  // namespace orrery
