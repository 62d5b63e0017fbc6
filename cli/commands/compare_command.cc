// orrery compare: answers side by side, and what makes them differ.
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <google/protobuf/util/json_util.h>

#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/defaults.h"
#include "catalog/resolve.h"
#include "cli/commands/commands.h"
#include "cli/commands/trace_output.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/scenario.h"
#include "cli/flags/trace_request.h"
#include "cli/page/answer.h"
#include "cli/print/comparison_text.h"
#include "cli/print/output.h"
#include "cli/print/progress.h"
#include "run/requests/request_timeline.h"
#include "run/requests/scenario_report.h"
#include "run/run_scenario.h"
#include "run/search/compare.h"

namespace orrery {
namespace {

constexpr size_t kMostSides = 16;

// What is wrong in a --change, by the name of the flag that was typed: what
// stands in a --set was read before.
absl::Status AsOfChange(const absl::Status& status) {
  const absl::string_view message = status.message();
  return absl::Status(status.code(),
                      absl::StrReplaceAll(message, {{"--set ", "--change "}}));
}

// A report that --json wrote, or nothing if the operand is no such file.
absl::StatusOr<std::optional<pb::Report>> SavedReport(const Catalog& catalog,
                                                      const std::string& name) {
  if (name == "-" || catalog.Has("scenarios", name)) {
    return std::optional<pb::Report>();
  }
  const absl::StatusOr<std::string> text = ReadFile(name);
  if (!text.ok()) return std::optional<pb::Report>();
  const absl::string_view inner = absl::StripLeadingAsciiWhitespace(*text);
  if (absl::StartsWith(inner, "[")) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: is a JSON list, not a report; write one report into a file, with "
        "'orrery simulate SCENARIO --json FILE'",
        name));
  }
  if (inner.empty() || inner[0] != '{') return std::optional<pb::Report>();
  pb::Report report;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      std::string(inner), &report, options);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a report: {}", name,
                    std::string(parsed.message()).substr(0, 200)));
  }
  if (!(report.step_time_s() > 0)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: is not a report: step_time_s {}; write one with "
        "'orrery simulate SCENARIO --json FILE'",
        name,
        report.has_step_time_s()
            ? fmt::format("must be above 0, got {}", report.step_time_s())
            : "is missing"));
  }
  return std::optional<pb::Report>(std::move(report));
}

absl::StatusOr<std::vector<ComparedSide>> ReadSides(
    const Arguments& arguments) {
  const Catalog catalog;
  std::vector<ComparedSide> sides;
  for (const std::string& name : arguments.positional()) {
    ComparedSide side{.name = name};
    ASSIGN_OR_RETURN(side.saved, SavedReport(catalog, name));
    if (!side.saved) {
      ASSIGN_OR_RETURN(side.said,
                       MergeScenario(catalog, name, arguments.All("set")));
    } else if (arguments.Has("set")) {
      return absl::InvalidArgumentError(
          fmt::format("--set: '{}' is a saved report; there is nothing to set "
                      "in it; name its scenario, or leave out --set",
                      name));
    }
    sides.push_back(std::move(side));
  }
  for (const std::string& change : arguments.All("change")) {
    if (!sides[0].said) {
      return absl::InvalidArgumentError(
          fmt::format("--change: '{}' is a saved report; there is nothing to "
                      "change in it",
                      sides[0].name));
    }
    std::vector<std::string> sets(arguments.All("set").begin(),
                                  arguments.All("set").end());
    for (const auto each :
         absl::StrSplit(change, ';', absl::SkipWhitespace())) {
      sets.emplace_back(absl::StripAsciiWhitespace(each));
    }
    if (sets.size() == arguments.All("set").size()) {
      return absl::InvalidArgumentError(fmt::format(
          "--change '{}' changes nothing; write PATH=VALUE, for example "
          "training.micro_batch=2",
          Excerpt(change)));
    }
    absl::StatusOr<pb::Scenario> said =
        MergeScenario(catalog, sides[0].name, sets);
    if (!said.ok()) return AsOfChange(said.status());
    sides.push_back({.name = change, .said = *std::move(said)});
  }
  if (sides.size() < 2) {
    return absl::InvalidArgumentError(
        "compare: give a second SCENARIO, or --change PATH=VALUE");
  }
  if (sides.size() > kMostSides) {
    return absl::InvalidArgumentError(
        fmt::format("compare: {} sides are too many to read; at most {}",
                    sides.size(), kMostSides));
  }
  return sides;
}

// Every side that is a scenario, simulated once more, on one timeline.
absl::Status WriteTimelines(const Arguments& arguments,
                            const TraceRequest& request,
                            absl::Span<const ComparedSide> sides) {
  ASSIGN_OR_RETURN(SharedTrace trace, SharedTrace::Create(request));
  for (const ComparedSide& side : sides) {
    if (!side.said) {
      return absl::InvalidArgumentError(fmt::format(
          "--trace: '{}' is a saved report, which has no timeline", side.name));
    }
    pb::Scenario filled = *side.said;
    FillDefaults(&filled);
    ASSIGN_OR_RETURN(const ResolvedScenario scenario,
                     MakeScenario(std::move(filled)));
    ASSIGN_OR_RETURN(RunOptions options, ReadRunOptions(arguments, scenario));
    if (scenario.inference() == nullptr) {
      RecordForTrace(request, options);
    } else {
      // Its requests are drawn from all steps.
      RecordForTrace(options);
      if (scenario.inference()->disaggregated()) {
        return absl::InvalidArgumentError(
            fmt::format("--trace: '{}' has separate pools, each with a "
                        "timeline of its own; 'orrery simulate --trace' draws "
                        "them",
                        side.name));
      }
      ASSIGN_OR_RETURN(const RunOptions asked,
                       ReadRunOptions(arguments, scenario));
      ASSIGN_OR_RETURN(const pb::Report report,
                       ReportScenario(scenario, asked));
      options.part = InferencePart::kRequest;
      ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
      const RequestTimeline requests =
          RequestsOf(scenario, run, options.part,
                     FromSeconds(report.inference().end_to_end_s()));
      RETURN_IF_ERROR(trace.Add(side.name, scenario, run, &requests));
      continue;
    }
    ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
    RETURN_IF_ERROR(trace.Add(side.name, scenario, run));
  }
  return trace.Finish();
}

absl::StatusOr<ExitCode> CompareScenarios(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<ComparedSide> sides, ReadSides(arguments));
  ASSIGN_OR_RETURN(const std::optional<TraceRequest> trace,
                   ReadTraceRequest(arguments));
  if (trace) RETURN_IF_ERROR(WriteTimelines(arguments, *trace, sides));
  CompareOptions options;
  options.causes = !arguments.Has("no-causes");
  options.run = [&](const ResolvedScenario& scenario) {
    return ReadRunOptions(arguments, scenario);
  };
  Progress progress(arguments);
  options.progress = progress.Listener();
  ASSIGN_OR_RETURN(const pb::Comparison comparison, Compare(sides, options));
  progress.Wipe();
  const auto page = [&] {
    pb::Page made;
    *made.mutable_comparison() = comparison;
    for (const ComparedSide& side : sides) {
      if (side.said) AddSources(*side.said, &made);
    }
    return made;
  };
  ASSIGN_OR_RETURN(const bool print,
                   WriteAnswer(
                       arguments, comparison,
                       [&] { return ComparisonCsv(comparison); }, page));
  return print ? Print(ComparisonText(comparison)) : ExitCode::kDone;
}

}  // namespace

Command CompareCommand() {
  std::vector<Flag> flags = AnswerFlags(TracedRunFlags());
  flags.push_back(
      {.name = "change",
       .value = "PATH=VALUE[;...]",
       .help = "one more side: the first scenario with these settings",
       .repeated = true});
  flags.push_back({.name = "no-causes",
                   .value = "",
                   .help = "do not simulate what each difference does alone"});
  return {
      .name = "compare",
      .operands = "A [B ...]",
      .min_operands = 1,
      .max_operands = kMostSides,
      .summary = "Put answers side by side, and say why they differ.",
      .details =
          "A, B ... are scenarios, or reports that --json wrote. Prints every "
          "number of theirs\nside by side. Each part in which scenarios differ "
          "is applied to the first one by itself\nand simulated. --set holds "
          "for all of them, which\nmust be scenarios then. --trace puts their "
          "timelines into one file, one below the other.\n\n"
          "  orrery compare megatron_175b_full megatron_175b_selective\n"
          "  orrery compare quickstart --change training.micro_batch=2\n"
          "  orrery compare quickstart deep_pipeline --csv -",
      .flags = std::move(flags),
      .run = CompareScenarios};
}

}  // namespace orrery
