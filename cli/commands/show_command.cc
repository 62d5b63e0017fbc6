// orrery show: the resolved scenario, every default visible.
#include <variant>

#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/flags/scenario.h"
#include "cli/print/json.h"
#include "cli/print/output.h"
#include "cli/print/parameter_text.h"
#include "run/scenario_cost.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

absl::StatusOr<ExitCode> Show(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ResolvedScenario scenario, LoadScenario(arguments));
  // Other commands build it to run; here only a list of links can be wrong.
  const auto listed = [](const auto& tier) {
    return tier && std::holds_alternative<LinkListFabric>(tier->fabric.kind);
  };
  if (listed(scenario.system.scale_up()) ||
      listed(scenario.system.scale_out())) {
    RETURN_IF_ERROR(BuildGraph(scenario.system).status());
  }
  ASSIGN_OR_RETURN(const pb::Scenario shown, WithRates(scenario.proto));
  if (const auto json = arguments.Get("json")) {
    RETURN_IF_ERROR(WriteFile(*json, ToJson(shown)));
    return ExitCode::kDone;
  }
  return Print(fmt::format(
      "# proto-file: proto/scenario.proto\n# proto-message: Scenario\n{}{}",
      ParameterComment(scenario.model), PrintTextproto(shown)));
}

}  // namespace

Command ShowCommand() {
  return {.name = "show",
          .operands = "SCENARIO",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Print the resolved scenario, every default visible.",
          .details =
              "SCENARIO is a preset's name ('orrery list scenarios'), a "
              "file, or - for standard\ninput. The output is a scenario "
              "itself: it resolves to the same again.\n\n"
              "  orrery show quickstart\n"
              "  orrery show quickstart --set "
              "training.parallel.tensor=8 > mine.textproto",
          .flags = {SetFlag(),
                    {.name = "json",
                     .value = "FILE",
                     .help = "write JSON to FILE instead (- is stdout)"}},
          .run = Show};
}

}  // namespace orrery
