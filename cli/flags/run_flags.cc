#include "cli/flags/run_flags.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "cli/flags/memory_budget.h"
#include "cli/flags/network_flags.h"

namespace orrery {

Flag PhaseFlag() {
  return {.name = "phase",
          .value = "decode|prefill",
          .help =
              "inference: the decode step in the middle of the output, or "
              "the prefill"};
}

Flag ProgressFlag() {
  return {.name = "progress",
          .value = "",
          .help = "show progress even if standard error is not a terminal"};
}

std::vector<Flag> RunFlags() {
  return {SetFlag(),
          {.name = "json",
           .value = "FILE",
           .help = "write the report as JSON (- is stdout, without table)"},
          {.name = "fidelity",
           .value = "NAME",
           .help = "network: CLOSED_FORM, FLUID or STEPPED"},
          {.name = "fold",
           .value = "auto|nearly|off",
           .help = "one rank for all that do the same: where that is exact, "
                   "also where near, never"},
          {.name = "kernels",
           .value = "each|merged",
           .help = "every kernel by itself, or merged between communication"},
          MemoryFlag(),
          ProgressFlag()};
}

absl::StatusOr<RunOptions> ReadRunOptions(const Arguments& arguments,
                                          const ResolvedScenario& scenario) {
  RunOptions options;
  const std::string set =
      pb::Network::Fidelity_Name(scenario.proto.network().fidelity());
  const std::string name =
      arguments.Get("fidelity")
          .value_or(scenario.proto.network().has_fidelity() ? set : "FLUID");
  Violations wrong;
  options.fidelity = wrong.Take(ParseFidelity(name));
  const std::string fold = arguments.Get("fold").value_or("auto");
  if (fold != "auto" && fold != "nearly" && fold != "off") {
    wrong.Add(fmt::format("--fold: '{}' is none of auto, nearly, off",
                          Excerpt(fold)));
  }
  options.fold = fold != "off";
  options.fold_nearly = fold == "nearly";
  const std::string kernels = arguments.Get("kernels").value_or("each");
  if (kernels != "each" && kernels != "merged") {
    wrong.Add(fmt::format("--kernels: '{}' is neither each nor merged",
                          Excerpt(kernels)));
  }
  options.detail = kernels == "each";
  options.memory = wrong.Take(ReadMemoryBudget(arguments));
  RETURN_IF_ERROR(wrong.ToStatus());
  if (!options.detail && scenario.inference() != nullptr) {
    return absl::InvalidArgumentError(
        "--kernels merged: the host of an inference engine starts kernels one "
        "by one; leave it at each");
  }
  if (!options.detail && (arguments.Has("trace") || arguments.Has("html"))) {
    return absl::InvalidArgumentError(
        "--kernels merged: a timeline and a page show every kernel; leave it "
        "at "
        "each, or leave out --trace and --html");
  }
  if (const auto phase = arguments.Get("phase")) {
    if (scenario.inference() == nullptr) {
      return absl::InvalidArgumentError(
          "--phase is for inference scenarios; this one trains");
    }
    if (*phase != "prefill" && *phase != "decode") {
      return absl::InvalidArgumentError(
          fmt::format("--phase: '{}' is neither prefill nor decode", *phase));
    }
    options.part = *phase == "prefill" ? InferencePart::kPrefill
                                       : InferencePart::kDecodeStep;
  }
  return options;
}

}  // namespace orrery
