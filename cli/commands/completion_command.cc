// orrery completion, orrery man: the commands for shells and for man.
#include <absl/strings/match.h>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "cli/commands/commands.h"
#include "cli/print/completion.h"
#include "cli/print/output.h"
#include "cli/print/version.h"

namespace orrery {
namespace {

// Presets, by what the command calls its operand.
std::vector<std::string> NamesFor(absl::string_view operands) {
  constexpr std::pair<absl::string_view, absl::string_view> kKinds[] = {
      {"SCENARIO", "scenarios"},
      {"A [B", "scenarios"},
      {"STUDY", "studies"},
      {"SYSTEM", "systems"},
      {"CHIP", "chips"}};
  for (const auto& [word, kind] : kKinds) {
    if (absl::StrContains(operands, word)) {
      return Catalog().Names(std::string(kind));
    }
  }
  return {};
}

absl::StatusOr<ExitCode> Complete(const Arguments& arguments) {
  const std::string& shell = arguments.positional()[0];
  const std::vector<Command> commands = AllCommands();
  if (shell == "bash") return Print(BashCompletion(commands, NamesFor));
  if (shell == "zsh") return Print(ZshCompletion(commands, NamesFor));
  if (shell == "fish") return Print(FishCompletion(commands, NamesFor));
  return absl::InvalidArgumentError(
      fmt::format("completion: there is none for '{}' (bash, zsh, fish)",
                  shell.substr(0, 40)));
}

absl::StatusOr<ExitCode> Manual(const Arguments&) {
  return Print(ManualPage(AllCommands(), kVersion));
}

}  // namespace

Command CompletionCommand() {
  return {.name = "completion",
          .operands = "SHELL",
          .min_operands = 1,
          .max_operands = 1,
          .summary = "Print a script that completes commands in a shell.",
          .details =
              "SHELL is bash, zsh or fish. Commands, flags and presets are "
              "those of this program.\n\n"
              "  eval \"$(orrery completion bash)\"\n"
              "  orrery completion zsh > _orrery\n"
              "  orrery completion fish > orrery.fish",
          .flags = {},
          .run = Complete};
}

Command ManCommand() {
  return {.name = "man",
          .operands = "",
          .min_operands = 0,
          .max_operands = 0,
          .summary = "Print the manual page.",
          .details =
              "What --help says of every command, for man.\n\n"
              "  orrery man | man -l -",
          .flags = {},
          .run = Manual};
}

}  // namespace orrery
