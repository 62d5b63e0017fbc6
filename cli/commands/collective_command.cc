// orrery collective: one collective over a range of sizes, as nccl-tests
// prints it.
#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "analytic/collective/collective_bounds.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/nearest.h"
#include "catalog/resolve.h"
#include "cli/commands/collective_trace.h"
#include "cli/commands/commands.h"
#include "cli/flags/expert_flags.h"
#include "cli/flags/memory_budget.h"
#include "cli/flags/network_flags.h"
#include "cli/flags/trace_request.h"
#include "cli/page/answer.h"
#include "cli/print/json.h"
#include "cli/print/output.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "sim/network/run_plans.h"
#include "topology/traffic/nccl_tests.h"

namespace orrery {
namespace {

constexpr int kMostSizes = 64;

struct Line {
  Bytes bytes;
  double seconds;
  double bound;
  std::string algorithm;
  std::string protocol;
};

// "64MB" or "1KB..16GB": one size, or doubling from the first to the second.
absl::StatusOr<std::vector<Bytes>> ParseSizes(const std::string& text) {
  const size_t dots = text.find("..");
  const auto read = [](const std::string& size) -> absl::StatusOr<Bytes> {
    absl::StatusOr<Bytes> bytes = ParseBytes(size);
    if (!bytes.ok()) return Annotate(bytes.status(), "--size");
    return bytes;
  };
  ASSIGN_OR_RETURN(const Bytes first, read(text.substr(0, dots)));
  Bytes last = first;
  if (dots != std::string::npos) {
    ASSIGN_OR_RETURN(last, read(text.substr(dots + 2)));
  }
  if (first < Bytes(1) || last < first || last > Bytes(int64_t{1} << 50)) {
    return absl::InvalidArgumentError(fmt::format(
        "--size '{}': write a size of 1 B to 1 PiB, or a range such as "
        "1KB..16GB",
        Excerpt(text)));
  }
  std::vector<Bytes> sizes;
  for (Bytes size = first; size <= last && sizes.size() < kMostSizes;
       size = size * 2) {
    sizes.push_back(size);
  }
  return sizes;
}

absl::StatusOr<int> ParseCount(const Arguments& arguments,
                               const std::string& flag, int most) {
  const std::string text = *arguments.Get(flag);
  int count = 0;
  if (!absl::SimpleAtoi(text, &count) || count < 1 || count > most) {
    return absl::InvalidArgumentError(
        fmt::format("--{} '{}': write a whole number from 1 to {}", flag,
                    text.substr(0, 40), most));
  }
  return count;
}

std::string Table(absl::Span<const Line> lines, CommunicationKind kind,
                  int ranks) {
  std::string text =
      fmt::format("{:>14} {:>12} {:>10} {:>10} {:>12}  {}\n", "bytes",
                  "time us", "algbw", "busbw", "bound us", "algorithm");
  for (const Line& line : lines) {
    const double bandwidth =
        static_cast<double>(line.bytes.value()) / line.seconds / 1e9;
    text +=
        fmt::format("{:>14} {:>12.2f} {:>10.2f} {:>10.2f} {:>12.2f}  {}/{}\n",
                    line.bytes.value(), line.seconds * 1e6, bandwidth,
                    bandwidth * BusFactor(kind, ranks), line.bound * 1e6,
                    line.algorithm, line.protocol);
  }
  return text;
}

std::string Json(absl::Span<const Line> lines, const std::string& op,
                 CommunicationKind kind, const System& system, int ranks) {
  std::string text = fmt::format(
      "{{\n  \"system\": {}, \"operation\": {}, \"chips\": {},\n  \"rows\": [",
      JsonString(system.name()),
      JsonString(IsExpertExchange(op) ? op : std::string(NameOf(kind))), ranks);
  const char* separator = "\n";
  for (const Line& line : lines) {
    const double bandwidth =
        static_cast<double>(line.bytes.value()) / line.seconds / 1e9;
    text += fmt::format(
        "{}    {{\"size_bytes\": {}, \"time_s\": {}, \"algbw_gbps\": {}, "
        "\"busbw_gbps\": {}, \"lower_bound_s\": {}, \"algorithm\": {}, "
        "\"protocol\": {}}}",
        separator, line.bytes.value(), JsonNumberText(line.seconds),
        JsonNumberText(bandwidth),
        JsonNumberText(bandwidth * BusFactor(kind, ranks)),
        JsonNumberText(line.bound), JsonString(line.algorithm),
        JsonString(line.protocol));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

absl::Status CheckProtocol(const std::optional<std::string>& asked,
                           const System& system) {
  if (!asked) return absl::OkStatus();
  std::vector<std::string> names;
  for (const Protocol& protocol : system.collectives().protocols) {
    if (!absl::c_linear_search(names, protocol.name)) {
      names.push_back(protocol.name);
    }
  }
  if (absl::c_linear_search(names, *asked)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "--protocol: there is no protocol '{}'{} (protocols of {}: {})",
      Excerpt(*asked), DidYouMean(*asked, names), system.name(),
      absl::StrJoin(names, ", ")));
}

// A call as it may be run, and what plans it.
struct Way {
  CollectiveCall call;
  CallPlanner planner;
};
struct PlannedWay {
  const CollectiveCall* call;
  PlannedCall planned;
};

// Requires: at least one way.
absl::StatusOr<PlannedWay> Cheapest(Bytes size, std::deque<Way>& ways) {
  std::optional<PlannedWay> best;
  for (Way& way : ways) {
    way.call.bytes = size;
    ASSIGN_OR_RETURN(PlannedCall planned, way.planner.Plan(way.call));
    if (best && best->planned.solo <= planned.solo) continue;
    best.emplace(PlannedWay{&way.call, std::move(planned)});
  }
  return *std::move(best);
}

absl::StatusOr<ExitCode> Collective(const Arguments& arguments) {
  if (!arguments.Has("system")) {
    return absl::InvalidArgumentError(
        "--system is missing, e.g. --system dgx_h100_ib400 (orrery list "
        "systems)");
  }
  for (const std::string& set : arguments.All("set")) {
    if (absl::StartsWith(set, "system.")) continue;
    return absl::InvalidArgumentError(fmt::format(
        "--set {}: a collective depends on fields of the system alone, e.g. "
        "system.scale_out.fabric.routing=ECMP",
        Excerpt(set)));
  }
  Violations wrong;
  const std::vector<std::string> sets = wrong.Take(ReadSystemSets(arguments));
  pb::System proto =
      wrong.Take(ResolveSystem(Catalog(), *arguments.Get("system"), sets));
  const std::string op = arguments.Get("op").value_or("all_reduce");
  CommunicationKind kind = CommunicationKind::kAllToAll;
  if (!IsExpertExchange(op)) {
    kind = wrong.Take(ParseOperation(op, kExpertExchanges));
  }
  const std::vector<Bytes> sizes =
      wrong.Take(ParseSizes(arguments.Get("size").value_or("1KB..16GB")));
  PlannerOptions options;
  if (const auto name = arguments.Get("fidelity")) {
    options.fidelity = wrong.Take(ParseFidelity(*name));
  }
  if (const auto name = arguments.Get("algorithm")) {
    options.algorithm = wrong.Take(ParseAlgorithm(*name));
  }
  wrong.Add(ReadMemoryBudget(arguments).status());
  RETURN_IF_ERROR(wrong.ToStatus());
  if (!proto.has_nodes()) proto.set_nodes(1);
  ASSIGN_OR_RETURN(const System system, System::FromProto(proto));
  int ranks = kind == CommunicationKind::kPointToPoint ? 2 : system.chips();
  if (arguments.Has("chips")) {
    ASSIGN_OR_RETURN(ranks, ParseCount(arguments, "chips", system.chips()));
  }
  if (ranks < 2 || ranks > system.chips()) {
    return absl::InvalidArgumentError(
        fmt::format("a collective needs at least two chips; {} has {}",
                    system.name(), system.chips()));
  }
  ASSIGN_OR_RETURN(const std::vector<ExpertExchange> exchanges,
                   ReadExpertExchanges(arguments, ranks));
  options.protocol = arguments.Get("protocol");
  RETURN_IF_ERROR(CheckProtocol(options.protocol, system));
  RETURN_IF_ERROR(CheckTracePath(arguments));
  ASSIGN_OR_RETURN(const Network network, Network::Make(system));
  CollectiveCall call = {kind, Bytes(0), {}};
  for (int chip = 0; chip < ranks; ++chip) {
    call.chips.push_back(static_cast<VertexId>(chip));
  }
  // Two chips of a transfer: across nodes if there are several.
  if (kind == CommunicationKind::kPointToPoint && !arguments.Has("chips") &&
      system.nodes() > 1) {
    call.chips[1] = static_cast<VertexId>(system.chips_per_node());
  }
  ASSIGN_OR_RETURN(
      CollectiveTrace trace,
      CollectiveTrace::Open(arguments.Get("trace"), network, system.name()));
  // A planner knows one traffic of tokens.
  std::deque<Way> ways;
  for (const ExpertExchange& exchange : exchanges) {
    Way& way = ways.emplace_back(Way{call, CallPlanner(network, options)});
    way.call.shape = exchange.shape;
    way.call.traffic = &exchange.traffic;
  }
  if (ways.empty()) ways.push_back({call, CallPlanner(network, options)});
  std::vector<Line> lines;
  for (Bytes size : sizes) {
    ASSIGN_OR_RETURN(const PlannedWay best, Cheapest(size, ways));
    const CollectiveCall& call = *best.call;
    const PlannedCall& planned = best.planned;
    const Time end = RunPlans(network.resources().capacities(),
                              {{planned.plan, Time{}}}, trace.log())[0];
    if (IsBeyondTime(end.time_since_epoch())) {
      return absl::OutOfRangeError(fmt::format(
          "{} of {} takes longer than the {:.0f} s that can be simulated: look "
          "for a bandwidth or a latency that is far off",
          op, ToText(size, 4), kMaxSeconds));
    }
    trace.Add(call, planned, end);
    const Seconds bound =
        call.traffic != nullptr
            ? ExpertLowerBound(*call.traffic, size, network.graph(), call.chips)
            : CollectiveLowerBound(kind, size, network.graph(), call.chips,
                                   ReducesInNetwork(planned.algorithm));
    lines.push_back({size, ToSeconds(end), bound.count(),
                     std::string(NameOf(planned.algorithm)), planned.protocol});
  }
  RETURN_IF_ERROR(trace.Finish());
  ASSIGN_OR_RETURN(
      const bool print,
      WriteRows(arguments, Json(lines, op, kind, system, ranks), "rows"));
  return print ? Print(Table(lines, kind, ranks)) : ExitCode::kDone;
}

std::vector<Flag> CollectiveFlags() {
  std::vector<Flag> flags = {
      {.name = "system", .value = "NAME", .help = "a system preset or file"},
      {.name = "nodes",
       .value = "N",
       .help = "nodes (default: those of the system, or 1)"},
      {.name = "chips",
       .value = "N",
       .help = "the first N chips (default all)"},
      {.name = "op",
       .value = "NAME",
       .help = "all_reduce (default), reduce_scatter, all_gather, "
               "all_to_all, moe_dispatch, moe_combine, broadcast, "
               "reduce, point_to_point"},
      {.name = "size",
       .value = "SIZE[..SIZE]",
       .help = "one size, or doubling from the first to the second"},
      {.name = "algorithm",
       .value = "NAME",
       .help = "force an algorithm, e.g. ring"},
      {.name = "protocol",
       .value = "NAME",
       .help = "force a protocol of the system, e.g. LL"},
      {.name = "fidelity",
       .value = "NAME",
       .help = "CLOSED_FORM, FLUID (default) or STEPPED"},
      {.name = "set",
       .value = "PATH=VALUE",
       .help = "override a field of the system, e.g. "
               "system.scale_out.fabric.routing=ECMP",
       .repeated = true},
      {.name = "trace",
       .value = "FILE",
       .help = "write a timeline of the calls, one after the other, "
               "for the Perfetto UI"},
      MemoryFlag()};
  for (const Flag& flag : RowsFlags()) flags.push_back(flag);
  const std::vector<Flag> experts = ExpertFlags();
  flags.insert(flags.end(), experts.begin(), experts.end());
  return flags;
}

}  // namespace

Command CollectiveCommand() {
  return {
      .name = "collective",
      .operands = "",
      .min_operands = 0,
      .max_operands = 0,
      .summary = "Time one collective over a range of sizes.",
      .details =
          "Prints size, time, algorithm and bus bandwidth in GB/s as "
          "nccl-tests "
          "defines them,\nthe algorithm and protocol chosen, and a lower bound "
          "no algorithm can beat.\n\n"
          "  orrery collective --system dgx_h100_ib400 --nodes 4 --op "
          "all_reduce --size 1KB..16GB\n"
          "  orrery collective --system dgx_h100_ib400 --op all_to_all --chips "
          "4 --size 64MB\n"
          "  orrery collective --system dgx_h100_ib400 --size 1MB --fidelity "
          "STEPPED --trace ring.pftrace",
      .flags = CollectiveFlags(),
      .run = Collective};
}

}  // namespace orrery
