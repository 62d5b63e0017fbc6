// orrery sweep under mpirun: the same rows and the same journal as by itself,
// whatever the number of processes and whoever dies.
#include <absl/strings/numbers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "base/random.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// 3 x 3 x 3 x 8 points. Tensor 3 divides no chips, and micro-batches of 3 do
// not divide the batch: five of nine points fail, each in its own way.
constexpr char kStudy[] = R"~(
  name: "ranks"
  scenario: "quickstart"
  axis { path: "system.nodes" value: "2" value: "4" value: "8" }
  axis { path: "training.parallel.tensor" value: "1" value: "3" value: "4" }
  axis { path: "training.parallel.data" expression: "chips / (tensor * 2)" }
  axis { path: "training.micro_batch" value: "1" value: "2" value: "3" }
  axis { path: "training.bucket" range { from: 1 to: 8 step: 1 } unit: "MB" }
  objective { expression: "step_time_s" }
  objective { expression: "memory.peak_bytes" }
  method: $METHOD
)~";

class MpiSweep : public ::testing::Test {
 protected:
  MpiSweep()
      : folder_(::testing::TempDir() + "mpi_" + std::to_string(getpid())) {
    fs::create_directories(folder_);
    // Two processors are enough for the tests, root may run them, and machines
    // need neither a remote shell nor the right to read each other's memory.
    for (const auto& [name, value] :
         {std::pair("OMPI_ALLOW_RUN_AS_ROOT", "1"),
          std::pair("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
          std::pair("OMPI_MCA_rmaps_base_oversubscribe", "1"),
          std::pair("OMPI_MCA_plm", "isolated"),
          std::pair("OMPI_MCA_btl_vader_single_copy_mechanism", "none")}) {
      setenv(name, value, 1);
    }
  }
  ~MpiSweep() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  std::string Write(const std::string& method) const {
    std::string text = kStudy;
    text.replace(text.find("$METHOD"), 7, method);
    const std::string path = Path(method + ".textproto");
    std::ofstream(path) << text;
    return path;
  }
  // With no ranks: by itself. What it printed is in "out" and "err".
  int Run(int ranks, const std::string& arguments) const {
    return WEXITSTATUS(std::system(Line(ranks, arguments).c_str()));
  }
  std::string Line(int ranks, const std::string& arguments) const {
    const std::string start =
        ranks == 0 ? "" : fmt::format("{} -n {} ", MPIEXEC, ranks);
    return fmt::format("timeout 120 {}{} {} >{} 2>{} </dev/null", start,
                       std::getenv("ORRERY_BINARY"), arguments, Path("out"),
                       Path("err"));
  }
  std::string Read(const std::string& name) const {
    return ReadFile(Path(name)).value_or("");
  }

  const std::string folder_;
};

TEST_F(MpiSweep, TwoAndFourRanksGiveTheBytesOfOneProcess) {
  for (const char* method : {"ESTIMATE", "ESTIMATE_THEN_SIMULATE"}) {
    const std::string study = Write(method);
    const auto sweep = [&](int ranks) {
      fs::remove(Path("journal"));
      const int code = Run(
          ranks, fmt::format("sweep {} --journal {} --csv {} --json {}", study,
                             Path("journal"), Path("csv"), Path("json")));
      EXPECT_EQ(code, 0) << Read("err");
      return std::vector<std::string>{Read("out"), Read("journal"), Read("csv"),
                                      Read("json")};
    };
    const auto alone = sweep(0);
    EXPECT_THAT(alone[0], HasSubstr("not a whole number"));
    EXPECT_THAT(alone[0], HasSubstr("216 points"));
    for (const int ranks : {2, 4}) {
      const auto together = sweep(ranks);
      for (size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(together[i], alone[i]) << method << ", " << ranks << " ranks";
      }
    }
  }
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    std::getline(stat, line);
    // "pid (name) state parent ..."; a name may have brackets in it.
    const size_t end = line.rfind(')');
    char state = 0;
    pid_t its_parent = 0;
    if (end != std::string::npos &&
        std::sscanf(line.c_str() + end + 1, " %c %d", &state, &its_parent) ==
            2 &&
        its_parent == parent) {
      children.push_back(pid);
    }
  }
  return children;
}

// The rank that mpirun gave a process.
std::optional<int> RankOf(pid_t pid) {
  constexpr std::string_view kName = "OMPI_COMM_WORLD_RANK=";
  std::ifstream environment(fmt::format("/proc/{}/environ", pid));
  for (std::string word; std::getline(environment, word, '\0');) {
    int rank = 0;
    if (word.starts_with(kName) &&
        absl::SimpleAtoi(word.substr(kName.size()), &rank)) {
      return rank;
    }
  }
  return std::nullopt;
}

// The process of a rank, among what a shell started: timeout, mpirun, ranks.
std::optional<pid_t> FindRank(pid_t shell, int rank) {
  for (const pid_t launcher : ChildrenOf(shell)) {
    for (const pid_t process : ChildrenOf(launcher)) {
      if (RankOf(process) == rank) return process;
    }
  }
  return std::nullopt;
}

// mpirun ends all when one of them dies; the journal has every row that was
// done, and the sweep goes on from it with another number of processes.
TEST_F(MpiSweep, AKilledWorkerLosesAndRepeatsNothing) {
  const std::string study = Write("SIMULATE");
  ASSERT_EQ(Run(0, fmt::format("sweep {} --journal {} --csv {}", study,
                               Path("whole_journal"), Path("whole.csv"))),
            0)
      << Read("err");
  const std::string sweep =
      fmt::format("sweep {} --journal {}", study, Path("journal"));
  Rng rng(11, "kills of ranks");
  int killed = 0;
  for (int round = 0; round < 3; ++round) {
    const std::string line = "exec " + Line(4, sweep);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const int rank = static_cast<int>(1 + rng.Below(3));
    std::optional<pid_t> victim;
    while (!(victim = FindRank(child, rank)) &&
           waitpid(child, nullptr, WNOHANG) == 0 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (!victim) break;  // it was done before
    std::this_thread::sleep_for(std::chrono::milliseconds(rng.Below(400)));
    kill(*victim, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    killed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  EXPECT_GE(killed, 1);
  ASSERT_EQ(Run(2, sweep + " --csv " + Path("csv")), 0) << Read("err");
  EXPECT_EQ(Read("csv"), Read("whole.csv"));
  EXPECT_EQ(Read("journal"), Read("whole_journal"));
}

TEST_F(MpiSweep, AMistakeIsSaidOnceAndEndsAll) {
  EXPECT_EQ(Run(3, "sweep no_such_study"), 2);
  const std::string err = Read("err");
  const size_t first = err.find("no_such_study");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(err.find("orrery: ", err.find("orrery: ") + 1), std::string::npos)
      << err;
  const std::string study = Write("ESTIMATE");
  std::ofstream(Path("journal")) << "# of something else\n";
  EXPECT_EQ(
      Run(3, fmt::format("sweep {} --journal {}", study, Path("journal"))), 2);
  EXPECT_THAT(Read("err"), HasSubstr("is of something else"));
}

}  // namespace
}  // namespace orrery
