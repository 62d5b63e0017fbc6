#include "tests/cli/run_orrery.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/check.h"
#include "base/file.h"
#include "base/format.h"

namespace orrery {
namespace {

constexpr std::chrono::seconds kPatience(60);

void Redirect(const std::string& path, int flags, int target) {
  const int fd = open(path.c_str(), flags, 0600);
  if (fd < 0 || dup2(fd, target) < 0) _exit(127);
}

}  // namespace

std::string TestFile(const std::string& name) {
  return fmt::format("{}/orrery_{}_{}", testing::TempDir(), getpid(), name);
}

ProgramResult RunOrrery(const std::vector<std::string>& arguments,
                        const std::string& input) {
  const char* binary = std::getenv("ORRERY_BINARY");
  CHECK(binary != nullptr) << "run the tests with ctest or set ORRERY_BINARY";
  const std::string in = TestFile("stdin");
  const std::string out = TestFile("stdout");
  const std::string err = TestFile("stderr");
  // Not WriteFile: waiting for the disk thousands of times is slow.
  std::ofstream(in, std::ios::binary) << input;

  std::vector<char*> argv = {const_cast<char*>(binary)};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);

  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    Redirect(in, O_RDONLY, STDIN_FILENO);
    Redirect(out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    Redirect(err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    execv(binary, argv.data());
    _exit(127);
  }
  ProgramResult result;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  struct rusage usage {};
  while (wait4(pid, &status, WNOHANG, &usage) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(pid, SIGKILL);
      wait4(pid, &status, 0, &usage);
      result.exit_code = ProgramResult::kTimedOut;
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  if (result.exit_code == 0) {
    result.exit_code =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  result.peak_rss_bytes = int64_t{usage.ru_maxrss} * 1024;
  result.out = ReadFile(out, int64_t{1} << 30).value_or("");
  result.err = ReadFile(err, int64_t{1} << 30).value_or("");
  for (const std::string& path : {in, out, err}) unlink(path.c_str());
  return result;
}

}  // namespace orrery
