// orrery validate: predictions against measurements.
#include <absl/strings/str_join.h>

#include <string>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "cli/chip.h"
#include "cli/commands.h"
#include "cli/validate_suites.h"

namespace orrery {
namespace {

struct Suite {
  absl::string_view name;
  absl::StatusOr<ExitCode> (*run)(const Arguments&);
};
constexpr Suite kSuites[] = {
    {"collectives", ValidateCollectives},
    {"kernels", ValidateKernels},
    {"training", ValidateTraining},
};

absl::StatusOr<ExitCode> Validate(const Arguments& arguments) {
  const bool of_kernels =
      !arguments.positional().empty() && arguments.positional()[0] == "kernels";
  if (arguments.Get("library").has_value() && !of_kernels) {
    return absl::InvalidArgumentError(
        "--library is for 'orrery validate kernels'");
  }
  if (arguments.positional().empty()) {
    ExitCode worst = ExitCode::kDone;
    for (const Suite& suite : kSuites) {
      ASSIGN_OR_RETURN(const ExitCode code, suite.run(arguments));
      if (code != ExitCode::kDone) worst = code;
    }
    return worst;
  }
  const std::string& name = arguments.positional()[0];
  std::vector<std::string> names;
  for (const Suite& suite : kSuites) {
    if (suite.name == name) return suite.run(arguments);
    names.emplace_back(suite.name);
  }
  return absl::InvalidArgumentError(
      fmt::format("there is no suite '{}'{} (suites: {})", name.substr(0, 80),
                  DidYouMean(name, names), absl::StrJoin(names, ", ")));
}

}  // namespace

Command ValidateCommand() {
  return {.name = "validate",
          .operands = "[SUITE] [FILE]",
          .min_operands = 0,
          .max_operands = 2,
          .summary = "Hold predictions against measurements.",
          .details =
              "Predicts every row of a table of measurements and prints how "
              "far off it is, per\nchip and kind. FILE is your own table with "
              "the columns of the one that came with\nOrrery (see "
              "validation/README.md): found by name, in any order, others "
              "ignored.\nRows that cannot be read are listed with the reason. "
              "Exit code 1 if a median is\nabove its bar.\n\n"
              "  orrery validate collectives\n"
              "  orrery validate kernels\n"
              "  orrery validate training --rows\n"
              "  orrery validate kernels mine.csv --rows\n"
              "  orrery validate kernels --library hopper_trtllm_2025",
          .flags = {LibraryFlag(),
                    {.name = "rows",
                     .value = "",
                     .help = "print every row, not only the summary"},
                    {.name = "markdown",
                     .value = "",
                     .help = "print the summary as a Markdown table"},
                    {.name = "json",
                     .value = "FILE",
                     .help = "write JSON to FILE instead (- is stdout)"}},
          .run = Validate};
}

}  // namespace orrery
