// Runs the commands that README.md and docs/*.md show, so that what people are
// told to type works, compares the output where it is shown, and looks for the
// files they name.
//
// A command is a line in a code block that starts with `orrery` or
// `scripts/run`, with or without "$ " in front. After a "$ " the following
// lines of the block are its output; a line "..." stands for any number of
// lines.
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/format.h"

namespace orrery {
namespace {

struct Shown {
  std::string file;
  int line;
  std::string command;
  // Lines of output, if the page shows them.
  std::optional<std::vector<std::string>> output;
};

bool IsCommand(absl::string_view line) {
  for (const absl::string_view start : {"orrery", "scripts/run"}) {
    if (line == start || absl::StartsWith(line, fmt::format("{} ", start))) {
      return true;
    }
  }
  return false;
}

std::vector<Shown> CommandsOf(const std::string& file) {
  std::vector<Shown> commands;
  bool fenced = false;
  bool collecting = false;
  int number = 0;
  const std::string text = ReadFile(file).value();
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StartsWith(line, "```")) {
      fenced = !fenced;
      collecting = false;
      continue;
    }
    const bool code = fenced || absl::ConsumePrefix(&line, "    ");
    if (!code) {
      collecting = false;
      continue;
    }
    const bool prompt = absl::ConsumePrefix(&line, "$ ");
    if (IsCommand(line) && (prompt || !collecting)) {
      const absl::string_view command = line.substr(0, line.find("  #"));
      commands.push_back({file, number, std::string(command), {}});
      collecting = prompt;
      if (prompt) commands.back().output.emplace();
    } else if (prompt) {
      collecting = false;
    } else if (collecting) {
      commands.back().output->emplace_back(line);
    }
  }
  return commands;
}

// Whether `actual` is `expected`, where "..." is any number of lines.
bool Matches(absl::Span<const std::string> expected,
             absl::Span<const std::string> actual) {
  if (expected.empty()) return actual.empty();
  if (expected[0] == "...") {
    for (size_t skip = 0; skip <= actual.size(); ++skip) {
      if (Matches(expected.subspan(1), actual.subspan(skip))) return true;
    }
    return false;
  }
  return !actual.empty() && expected[0] == actual[0] &&
         Matches(expected.subspan(1), actual.subspan(1));
}

struct Ran {
  int exit_code;
  std::string output;
};

// In a folder of its own in which the tree's files can be named.
Ran RunShown(const std::string& command, const std::string& folder) {
  std::string words = command;
  if (absl::StartsWith(words, "scripts/run")) {
    words = "orrery" + words.substr(std::string("scripts/run").size());
    if (words == "orrery") words = "orrery simulate quickstart";
  }
  const std::string script = fmt::format(
      "cd '{}' && orrery() {{ \"$ORRERY_BINARY\" \"$@\"; }}; {{ {}; }} 2>&1",
      folder, words);
  FILE* pipe = popen(fmt::format("bash -c '{}'",
                                 [&] {
                                   std::string quoted;
                                   for (const char c : script) {
                                     quoted += c == '\'' ? std::string("'\\''")
                                                         : std::string(1, c);
                                   }
                                   return quoted;
                                 }())
                         .c_str(),
                     "r");
  std::string output;
  char buffer[4096];
  size_t got = 0;
  while ((got = fread(buffer, 1, sizeof buffer, pipe)) > 0) {
    output.append(buffer, got);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, output};
}

std::vector<std::string> Pages() {
  std::vector<std::string> pages = {"README.md"};
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator("docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

std::vector<std::string> Lines(absl::string_view text) {
  text = absl::StripSuffix(text, "\n");
  if (text.empty()) return {};
  return absl::StrSplit(text, '\n');
}

class Docs : public testing::TestWithParam<std::string> {};

TEST_P(Docs, CommandsWorkAsShown) {
  const std::string folder =
      fmt::format("{}/orrery_docs_{}", testing::TempDir(), getpid());
  std::filesystem::create_directory(folder);
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    std::error_code ignored;
    std::filesystem::create_symlink(
        std::filesystem::absolute(entry.path()),
        std::filesystem::path(folder) / entry.path().filename(), ignored);
  }
  for (const Shown& shown : CommandsOf(GetParam())) {
    // Serves until it is interrupted; it has tests of its own.
    if (absl::StrContains(shown.command, "orrery view")) continue;
    SCOPED_TRACE(
        fmt::format("{}:{}: {}", shown.file, shown.line, shown.command));
    const Ran ran = RunShown(shown.command, folder);
    if (!shown.output) {
      EXPECT_EQ(ran.exit_code, 0) << ran.output;
      continue;
    }
    EXPECT_TRUE(Matches(*shown.output, Lines(ran.output)))
        << "the page shows:\n"
        << absl::StrJoin(*shown.output, "\n") << "\nthe program says:\n"
        << ran.output;
  }
  std::filesystem::remove_all(folder);
}

// Paths of the tree that a page names in backticks: `sim/engine`,
// `cli/commands/show_command.cc`.
std::vector<std::string> PathsOf(const std::string& text) {
  constexpr absl::string_view kTops[] = {
      "accuracy", "analytic", "base",   "bench",      "catalog", "cli",
      "cost",     "docs",     "proto",  "run",        "scripts", "sim",
      "tests",    "topology", "traces", "validation", "workload"};
  std::vector<std::string> paths;
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  for (size_t i = 1; i < parts.size(); i += 2) {
    const std::string& word = parts[i];
    const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) ||
             absl::StrContains("_-./", c);
    });
    const std::string top = word.substr(0, word.find('/'));
    if (!plain || top == word) continue;
    if (std::find(std::begin(kTops), std::end(kTops), top) == std::end(kTops)) {
      continue;
    }
    paths.push_back(word);
  }
  return paths;
}

TEST_P(Docs, PathsExist) {
  for (const std::string& path : PathsOf(ReadFile(GetParam()).value())) {
    EXPECT_TRUE(std::filesystem::exists(path))
        << GetParam() << " names " << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, Docs, testing::ValuesIn(Pages()),
                         [](const auto& page) {
                           std::string name =
                               std::filesystem::path(page.param).stem();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace orrery
