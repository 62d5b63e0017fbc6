// orrery collective: one collective over a range of sizes, as nccl-tests
// prints it.
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <optional>
#include <string>
#include <vector>

#include "analytic/collective_bounds.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/network_flags.h"
#include "cli/output.h"
#include "cli/scenario.h"
#include "cli/version.h"
#include "sim/network.h"
#include "sim/run_plans.h"
#include "sim/timeline_collective.h"

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
  ASSIGN_OR_RETURN(const Bytes first, ParseBytes(text.substr(0, dots)));
  Bytes last = first;
  if (dots != std::string::npos) {
    ASSIGN_OR_RETURN(last, ParseBytes(text.substr(dots + 2)));
  }
  if (first < Bytes(1) || last < first || last > Bytes(int64_t{1} << 50)) {
    return absl::InvalidArgumentError(fmt::format(
        "--size '{}': write a size of 1 B to 1 PiB, or a range such as "
        "1KB..16GB",
        text.substr(0, 80)));
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

// What one chip can send, and the least a message takes to arrive.
AlphaBeta PortOf(const Graph& graph, VertexId chip) {
  double bandwidth = 0;
  Duration latency = Duration::max();
  for (LinkId id : graph.leaving(chip)) {
    bandwidth += graph.link(id).bandwidth.value();
    latency = std::min(latency, graph.link(id).latency);
  }
  return {Seconds(ToSeconds(latency)), BytesPerSecond(bandwidth)};
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

std::string Json(absl::Span<const Line> lines, CommunicationKind kind,
                 const System& system, int ranks) {
  std::string text = fmt::format(
      "{{\n  \"system\": {}, \"operation\": {}, \"chips\": {},\n  \"rows\": [",
      JsonString(system.name()), JsonString(std::string(NameOf(kind))), ranks);
  const char* separator = "\n";
  for (const Line& line : lines) {
    const double bandwidth =
        static_cast<double>(line.bytes.value()) / line.seconds / 1e9;
    text += fmt::format(
        "{}    {{\"size_bytes\": {}, \"time_s\": {}, \"algbw_gbps\": {}, "
        "\"busbw_gbps\": {}, \"lower_bound_s\": {}, \"algorithm\": {}, "
        "\"protocol\": {}}}",
        separator, line.bytes.value(), JsonNumber(line.seconds),
        JsonNumber(bandwidth), JsonNumber(bandwidth * BusFactor(kind, ranks)),
        JsonNumber(line.bound), JsonString(line.algorithm),
        JsonString(line.protocol));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

// The trace that --trace asks for, if it does: one call after the other.
class CollectiveTrace {
 public:
  static absl::StatusOr<CollectiveTrace> Open(const Arguments& arguments,
                                              const Network& network,
                                              const System& system) {
    CollectiveTrace trace;
    const auto path = arguments.Get("trace");
    if (!path) return trace;
    ASSIGN_OR_RETURN(PerfettoWriter writer, PerfettoWriter::Create(*path));
    trace.path_ = *path;
    trace.writer_ = std::make_unique<PerfettoWriter>(std::move(writer));
    trace.writer_->AddAttribute("orrery.system", system.name());
    trace.writer_->AddAttribute("orrery.version", std::string(kVersion));
    trace.timeline_.emplace(network, *trace.writer_);
    return trace;
  }

  TransferLog* log() { return timeline_ ? &log_ : nullptr; }

  // Requires: the call was run with log().
  void Add(const CollectiveCall& call, const PlannedCall& planned, Time end) {
    if (!timeline_) return;
    timeline_->Add(call, planned, log_, end);
    log_ = {};
  }

  absl::Status Finish() {
    if (!timeline_) return absl::OkStatus();
    timeline_->Finish();
    RETURN_IF_ERROR(writer_->Finish());
    fmt::print(stderr,
               "orrery: wrote {} slices to {}; 'orrery view {}' shows it\n",
               writer_->slices(), path_, path_);
    return absl::OkStatus();
  }

 private:
  CollectiveTrace() = default;
  std::string path_;
  std::unique_ptr<PerfettoWriter> writer_;
  std::optional<CollectiveTimeline> timeline_;
  TransferLog log_;
};

absl::StatusOr<NetworkOptions> Options(const Arguments& arguments) {
  NetworkOptions options;
  if (const auto name = arguments.Get("fidelity")) {
    ASSIGN_OR_RETURN(options.fidelity, ParseFidelity(*name));
  }
  if (const auto name = arguments.Get("algorithm")) {
    ASSIGN_OR_RETURN(options.algorithm, ParseAlgorithm(*name));
  }
  if (const auto name = arguments.Get("arbitration")) {
    ASSIGN_OR_RETURN(options.arbitration, ParseArbitration(*name));
  }
  options.protocol = arguments.Get("protocol");
  return options;
}

absl::StatusOr<ExitCode> Collective(const Arguments& arguments) {
  if (!arguments.Has("system")) {
    return absl::InvalidArgumentError(
        "--system is missing, e.g. --system dgx_h100_ib400 (orrery list "
        "systems)");
  }
  std::vector<std::string> sets(arguments.All("set").begin(),
                                arguments.All("set").end());
  int nodes = 1;
  if (arguments.Has("nodes")) {
    ASSIGN_OR_RETURN(nodes, ParseCount(arguments, "nodes", kMaxChips));
  }
  sets.push_back(fmt::format("system.nodes={}", nodes));
  ASSIGN_OR_RETURN(const pb::System proto,
                   ResolveSystem(Catalog(), *arguments.Get("system"), sets));
  ASSIGN_OR_RETURN(const System system, System::FromProto(proto));
  ASSIGN_OR_RETURN(const CommunicationKind kind,
                   ParseOperation(arguments.Get("op").value_or("all_reduce")));
  ASSIGN_OR_RETURN(const std::vector<Bytes> sizes,
                   ParseSizes(arguments.Get("size").value_or("1KB..16GB")));
  int ranks = kind == CommunicationKind::kPointToPoint ? 2 : system.chips();
  if (arguments.Has("chips")) {
    ASSIGN_OR_RETURN(ranks, ParseCount(arguments, "chips", system.chips()));
  }
  if (ranks < 2 || ranks > system.chips()) {
    return absl::InvalidArgumentError(
        fmt::format("a collective needs at least two chips; {} has {}",
                    system.name(), system.chips()));
  }
  ASSIGN_OR_RETURN(const NetworkOptions options, Options(arguments));
  ASSIGN_OR_RETURN(Network network, Network::Make(system, options));
  CollectiveCall call = {kind, Bytes(0), {}};
  for (int chip = 0; chip < ranks; ++chip) {
    call.chips.push_back(static_cast<VertexId>(chip));
  }
  // Two chips of a transfer: across nodes if there are several.
  if (kind == CommunicationKind::kPointToPoint && !arguments.Has("chips") &&
      system.nodes() > 1) {
    call.chips[1] = static_cast<VertexId>(system.chips_per_node());
  }
  const AlphaBeta port = PortOf(network.graph(), call.chips[0]);
  ASSIGN_OR_RETURN(CollectiveTrace trace,
                   CollectiveTrace::Open(arguments, network, system));
  std::vector<Line> lines;
  for (Bytes size : sizes) {
    call.bytes = size;
    ASSIGN_OR_RETURN(const PlannedCall planned, network.Plan(call));
    const bool in_network =
        planned.algorithm == CollectiveAlgorithm::kSwitchMulticast ||
        planned.algorithm == CollectiveAlgorithm::kReductionTree;
    const Time end =
        RunPlans(network.resources().capacities(), {{planned.plan, Time{}}},
                 trace.log(), options.arbitration)[0];
    trace.Add(call, planned, end);
    lines.push_back(
        {size, ToSeconds(end),
         CollectiveLowerBound(kind, ranks, size, port, in_network).count(),
         std::string(NameOf(planned.algorithm)), planned.protocol});
  }
  RETURN_IF_ERROR(trace.Finish());
  if (const auto json = arguments.Get("json")) {
    RETURN_IF_ERROR(WriteFile(*json, Json(lines, kind, system, ranks)));
    return ExitCode::kDone;
  }
  return Print(Table(lines, kind, ranks));
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
      .flags = {{.name = "system", .value = "NAME", .help = "preset"},
                {.name = "nodes", .value = "N", .help = "nodes (default 1)"},
                {.name = "chips",
                 .value = "N",
                 .help = "the first N chips (default all)"},
                {.name = "op",
                 .value = "NAME",
                 .help = "all_reduce (default), reduce_scatter, all_gather, "
                         "all_to_all, broadcast, reduce, point_to_point"},
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
                {.name = "arbitration",
                 .value = "NAME",
                 .help = "how contended links are shared: FLOW_FAIR (default) "
                         "or PORT_FAIR"},
                SetFlag(),
                {.name = "trace",
                 .value = "FILE",
                 .help = "write a timeline of the calls, one after the other, "
                         "for the Perfetto UI"},
                {.name = "json",
                 .value = "FILE",
                 .help = "write JSON to FILE instead (- is stdout)"}},
      .run = Collective};
}

}  // namespace orrery
