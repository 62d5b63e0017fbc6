// orrery derive: a chip that nobody has built, from technology.
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/legal.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/flags/number_flags.h"
#include "cli/print/cost_text.h"
#include "cli/print/csv.h"
#include "cli/print/output.h"
#include "run/derived_chip.h"
#include "run/package_report.h"
#include "run/silicon_catalog.h"

namespace orrery {
namespace {

absl::StatusOr<pb::Technology> ReadTechnology(const Arguments& arguments) {
  pb::Technology technology;
  if (const auto process = arguments.Get("process")) {
    technology.set_process(*process);
  }
  if (const auto memory = arguments.Get("hbm")) technology.set_hbm(*memory);
  if (const auto area = arguments.Get("area")) technology.set_area(*area);
  if (const auto power = arguments.Get("power")) technology.set_power(*power);
  Violations wrong;
  const auto count = [&](const char* flag) {
    return static_cast<int>(wrong.Take(
        FieldFlag(arguments, flag, *technology.GetDescriptor(), flag, 0)));
  };
  if (arguments.Has("dies")) technology.set_dies(count("dies"));
  if (arguments.Has("stacks")) technology.set_stacks(count("stacks"));
  if (arguments.Has("links")) technology.set_links(count("links"));
  if (const auto text = arguments.Get("link-share")) {
    double share = 0;
    if (!absl::SimpleAtod(*text, &share)) {
      wrong.Add(
          fmt::format("--link-share: '{}' is not a number; write for "
                      "example 0.1",
                      Excerpt(*text)));
    }
    technology.set_link_share(share);
  }
  if (const auto name = arguments.Get("name")) {
    pb::Chip named;
    named.set_name(*name);
    const absl::Status legal = CheckLegal(named, "");
    if (!legal.ok()) wrong.Add(absl::StrCat("--", legal.message()));
  }
  // A count that could not be read stands as zero and is told already.
  pb::Technology rest = technology;
  rest.clear_dies();
  rest.clear_stacks();
  rest.clear_links();
  wrong.Add(CheckLegal(rest, ""), "derive");
  RETURN_IF_ERROR(wrong.ToStatus());
  return technology;
}

absl::StatusOr<ExitCode> Derive(const Arguments& arguments) {
  if (arguments.Has("package")) {
    RETURN_IF_ERROR(RefuseFlags(arguments, {"name", "output"},
                                "--package, which prints a price and no chip"));
  } else {
    RETURN_IF_ERROR(
        RefuseFlags(arguments, {"csv"}, "a chip, only to --package"));
  }
  const Catalog catalog;
  ASSIGN_OR_RETURN(const pb::Chip base,
                   catalog.Chip(arguments.positional()[0]));
  ASSIGN_OR_RETURN(const pb::Technology technology, ReadTechnology(arguments));
  ASSIGN_OR_RETURN(const SiliconLibrary library, LoadSilicon(catalog, {}));
  auto derived = DeriveFrom(catalog, base, technology, library);
  if (!derived.ok()) return Annotate(derived.status(), "derive");
  if (const auto as = arguments.Get("name")) derived->chip.set_name(*as);
  if (arguments.Has("package")) {
    ASSIGN_OR_RETURN(const pb::PackageResult cost,
                     ReportPackage(derived->package, library));
    if (const auto csv = arguments.Get("csv")) {
      RETURN_IF_ERROR(WriteFile(*csv, FieldsCsv(cost)));
      return ExitCode::kDone;
    }
    return Print(PackageText(cost));
  }
  const std::string text =
      fmt::format("# proto-file: proto/chip.proto\n# proto-message: Chip\n{}",
                  PrintTextproto(derived->chip));
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
                {.name = "link-share",
                 .value = "SHARE",
                 .help = "what links between dies add to the area of each"},
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
                {.name = "csv",
                 .value = "FILE",
                 .help = "write that as CSV to FILE instead (- is stdout)"},
                {.name = "output",
                 .value = "FILE",
                 .help = "write to FILE instead of standard output"}},
      .run = Derive};
}

}  // namespace orrery
