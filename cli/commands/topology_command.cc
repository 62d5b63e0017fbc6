// orrery topology: what was built of a system.
#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/resolve.h"
#include "cli/commands/commands.h"
#include "cli/flags/network_flags.h"
#include "cli/flags/scenario.h"
#include "cli/page/answer.h"
#include "cli/print/output.h"
#include "cli/print/topology_text.h"
#include "topology/graph/build.h"
#include "topology/machine/system.h"

namespace orrery {
namespace {

absl::StatusOr<ExitCode> Topology(const Arguments& arguments) {
  if (arguments.Has("json") || arguments.Has("csv")) {
    RETURN_IF_ERROR(RefuseFlags(arguments, {"format", "output"},
                                "--json and --csv, which name their file"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> sets,
                   ReadSystemSets(arguments));
  ASSIGN_OR_RETURN(const pb::System proto,
                   ResolveSystem(Catalog(), arguments.positional()[0], sets));
  if (!proto.has_nodes()) {
    return absl::InvalidArgumentError(fmt::format(
        "topology: {} does not say how many nodes there are; add --nodes 2",
        Excerpt(arguments.positional()[0])));
  }
  ASSIGN_OR_RETURN(const System system, System::FromProto(proto));
  ASSIGN_OR_RETURN(const Graph graph, BuildGraph(system));
  if (arguments.Has("json") || arguments.Has("csv")) {
    RETURN_IF_ERROR(WriteRows(arguments, TopologyJson(graph)).status());
    return ExitCode::kDone;
  }
  const std::string format = arguments.Get("format").value_or("text");
  std::string text;
  if (format == "text") {
    text = TopologyText(system, graph);
  } else if (format == "dot") {
    text = TopologyDot(system, graph);
  } else if (format == "svg") {
    ASSIGN_OR_RETURN(text, TopologySvg(system, graph));
  } else {
    return absl::InvalidArgumentError(fmt::format(
        "--format: must be text, dot or svg, got '{}'", Excerpt(format)));
  }
  if (const auto output = arguments.Get("output")) {
    RETURN_IF_ERROR(WriteFile(*output, text));
    return ExitCode::kDone;
  }
  return Print(text);
}

}  // namespace

Command TopologyCommand() {
  std::vector<Flag> flags = {
      {.name = "nodes",
       .value = "N",
       .help = "how many nodes; needed if SYSTEM does not say"},
      {.name = "format",
       .value = "FORMAT",
       .help = "text, dot (Graphviz) or svg"},
      {.name = "output",
       .value = "FILE",
       .help = "write to FILE instead of standard output"},
      SetFlag()};
  for (const Flag& flag : RowsFlags()) flags.push_back(flag);
  return {.name = "topology",
          .operands = "SYSTEM",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Show what is built of a system: switches, links, ids.",
          .details =
              "Builds the graph of a system and prints its vertices with their "
              "ids, its links by\ntier, its bisection and how a fault names a "
              "link; or draws it.\n\n"
              "  orrery topology dgx_h100_ib400 --nodes 16\n"
              "  orrery topology tpu_v4_pod --nodes 16 --format svg --output "
              "pod.svg\n"
              "  orrery topology dgx_h100_ib400 --nodes 2 --format dot",
          .flags = std::move(flags),
          .run = Topology};
}

}  // namespace orrery
