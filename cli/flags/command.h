#pragma once
// Commands of the `orrery` program, their flags and their exit codes.
//
// A command is a row of a table: a name, what it takes, what it says of itself
// in --help, and a function from parsed arguments to an exit code. Flags are
// declared, so that a wrong one is refused with the nearest right one, and
// --help can never disagree with what is parsed.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

enum class ExitCode {
  kDone = 0,
  kNo = 1,        // negative result: outside a bound, does not fit
  kBadInput = 2,  // invalid input
  kBug = 3        // internal error
};

struct Flag {
  absl::string_view name;   // without dashes
  absl::string_view value;  // what --help calls its value; "" for a switch
  absl::string_view help;
  bool repeated = false;
};

// What the user typed, after the command's name.
class Arguments {
 public:
  const std::vector<std::string>& positional() const { return positional_; }
  bool Has(absl::string_view flag) const;
  // The value, or nothing if the flag was not given.
  std::optional<std::string> Get(absl::string_view flag) const;
  // Every value of a repeated flag, in order.
  absl::Span<const std::string> All(absl::string_view flag) const;
  // "orrery simulate quickstart --set 'a=b c'": what to type to get this again.
  const std::string& command_line() const { return command_line_; }

 private:
  friend absl::StatusOr<Arguments> ParseArguments(
      const struct Command& command, absl::Span<const std::string> words);
  std::string command_line_;
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>, std::less<>> flags_;
};

struct Command {
  absl::string_view name;
  absl::string_view operands;  // "SCENARIO", "[KIND]"
  size_t min_operands;
  size_t max_operands;
  absl::string_view summary;
  // A paragraph or two for --help, examples included.
  absl::string_view details;
  std::vector<Flag> flags;
  absl::StatusOr<ExitCode> (*run)(const Arguments&);
};

// Flags are --name value, --name=value, or --name for a switch; "--" ends them.
// The error says what was expected instead.
absl::StatusOr<Arguments> ParseArguments(const Command& command,
                                         absl::Span<const std::string> words);

// An error that names the first of these flags that was given: "--rows does not
// apply to --json". `where` is what they have no meaning for.
absl::Status RefuseFlags(const Arguments& arguments,
                         absl::Span<const absl::string_view> flags,
                         absl::string_view where);

// What `orrery COMMAND --help` prints.
std::string HelpText(const Command& command);

}  // namespace orrery
