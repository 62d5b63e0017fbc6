// orrery derive: a chip that nobody has built, from technology.
#include <algorithm>

#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/flags/number_flags.h"
#include "cli/print/cost_text.h"
#include "cli/print/output.h"
#include "cost/silicon/technology.h"
#include "run/package_report.h"
#include "run/silicon_catalog.h"
#include "topology/machine/chip.h"

namespace orrery {
namespace {

// The package that says what the chip is made of.
absl::StatusOr<pb::Package> PackageOf(const Catalog& catalog,
                                      const std::string& chip) {
  for (const std::string& name : catalog.Names("packages")) {
    ASSIGN_OR_RETURN(pb::Package package, catalog.Package(name));
    if (package.chip() == chip) return package;
  }
  return absl::InvalidArgumentError(fmt::format(
      "derive: chip '{}' has no package that says what it is made of; those "
      "of 'orrery list packages' have",
      chip));
}

absl::StatusOr<ExitCode> Derive(const Arguments& arguments) {
  const Catalog catalog;
  const std::string& name = arguments.positional()[0];
  ASSIGN_OR_RETURN(const pb::Chip base, catalog.Chip(name));
  ASSIGN_OR_RETURN(const pb::Package package, PackageOf(catalog, name));
  ASSIGN_OR_RETURN(const SiliconLibrary library, LoadSilicon(catalog, {}));
  ASSIGN_OR_RETURN(TechnologyBudget budget, BudgetOf(base, package));
  if (const auto process = arguments.Get("process")) budget.process = *process;
  if (const auto memory = arguments.Get("hbm")) budget.memory = *memory;
  if (const auto area = arguments.Get("area")) {
    ASSIGN_OR_RETURN(budget.area, ParseSquareMillimetres(*area));
  }
  if (const auto power = arguments.Get("power")) {
    ASSIGN_OR_RETURN(budget.power, ParseWatts(*power));
  }
  ASSIGN_OR_RETURN(const int64_t dies,
                   CountFlag(arguments, "dies", budget.dies));
  ASSIGN_OR_RETURN(const int64_t stacks,
                   CountFlag(arguments, "stacks", budget.stacks));
  constexpr int64_t kMost = 64;
  if (dies > kMost || stacks > kMost) {
    return absl::InvalidArgumentError(
        fmt::format("--dies, --stacks: must be 1 .. {}", kMost));
  }
  budget.dies = static_cast<int>(dies);
  budget.stacks = static_cast<int>(stacks);
  if (arguments.Has("links")) {
    ASSIGN_OR_RETURN(const int64_t links, CountFlag(arguments, "links", {}));
    budget.links = static_cast<int>(std::min<int64_t>(links, 100000));
  }
  ASSIGN_OR_RETURN(pb::Chip chip, DeriveChip(base, package, budget, library));
  if (const auto as = arguments.Get("name")) chip.set_name(*as);
  RETURN_IF_ERROR(Chip::FromProto(chip).status());
  if (arguments.Has("package")) {
    ASSIGN_OR_RETURN(
        const pb::PackageResult cost,
        ReportPackage(DerivePackage(package, budget, library), library));
    return Print(PackageText(cost));
  }
  const std::string text =
      fmt::format("# proto-file: proto/chip.proto\n# proto-message: Chip\n{}",
                  PrintTextproto(chip));
  if (const auto output = arguments.Get("output")) {
    RETURN_IF_ERROR(WriteFile(*output, text));
    return ExitCode::kDone;
  }
  return Print(text);
}

}  // namespace

Command DeriveCommand() {
  return {
      .name = "derive",
      .operands = "CHIP",
      .min_operands = 1,
      .max_operands = 1,
      .summary = "A chip of another process, area, power and memory.",
      .details =
          "Takes the architecture of CHIP and a budget, and prints the "
          "chip that follows, with\nits provenance: an ordinary chip for a "
          "scenario's system { chip { ... } }. What is\nnot said is as in "
          "CHIP.\n\n"
          "  orrery derive b200_sxm --process n3 --dies 2 --stacks 8 "
          "--power '1.2 kW'\n"
          "  orrery derive h100_sxm --process n3 --hbm HBM4 --package",
      .flags = {{.name = "process",
                 .value = "NAME",
                 .help = "a preset of 'orrery list processes'"},
                {.name = "dies", .value = "N", .help = "compute dies"},
                {.name = "area",
                 .value = "AREA",
                 .help = "of one compute die: '800 mm2'"},
                {.name = "stacks", .value = "N", .help = "memory stacks"},
                {.name = "hbm",
                 .value = "KIND",
                 .help = "HBM2E, HBM3, HBM3E or HBM4"},
                {.name = "power",
                 .value = "POWER",
                 .help = "of the chip: '1.2 kW'"},
                {.name = "links", .value = "N", .help = "links between chips"},
                {.name = "name", .value = "NAME", .help = "of the new chip"},
                {.name = "package",
                 .value = "",
                 .help = "print what it costs to make instead"},
                {.name = "output",
                 .value = "FILE",
                 .help = "write to FILE instead of standard output"}},
      .run = Derive};
}

}  // namespace orrery
