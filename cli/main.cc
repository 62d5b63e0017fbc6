// The `orrery` program: finds the command, runs it, says what went wrong.
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <string>
#include <vector>

#include "base/excerpt.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "cli/commands/commands.h"
#include "cli/flags/memory_budget.h"
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
         "\n'orrery COMMAND --help' says more. Exit codes: 0 done; "
         "1 negative result;\n2 invalid input; 3 internal error.\n";
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
    // Commands tell a wrong --memory beside other wrong flags.
    const absl::StatusOr<Bytes> budget = ReadMemoryBudget(arguments);
    if (budget.ok()) HoldMemory(*budget);
    ASSIGN_OR_RETURN(const ExitCode code, command.run(arguments));
    RETURN_IF_ERROR(budget.status());
    return code;
  }
  return absl::InvalidArgumentError(
      fmt::format("there is no command '{}'{} ('orrery --help' lists them)",
                  Excerpt(name), DidYouMean(name, names)));
}

// A failed CHECK aborts; to the shell that is exit code 3.
extern "C" void OnAbort(int) { _exit(static_cast<int>(ExitCode::kBug)); }

// Nothing is left of the budget. Words that need no memory.
void OnOutOfMemory() {
  constexpr char kWords[] =
      "orrery: this needs more memory than it may take (--memory SIZE, by "
      "default half of the machine's): fewer ranks or micro-batches, --kernels "
      "merged, no --trace, or a larger --memory\n";
  [[maybe_unused]] const ssize_t told =
      write(STDERR_FILENO, kWords, sizeof kWords - 1);
  _exit(static_cast<int>(ExitCode::kBadInput));
}

// A file that is opened must not become standard output or error because
// somebody closed those. What goes to a closed standard output fails.
void OccupyStandardFiles() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int opened =
        open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != fd) dup2(opened, fd);
  }
}

int Main(int argc, char** argv) {
  OccupyStandardFiles();
  std::set_new_handler(OnOutOfMemory);
  std::signal(SIGABRT, OnAbort);
  // A write that cannot be done fails and is told; it does not end the program.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  // Errors reach the user as ours; the library need not add lines of its own.
  google::protobuf::SetLogHandler(nullptr);
  const std::vector<std::string> words(argv + std::min(1, argc), argv + argc);
  const absl::StatusOr<ExitCode> result = Run(words);
  if (result.ok()) return static_cast<int>(*result);
  // `orrery list | head -1`: as if the signal had ended it, without a word.
  if (absl::IsCancelled(result.status())) return 128 + SIGPIPE;
  const std::vector<std::string> lines =
      absl::StrSplit(result.status().message(), '\n');
  for (const std::string& line : lines) Say(line);
  return static_cast<int>(
      absl::IsInternal(result.status()) ? ExitCode::kBug : ExitCode::kBadInput);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) { return orrery::Main(argc, argv); }
