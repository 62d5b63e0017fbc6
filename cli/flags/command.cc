#include "cli/flags/command.h"

#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "base/excerpt.h"
#include "base/file_writer.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "cli/flags/shell_word.h"

namespace orrery {
namespace {

absl::Status Bad(const Command& command, std::string words) {
  return absl::InvalidArgumentError(fmt::format(
      "{} ('orrery {} --help' shows the usage)", words, command.name));
}

const Flag* FindFlag(const Command& command, absl::string_view name) {
  const auto found =
      std::find_if(command.flags.begin(), command.flags.end(),
                   [&](const Flag& flag) { return flag.name == name; });
  return found == command.flags.end() ? nullptr : &*found;
}

std::string Usage(const Command& command) {
  return fmt::format("orrery {}{}{}{}", command.name,
                     command.operands.empty() ? "" : " ", command.operands,
                     command.flags.empty() ? "" : " [flags]");
}

absl::Status UnknownFlag(const Command& command, absl::string_view name) {
  std::vector<std::string> names;
  for (const Flag& flag : command.flags) {
    names.push_back(fmt::format("--{}", flag.name));
  }
  const std::string typed = fmt::format("--{}", name);
  return Bad(command, fmt::format("'{}' has no flag '{}'{}", command.name,
                                  Excerpt(typed), DidYouMean(typed, names)));
}

// The same file, however it is written. Two may share what is no file.
bool SameFile(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  std::error_code error;
  const auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(
        std::filesystem::absolute(path, error), error);
  };
  const auto first = whole(a);
  if (error) return a == b;
  const auto second = whole(b);
  if (error) return a == b;
  if (std::filesystem::exists(first, error) &&
      !std::filesystem::is_regular_file(first, error)) {
    return false;
  }
  return first == second;
}

// An error if the folder is not there and cannot be made.
absl::Status CheckFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  while (at.has_relative_path() && !std::filesystem::exists(at, error)) {
    at = at.parent_path();
  }
  if (std::filesystem::is_directory(at, error) &&
      access(at.c_str(), W_OK) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("cannot write into '{}': '{}' is not a folder that you may "
                  "write to; name "
                  "another folder",
                  Excerpt(path, 200), Excerpt(at.string(), 200)));
}

// Whatever is written goes to a file of its own, and over nothing that is read.
absl::Status CheckFiles(const Command& command, const Arguments& arguments) {
  std::map<std::string, std::string> written;  // by flag
  Violations unwritable;
  for (const Flag& flag : command.flags) {
    const auto file = arguments.Get(flag.name);
    if (file && flag.value == "FILE") written.emplace(flag.name, *file);
  }
  for (auto one = written.begin(); one != written.end(); ++one) {
    const auto& [flag, file] = *one;
    for (auto other = std::next(one); other != written.end(); ++other) {
      if (!SameFile(file, other->second)) continue;
      return absl::InvalidArgumentError(fmt::format(
          "--{} and --{} both write {}; give each a file of its own", flag,
          other->first,
          file == "-" ? std::string("to standard output")
                      : fmt::format("'{}'", Excerpt(file, 200))));
    }
    for (const std::string& read : arguments.positional()) {
      // Names of presets have neither.
      const bool is_path = read.find_first_of("./") != std::string::npos;
      if (!is_path || file == "-" || !SameFile(file, read)) continue;
      return absl::InvalidArgumentError(
          fmt::format("--{} would write over '{}', which is read", flag,
                      Excerpt(file, 200)));
    }
    // Before any work, which would be lost.
    const bool is_folder =
        flag == "trace" && arguments.Get("trace-format") == "kineto";
    unwritable.Add(is_folder ? CheckFolder(file) : FileWriter::CheckPath(file),
                   absl::StrCat("--", flag));
  }
  return unwritable.ToStatus();
}

}  // namespace

bool Arguments::Has(absl::string_view flag) const {
  return flags_.find(std::string(flag)) != flags_.end();
}

std::optional<std::string> Arguments::Get(absl::string_view flag) const {
  const auto found = flags_.find(std::string(flag));
  if (found == flags_.end()) return std::nullopt;
  return found->second.back();
}

absl::Span<const std::string> Arguments::All(absl::string_view flag) const {
  const auto found = flags_.find(std::string(flag));
  if (found == flags_.end()) return {};
  return found->second;
}

absl::StatusOr<Arguments> ParseArguments(const Command& command,
                                         absl::Span<const std::string> words) {
  Arguments arguments;
  arguments.command_line_ = fmt::format("orrery {}", command.name);
  for (const std::string& word : words) {
    arguments.command_line_ += " " + ShellWord(word);
  }
  bool flags_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (flags_ended || !absl::StartsWith(word, "--")) {
      // "-" is a file: standard input or output.
      if (!flags_ended && word.size() > 1 && word[0] == '-') {
        return Bad(command, fmt::format("flags start with two dashes: '{}'",
                                        Excerpt(word)));
      }
      arguments.positional_.push_back(words[i]);
      continue;
    }
    if (word == "--") {
      flags_ended = true;
      continue;
    }
    word.remove_prefix(2);
    const size_t equals = word.find('=');
    const absl::string_view name = word.substr(0, equals);
    const Flag* flag = FindFlag(command, name);
    if (flag == nullptr) return UnknownFlag(command, name);
    std::vector<std::string>& values = arguments.flags_[std::string(name)];
    if (!values.empty() && !flag->repeated) {
      return Bad(command, fmt::format("--{} is given twice", name));
    }
    if (flag->value.empty()) {
      if (equals != absl::string_view::npos) {
        return Bad(command, fmt::format("--{} takes no value", name));
      }
      values.emplace_back();
    } else if (equals != absl::string_view::npos) {
      values.emplace_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      values.push_back(words[++i]);
    } else {
      return Bad(command, fmt::format("--{} needs {}", name, flag->value));
    }
    if (!flag->value.empty() && values.back().empty()) {
      return Bad(command, fmt::format("--{} needs {}, and got an empty one",
                                      name, flag->value));
    }
  }
  if (absl::c_linear_search(arguments.positional_, "")) {
    return Bad(command, fmt::format("'{}' needs {}, and got an empty one",
                                    command.name, command.operands));
  }
  if (arguments.positional_.size() < command.min_operands) {
    return Bad(command,
               fmt::format("'{}' needs {}", command.name, command.operands));
  }
  if (arguments.positional_.size() > command.max_operands) {
    return Bad(
        command,
        fmt::format("'{}' does not know what to do with '{}'", command.name,
                    Excerpt(arguments.positional_[command.max_operands])));
  }
  RETURN_IF_ERROR(CheckFiles(command, arguments));
  return arguments;
}

absl::Status RefuseFlags(const Arguments& arguments,
                         absl::Span<const absl::string_view> flags,
                         absl::string_view where) {
  for (const absl::string_view flag : flags) {
    if (!arguments.Has(flag)) continue;
    return absl::InvalidArgumentError(
        fmt::format("--{} does not apply to {}; leave it out", flag, where));
  }
  return absl::OkStatus();
}

std::string HelpText(const Command& command) {
  std::string text =
      fmt::format("{}\n\nusage: {}\n", command.summary, Usage(command));
  if (!command.details.empty()) {
    text += fmt::format("\n{}\n", absl::StripSuffix(command.details, "\n"));
  }
  if (command.flags.empty()) return text;
  text += "\nflags:\n";
  for (const Flag& flag : command.flags) {
    const std::string left = fmt::format(
        "--{}{}{}", flag.name, flag.value.empty() ? "" : " ", flag.value);
    text += fmt::format("  {:<24} {}{}\n", left, flag.help,
                        flag.repeated ? " (repeatable)" : "");
  }
  return text;
}

}  // namespace orrery
