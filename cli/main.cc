// The `orrery` program: finds the command, runs it, says what went wrong.
#include <absl/strings/str_split.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "cli/commands/commands.h"
#include "cli/print/output.h"
#include "cli/print/version.h"

namespace orrery {
namespace {

std::string Overview(absl::Span<const Command> commands) {
  std::string text =
      "Orrery simulates training and inference of large language models.\n\n"
      "usage: orrery COMMAND [operands] [flags]\n\ncommands:\n";
  for (const Command& command : commands) {
    text += fmt::format("  {:<22} {}\n",
                        fmt::format("{} {}", command.name, command.operands),
                        command.summary);
  }
  return text +
         "\n'orrery COMMAND --help' says more. Exit codes: 0 done; 1 the "
         "answer "
         "is no;\n2 the input is wrong; 3 a bug of Orrery.\n";
}

absl::StatusOr<ExitCode> Run(absl::Span<const std::string> words) {
  const std::vector<Command> commands = AllCommands();
  if (words.empty() || words[0] == "--help" || words[0] == "-h" ||
      (words[0] == "help" && words.size() == 1)) {
    return Print(Overview(commands));
  }
  if (words[0] == "--version" || words[0] == "version") {
    return Print(fmt::format("orrery {}\n", kVersion));
  }
  const bool help = words[0] == "help";
  const std::string& name = words[help ? 1 : 0];
  std::vector<std::string> names;
  for (const Command& command : commands) {
    names.emplace_back(command.name);
    if (command.name != name) continue;
    const absl::Span<const std::string> rest = words.subspan(1);
    for (const std::string& word : rest) {
      if (help || word == "--help" || word == "-h") {
        return Print(HelpText(command));
      }
    }
    ASSIGN_OR_RETURN(const Arguments arguments, ParseArguments(command, rest));
    return command.run(arguments);
  }
  return absl::InvalidArgumentError(
      fmt::format("there is no command '{}'{} ('orrery --help' lists them)",
                  name.substr(0, 80), DidYouMean(name, names)));
}

// A failed CHECK aborts; to the shell that is exit code 3.
extern "C" void OnAbort(int) { _exit(static_cast<int>(ExitCode::kBug)); }

int Main(int argc, char** argv) {
  std::signal(SIGABRT, OnAbort);
  std::signal(SIGPIPE, SIG_IGN);
  // Errors reach the user as ours; the library need not add lines of its own.
  google::protobuf::SetLogHandler(nullptr);
  const std::vector<std::string> words(argv + std::min(1, argc), argv + argc);
  const absl::StatusOr<ExitCode> result = Run(words);
  if (result.ok()) return static_cast<int>(*result);
  const std::vector<std::string> lines =
      absl::StrSplit(result.status().message(), '\n');
  for (const std::string& line : lines) {
    fmt::print(stderr, "orrery: {}\n", line);
  }
  return static_cast<int>(
      absl::IsInternal(result.status()) ? ExitCode::kBug : ExitCode::kBadInput);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) { return orrery::Main(argc, argv); }
