#pragma once
// Runs the `orrery` program as a user would, and keeps what it said.
#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

struct ProgramResult {
  // The exit code, or 128 + the signal that ended it, or kTimedOut.
  int exit_code = 0;
  std::string out;
  std::string err;
  int64_t peak_rss_bytes = 0;

  static constexpr int kTimedOut = 1000;
};

// `input` goes to standard input. A run of more than a minute is killed.
ProgramResult RunOrrery(const std::vector<std::string>& arguments,
                        const std::string& input = "");

// A path for a file of this test process; nothing is there yet.
std::string TestFile(const std::string& name);

}  // namespace orrery
