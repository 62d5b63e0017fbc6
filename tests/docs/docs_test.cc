// Runs the commands that README.md and docs/*.md show, so that what people are
// told to type works, compares the output where it is shown, and looks for the
// files they name.
//
// A command is a line in a code block that starts with `orrery` or
// `scripts/run`, with or without "$ " in front. After a "$ " the following
// lines of the block are its output; a line "..." stands for any number of
// lines.
//
// A figure in a sentence says which command prints it:
//
//   <!-- figure: orrery validate cost => (\d+) rows -->655<!-- end -->
//
// After => stands a regular expression; its first group is the figure, searched
// for in the whole output. "=> dense models #2" is the second number of the
// line that begins with "dense models".
//
// With ORRERY_REFRESH_DOCS set the pages are rewritten with what the commands
// print today (scripts/refresh_docs).
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
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/format.h"

namespace orrery {
namespace {

struct Shown {
  std::string file;
  int line;
  std::string command;
  // In front of each line: four spaces outside of fences.
  std::string indent;
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
    const bool indented = !fenced && absl::ConsumePrefix(&line, "    ");
    if (!fenced && !indented) {
      collecting = false;
      continue;
    }
    const bool prompt = absl::ConsumePrefix(&line, "$ ");
    if (IsCommand(line) && (prompt || !collecting)) {
      const absl::string_view command = line.substr(0, line.find("  #"));
      commands.push_back(
          {file, number, std::string(command), indented ? "    " : "", {}});
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

// The words in front of the numbers of a line.
absl::string_view LabelOf(absl::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == absl::string_view::npos) return line;
  return line.substr(0, line.find("  ", begin));
}

// `expected` with the lines that `actual` has in their place: as many at the
// beginning and at the end, and between "..." as many from the first line with
// the same label on.
std::vector<std::string> Refreshed(const std::vector<std::string>& expected,
                                   const std::vector<std::string>& actual) {
  if (Matches(expected, actual)) return expected;
  const auto is_gap = [](const std::string& line) { return line == "..."; };
  if (std::none_of(expected.begin(), expected.end(), is_gap)) return actual;
  std::vector<std::string> lines;
  size_t next = 0;
  for (auto begin = expected.begin(); begin != expected.end();) {
    if (is_gap(*begin)) {
      lines.push_back(*begin++);
      continue;
    }
    const auto end = std::find_if(begin, expected.end(), is_gap);
    const auto count = static_cast<size_t>(end - begin);
    if (end == expected.end()) {
      next = std::max(next, actual.size() - std::min(actual.size(), count));
    } else if (begin != expected.begin()) {
      const auto found =
          std::find_if(actual.begin() + static_cast<std::ptrdiff_t>(next),
                       actual.end(), [&](const std::string& line) {
                         return LabelOf(line) == LabelOf(*begin);
                       });
      if (found != actual.end()) {
        next = static_cast<size_t>(found - actual.begin());
      }
    }
    for (size_t i = 0; i < count && next < actual.size(); ++i) {
      lines.push_back(actual[next++]);
    }
    begin = end;
  }
  return lines;
}

// Puts `lines` where the page shows the output of a command now.
void Rewrite(const Shown& shown, const std::vector<std::string>& lines) {
  std::vector<std::string> page =
      absl::StrSplit(ReadFile(shown.file).value(), '\n');
  const auto first = page.begin() + shown.line;
  const auto old = static_cast<std::ptrdiff_t>(shown.output->size());
  std::vector<std::string> indented;
  for (const std::string& line : lines) {
    indented.push_back(line.empty() ? line : shown.indent + line);
  }
  page.insert(page.erase(first, first + old), indented.begin(), indented.end());
  ASSERT_TRUE(WriteFile(shown.file, absl::StrJoin(page, "\n")).ok());
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

// "<!-- figure: COMMAND => PATTERN -->SHOWN<!-- end -->".
struct Figure {
  std::string command;
  std::string pattern;
  std::string shown;
  size_t begin = 0;  // of what is shown, in the page
};

const std::string kFigure = "<!-- figure: ";
const std::string kFigureShown = " -->";
const std::string kFigureEnd = "<!-- end -->";

std::vector<Figure> FiguresOf(const std::string& text) {
  std::vector<Figure> figures;
  size_t at = 0;
  while ((at = text.find(kFigure, at)) != std::string::npos) {
    at += kFigure.size();
    const size_t arrow = text.find(" => ", at);
    const size_t shown = text.find(kFigureShown, at);
    const size_t end = text.find(kFigureEnd, at);
    if (arrow == std::string::npos || shown == std::string::npos ||
        end == std::string::npos || arrow > shown || shown > end) {
      ADD_FAILURE() << "a figure without => or end: " << text.substr(at, 80);
      break;
    }
    const size_t begin = shown + kFigureShown.size();
    figures.push_back({.command = text.substr(at, arrow - at),
                       .pattern = text.substr(arrow + 4, shown - arrow - 4),
                       .shown = text.substr(begin, end - begin),
                       .begin = begin});
    at = end;
  }
  return figures;
}

// "dense models #2" as a regular expression.
std::regex PatternOf(const std::string& text) {
  const size_t at = text.rfind(" #");
  if (at == std::string::npos) return std::regex(text);
  std::string pattern = "(?:^|\n) *" + text.substr(0, at);
  const std::string number = "[-+]?[0-9.]+(?: %)?";
  for (int i = std::stoi(text.substr(at + 2)); i > 1; --i) {
    pattern += " +" + number;
  }
  return std::regex(pattern + " +(" + number + ")");
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

// A new folder in which the tree's files can be named.
std::string MakeFolder() {
  const std::string folder =
      fmt::format("{}/orrery_docs_{}", testing::TempDir(), getpid());
  std::filesystem::create_directory(folder);
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    std::error_code ignored;
    std::filesystem::create_symlink(
        std::filesystem::absolute(entry.path()),
        std::filesystem::path(folder) / entry.path().filename(), ignored);
  }
  return folder;
}

TEST_P(Docs, FiguresAreWhatCommandsPrint) {
  std::string text = ReadFile(GetParam()).value();
  const std::vector<Figure> figures = FiguresOf(text);
  const std::string folder = MakeFolder();
  std::map<std::string, std::string> outputs;
  std::vector<std::string> now;
  for (const Figure& figure : figures) {
    SCOPED_TRACE(fmt::format("{} => {}", figure.command, figure.pattern));
    const auto [output, is_new] = outputs.try_emplace(figure.command);
    if (is_new) output->second = RunShown(figure.command, folder).output;
    std::smatch match;
    const bool found =
        std::regex_search(output->second, match, PatternOf(figure.pattern));
    EXPECT_TRUE(found && match.size() == 2) << output->second;
    now.push_back(found && match.size() == 2 ? match[1].str() : figure.shown);
    if (std::getenv("ORRERY_REFRESH_DOCS") != nullptr) continue;
    EXPECT_EQ(figure.shown, now.back()) << "run scripts/refresh_docs";
  }
  std::filesystem::remove_all(folder);
  if (std::getenv("ORRERY_REFRESH_DOCS") == nullptr) return;
  // From the last to the first: what stands before one that is rewritten stays.
  for (size_t i = figures.size(); i-- > 0;) {
    text.replace(figures[i].begin, figures[i].shown.size(), now[i]);
  }
  ASSERT_TRUE(WriteFile(GetParam(), text).ok());
}

// Where accuracy is told in sentences, each share in them is printed by a
// command: none can become stale unseen.
TEST(DocsFigures, SharesInAccuracyProseAreMarked) {
  for (const char* page : {"README.md", "docs/accuracy.md"}) {
    std::string text = ReadFile(page).value();
    const std::vector<Figure> figures = FiguresOf(text);
    for (size_t i = figures.size(); i-- > 0;) {
      text.erase(figures[i].begin, figures[i].shown.size());
    }
    bool fenced = false;
    int number = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      if (absl::StartsWith(line, "```")) fenced = !fenced;
      if (fenced || absl::StartsWith(line, "    ")) continue;
      const std::string words(line);
      std::smatch share;
      const bool unmarked =
          std::regex_search(words, share, std::regex("[0-9.]+ %"));
      // What a comment asks for is a pattern and no figure.
      EXPECT_TRUE(!unmarked || absl::StrContains(words, kFigure))
          << page << ":" << number << ": '" << share.str()
          << "' is not marked as a figure";
    }
  }
}

TEST_P(Docs, CommandsWorkAsShown) {
  const std::string folder = MakeFolder();
  std::vector<std::pair<Shown, std::vector<std::string>>> refreshed;
  for (const Shown& shown : CommandsOf(GetParam())) {
    // Serves until it is interrupted; it has tests of its own.
    if (absl::StrContains(shown.command, "orrery view")) continue;
    SCOPED_TRACE(
        fmt::format("{}:{}: {}", shown.file, shown.line, shown.command));
    const Ran ran = RunShown(shown.command, folder);
    if (!shown.output) {
      // A missed bar is an answer.
      const int most = absl::StrContains(shown.command, " validate") ? 1 : 0;
      EXPECT_LE(ran.exit_code, most) << ran.output;
      continue;
    }
    if (std::getenv("ORRERY_REFRESH_DOCS") != nullptr) {
      refreshed.emplace_back(shown,
                             Refreshed(*shown.output, Lines(ran.output)));
      continue;
    }
    EXPECT_TRUE(Matches(*shown.output, Lines(ran.output)))
        << "run scripts/refresh_docs; the page shows:\n"
        << absl::StrJoin(*shown.output, "\n") << "\nthe program says:\n"
        << ran.output;
  }
  std::filesystem::remove_all(folder);
  // From the last to the first: lines before one that is rewritten stay.
  std::reverse(refreshed.begin(), refreshed.end());
  for (const auto& [shown, lines] : refreshed) Rewrite(shown, lines);
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
