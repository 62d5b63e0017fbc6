// orrery simulate: run the engine on a scenario, print the report.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "cli/commands/commands.h"
#include "cli/commands/trace_output.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/flags/trace_request.h"
#include "cli/page/answer.h"
#include "cli/print/inference_text.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "cli/print/report_text.h"
#include "run/measured_beside.h"
#include "run/picture.h"
#include "run/report.h"
#include "run/requests/inference_report.h"
#include "run/requests/request_timeline.h"
#include "run/run_scenario.h"
#include "run/search/plan_advice.h"

namespace orrery {
namespace {

int64_t PeakRss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// By how much, and what dominates.
std::string OverflowText(const pb::Report::Memory& m) {
  const std::pair<const char*, int64_t> parts[] = {
      {"weights", m.weights_bytes()},
      {"gradients", m.gradients_bytes()},
      {"optimizer state", m.optimizer_bytes()},
      {"activations", m.activations_bytes()},
      {"buffers", m.buffers_bytes()}};
  const auto* largest = std::max_element(
      std::begin(parts), std::end(parts),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format(
      "\nthe plan does not fit: {} too much; {} take {:.0f} % of the memory\n",
      BytesText(m.reserved_bytes() - m.capacity_bytes()), largest->first,
      100.0 * static_cast<double>(largest->second) /
          static_cast<double>(m.reserved_bytes()));
}

// Prefill and decode steps, a few or every one: one run, or one of each pool.
absl::Status TraceRequests(const TraceRequest& trace,
                           const ResolvedScenario& scenario,
                           const InferenceOptions& options,
                           const pb::Report& report) {
  RunOptions traced = options.run;
  traced.part = options.every_token ? InferencePart::kWholeRequest
                                    : InferencePart::kRequest;
  RecordForTrace(traced);
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, traced));
  const InferencePlan& plan = *scenario.inference();
  const Duration end = FromSeconds(report.inference().end_to_end_s());
  const Duration overhead = plan.engine().request_overhead;
  if (!plan.disaggregated() || DecodeSteps(plan) == 0) {
    const RequestTimeline requests =
        RequestsOf(scenario, run, traced.part, end);
    return WriteTrace(trace, scenario, run, &requests);
  }
  ASSIGN_OR_RETURN(SimulatedRun steps, RunDecodePool(scenario, traced));
  const DecodePoolRun decode{
      .run = std::move(steps),
      .from = run.result.end + overhead +
              FromSeconds(report.inference().pools().exposed_transfer_s())};
  const RequestTimeline requests =
      RequestsOf(scenario, run, decode, traced.part, end);
  const auto& own = scenario.prefill;
  const TracedPool pools[] = {{.name = "prefill pool",
                               .run = run,
                               .system = own ? own->system : scenario.system,
                               .kernels = own ? own->kernels : scenario.kernels,
                               .from = Time(overhead)},
                              {.name = "decode pool",
                               .run = decode.run,
                               .system = scenario.system,
                               .kernels = scenario.kernels,
                               .from = decode.from}};
  return WriteTrace(trace, scenario, pools, &requests);
}

absl::StatusOr<ExitCode> SimulateRequest(const Arguments& arguments,
                                         const ResolvedScenario& scenario,
                                         const RunOptions& run_options) {
  ASSIGN_OR_RETURN(const std::optional<TraceRequest> trace,
                   ReadTraceRequest(arguments));
  Progress progress(arguments);
  InferenceOptions options{.run = run_options,
                           .every_token = arguments.Has("every-token")};
  options.run.progress = progress.Listener();
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(pb::Report report, ReportInference(scenario, options));
  const std::chrono::duration<double> wall =
      std::chrono::steady_clock::now() - begin;
  AddMeasured(scenario.proto, report);
  report.mutable_engine()->set_wall_s(wall.count());
  report.mutable_engine()->set_peak_rss_bytes(PeakRss());
  if (trace) {
    InferenceOptions traced = options;
    traced.run = run_options;
    RETURN_IF_ERROR(TraceRequests(*trace, scenario, traced, report));
  }
  progress.Wipe();
  ASSIGN_OR_RETURN(const bool print,
                   WriteReport(arguments, scenario.proto, report));
  if (print) RETURN_IF_ERROR(Print(InferenceText(report)).status());
  return report.memory().fits() ? ExitCode::kDone : ExitCode::kNo;
}

absl::StatusOr<ExitCode> SimulateScenario(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, LoadScenario(arguments));
  ASSIGN_OR_RETURN(RunOptions options, ReadRunOptions(arguments, scenario));
  if (scenario.inference() != nullptr) {
    return SimulateRequest(arguments, scenario, options);
  }
  if (arguments.Has("every-token")) {
    return absl::InvalidArgumentError(
        "--every-token is for inference scenarios");
  }
  ASSIGN_OR_RETURN(const std::optional<TraceRequest> trace,
                   ReadTraceRequest(arguments));
  const bool draw = arguments.Has("html");
  // A page is drawn of the whole step.
  if (draw) {
    RecordForTrace(options);
  } else if (trace) {
    RecordForTrace(*trace, options);
  }
  Progress progress(arguments);
  options.progress = progress.Listener();
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
  const std::chrono::duration<double> wall =
      std::chrono::steady_clock::now() - begin;
  ASSIGN_OR_RETURN(const StepEstimate estimate,
                   ClosedFormBeside(scenario, options));
  pb::Report report =
      MakeReport(scenario, run, estimate, options,
                 {.wall_s = wall.count(), .peak_rss_bytes = PeakRss()});
  AddMeasured(scenario.proto, report);
  if (trace) RETURN_IF_ERROR(WriteTrace(*trace, scenario, run));
  const bool fits = report.memory().fits();
  if (!fits) {
    ASSIGN_OR_RETURN(const pb::Scenario said,
                     MergeScenario(Catalog(), arguments.positional()[0],
                                   arguments.All("set")));
    ASSIGN_OR_RETURN(auto changes, AdviseFit(said, scenario, options));
    for (auto& change : changes) {
      *report.mutable_memory()->add_changes() = std::move(change);
    }
  }
  progress.Wipe();
  const pb::Picture picture =
      draw ? PictureOf(run, scenario.kernels.reserved_memory()) : pb::Picture();
  ASSIGN_OR_RETURN(const bool print,
                   WriteReport(arguments, scenario.proto, report, &picture));
  if (print) RETURN_IF_ERROR(Print(ReportText(report)).status());
  if (fits) return ExitCode::kDone;
  if (print) {
    RETURN_IF_ERROR(
        Print(OverflowText(report.memory()) + AdviceText(report)).status());
  }
  return ExitCode::kNo;
}

std::vector<Flag> SimulateFlags() {
  std::vector<Flag> flags = AnswerFlags(TracedRunFlags());
  flags.push_back({.name = "every-token",
                   .value = "",
                   .help = "inference: every decode step by itself"});
  return flags;
}

}  // namespace

Command SimulateCommand() {
  return {.name = "simulate",
          .operands = "SCENARIO",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Simulate one step and say where its time goes.",
          .details =
              "Lowers one optimizer step, or the prefill and decode steps of "
              "a batch of requests,\nto a task graph and replays it over "
              "the machine's chips and links. Exit code 1\nif the plan does "
              "not fit into memory.\n\n"
              "  orrery simulate quickstart\n"
              "  orrery simulate llama3_405b_16k --json -\n"
              "  orrery simulate quickstart --set training.parallel.tensor=8\n"
              "  orrery simulate llama2_70b_inference",
          .flags = SimulateFlags(),
          .run = SimulateScenario};
}

}  // namespace orrery
