#include "tests/traces/trace_processor.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace orrery {
namespace {

std::string ProcessorPath() {
  const char* path = std::getenv("ORRERY_TRACE_PROCESSOR");
  return path == nullptr ? "" : path;
}

// What a shell command prints, and whether it succeeded.
std::pair<std::string, bool> Run(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {"", false};
  std::string output;
  char buffer[4096];
  size_t size;
  while ((size = fread(buffer, 1, sizeof buffer, pipe)) > 0) {
    output.append(buffer, size);
  }
  return {output, pclose(pipe) == 0};
}

SqlTable ReadTable(std::istream& in) {
  std::string line;
  std::getline(in, line);
  SqlTable table(line.empty() ? 0 : std::stoul(line));
  for (auto& row : table) {
    std::getline(in, line);
    row = absl::StrSplit(line, '\t');
  }
  return table;
}

}  // namespace

bool HasTraceProcessor() {
  return std::filesystem::exists(ProcessorPath()) &&
         Run("node --version 2>/dev/null").second;
}

TraceAnswers Ask(const std::string& trace,
                 const std::vector<std::string>& statements) {
  const std::string sql = fmt::format("{}.{}.sql", trace, getpid());
  {
    std::ofstream file(sql);
    for (const std::string& statement : statements) file << statement << '\n';
  }
  // Without the optimising compiler: it would cost more than it saves.
  const auto [output, succeeded] = Run(
      fmt::format("node --liftoff-only tests/traces/ask.mjs '{}' '{}' < '{}'",
                  ProcessorPath(), trace, sql));
  std::filesystem::remove(sql);
  EXPECT_TRUE(succeeded) << "the trace processor rejects " << trace;
  std::istringstream in(output);
  TraceAnswers answers;
  for (const auto& row : ReadTable(in)) answers.problems.push_back(row[0]);
  for (size_t i = 0; i < statements.size(); ++i) {
    answers.tables.push_back(ReadTable(in));
  }
  return answers;
}

}  // namespace orrery
