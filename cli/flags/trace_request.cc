#include "cli/flags/trace_request.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "cli/flags/run_flags.h"

namespace orrery {
namespace {

constexpr size_t kMostRanges = 1000;

absl::Status Bad(absl::string_view flag, const std::string& value,
                 absl::string_view expected) {
  return absl::InvalidArgumentError(
      fmt::format("--{}: '{}' is not {}", flag, Excerpt(value), expected));
}

absl::StatusOr<std::vector<std::pair<int32_t, int32_t>>> ParseRanges(
    const std::string& text) {
  std::vector<std::pair<int32_t, int32_t>> ranges;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    int32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first) || first < 0) {
      return Bad("trace-ranks", text, "a list such as 0,8-15");
    }
    last = first;
    if (part.find('-') != absl::string_view::npos &&
        (!absl::SimpleAtoi(ends.second, &last) || last < first)) {
      return Bad("trace-ranks", text, "a list such as 0,8-15");
    }
    ranges.emplace_back(first, last);
    if (ranges.size() > kMostRanges) {
      return Bad("trace-ranks", text, "a list of at most 1000 ranges");
    }
  }
  return ranges;
}

absl::Status ParseWindow(const std::string& text, TraceRequest& request) {
  constexpr absl::string_view kExpected = "a window such as 10ms:25ms";
  const std::vector<std::string> ends = absl::StrSplit(text, ':');
  if (ends.size() != 2) return Bad("trace-window", text, kExpected);
  const auto from = ParseDuration(ends[0]), to = ParseDuration(ends[1]);
  if (!from.ok() || !to.ok() || *from >= *to) {
    return Bad("trace-window", text, kExpected);
  }
  request.from = Time(*from);
  request.to = Time(*to);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTracePath(const Arguments& arguments) {
  const auto trace = arguments.Get("trace");
  if (!trace) return absl::OkStatus();
  if (trace->empty() || *trace == "-") {
    return absl::InvalidArgumentError(
        "--trace: a trace is binary and goes to a file of its own, not to "
        "standard output");
  }
  return absl::OkStatus();
}

std::vector<Flag> TraceFlags() {
  return {{.name = "trace",
           .value = "FILE",
           .help = "write a timeline for the Perfetto UI ('orrery view FILE')"},
          {.name = "trace-format",
           .value = "NAME",
           .help = "perfetto, or kineto: FILE is then a folder, a file per "
                   "rank"},
          {.name = "trace-ranks",
           .value = "LIST",
           .help = "ranks to show, e.g. 0,8-15 (default: one per role)"},
          {.name = "trace-window",
           .value = "FROM:TO",
           .help = "part of the step to show, e.g. 10ms:25ms"},
          {.name = "trace-detail",
           .value = "LEVEL",
           .help = "step, layer or op (default)"}};
}

std::vector<Flag> TracedRunFlags() {
  std::vector<Flag> flags = RunFlags();
  for (const Flag& flag : TraceFlags()) flags.push_back(flag);
  return flags;
}

absl::StatusOr<std::optional<TraceRequest>> ReadTraceRequest(
    const Arguments& arguments) {
  if (!arguments.Has("trace")) {
    for (const Flag& flag : TraceFlags()) {
      if (!arguments.Has(flag.name)) continue;
      return absl::InvalidArgumentError(
          fmt::format("--{} needs --trace FILE", flag.name));
    }
    return std::optional<TraceRequest>();
  }
  TraceRequest request;
  request.path = *arguments.Get("trace");
  RETURN_IF_ERROR(CheckTracePath(arguments));
  const std::string format = arguments.Get("trace-format").value_or("perfetto");
  if (format != "perfetto" && format != "kineto") {
    return Bad("trace-format", format, "perfetto or kineto");
  }
  request.format =
      format == "kineto" ? TraceFormat::kKineto : TraceFormat::kPerfetto;
  if (const auto ranks = arguments.Get("trace-ranks")) {
    ASSIGN_OR_RETURN(request.ranks, ParseRanges(*ranks));
  }
  if (const auto window = arguments.Get("trace-window")) {
    RETURN_IF_ERROR(ParseWindow(*window, request));
  }
  const std::string detail = arguments.Get("trace-detail").value_or("op");
  if (detail == "step") {
    request.detail = TimelineDetail::kStep;
  } else if (detail == "layer") {
    request.detail = TimelineDetail::kLayer;
  } else if (detail != "op") {
    return Bad("trace-detail", detail, "step, layer or op");
  }
  return std::optional<TraceRequest>(std::move(request));
}

absl::StatusOr<TimelineOptions> OptionsFor(const TraceRequest& request,
                                           const Program& program) {
  TimelineOptions options = {.ranks = OneRankPerRole(program),
                             .from = request.from,
                             .to = request.to,
                             .detail = request.detail};
  if (!request.ranks) return options;
  options.ranks.clear();
  int64_t all = 0;
  for (const ProgramRank& rank : program.ranks()) all += rank.multiplicity;
  for (const auto& [first, last] : *request.ranks) {
    if (last >= all) {
      return absl::InvalidArgumentError(
          fmt::format("--trace-ranks: there is no rank {}; they are 0 to {}",
                      last, all - 1));
    }
    bool found = false;
    for (const RankId rank : program.ranks().ids()) {
      const int32_t number = program.ranks()[rank].number;
      if (number < first || number > last) continue;
      options.ranks.push_back(rank);
      found = true;
    }
    if (found) continue;
    std::vector<int32_t> known;
    for (const RankId rank : program.ranks().ids()) {
      if (known.size() < 16) known.push_back(program.ranks()[rank].number);
    }
    return absl::InvalidArgumentError(fmt::format(
        "--trace-ranks: no rank from {} to {} is simulated; these are: {}{} "
        "(--fold=off simulates every rank)",
        first, last, fmt::join(known, ", "),
        known.size() < program.ranks().size() ? ", ..." : ""));
  }
  std::sort(options.ranks.begin(), options.ranks.end());
  options.ranks.erase(std::unique(options.ranks.begin(), options.ranks.end()),
                      options.ranks.end());
  return options;
}

}  // namespace orrery
