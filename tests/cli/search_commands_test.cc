// tune and sweep as a user types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/random.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

// 8 x 5 x 3 x 2 = 240 points, in journal entries of 8.
constexpr char kStudy[] = R"~(
  name: "kill"
  scenario: "quickstart"
  axis { path: "training.bucket"
         value: "1 MB" value: "2 MB" value: "3 MB" value: "4 MB"
         value: "5 MB" value: "6 MB" value: "7 MB" value: "8 MB" }
  axis { path: "system.nodes" range { from: 4 to: 8 step: 1 } }
  axis { path: "training.parallel.tensor" value: "1" value: "2" value: "4" }
  axis { path: "training.parallel.data" expression: "chips / (tensor * 2)"
}
  axis { path: "training.sharding" value: "ZERO_0" value: "ZERO_1" }
  objective { expression: "step_time_s" }
  method: SIMULATE
)~";

class SearchCommands : public ::testing::Test {
 protected:
  SearchCommands()
      : folder_(::testing::TempDir() + "search_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/study.textproto") << kStudy;
  }
  ~SearchCommands() override { std::filesystem::remove_all(folder_); }
  const std::string folder_;
};

TEST_F(SearchCommands, AKilledSweepLosesAndRepeatsNothing) {
  const std::string study = folder_ + "/study.textproto";
  const std::string whole = folder_ + "/whole.csv";
  const std::string resumed = folder_ + "/resumed.csv";
  const std::string journal = folder_ + "/journal";
  ASSERT_EQ(RunOrrery({"sweep", study, "--csv", whole}).exit_code, 0);
  Rng rng(7, "kills");
  for (int kill_number = 0; kill_number < 6; ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string binary = std::getenv("ORRERY_BINARY");
      close(1);
      close(2);
      execl(binary.c_str(), "orrery", "sweep", study.c_str(), "--journal",
            journal.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + rng.Below(200)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  ASSERT_EQ(RunOrrery({"sweep", study, "--journal", journal, "--csv", resumed})
                .exit_code,
            0);
  EXPECT_EQ(*ReadFile(whole), *ReadFile(resumed));
}

TEST_F(SearchCommands, AJournalOfAnotherStudyIsRefused) {
  const std::string study = folder_ + "/study.textproto";
  const std::string journal = folder_ + "/journal";
  std::ofstream(journal) << "# orrery sweep 0000000000000000 point\n0\n";
  const auto run = RunOrrery({"sweep", study, "--journal", journal});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("is of something else"));
}

TEST_F(SearchCommands, AWrongStudyIsExplained) {
  std::ofstream(folder_ + "/wrong.textproto") << R"~(
    axis { path: "training.parallel.tensor" }
    axis { path: "training.micro_batch" range { from: 4 to: 1 step: 1 } }
    axis { path: "training.parallel.data" expression: "chips / (" }
    constraint: "mfu >"
  )~";
  const auto run = RunOrrery({"sweep", folder_ + "/wrong.textproto"});
  EXPECT_EQ(run.exit_code, 2);
  for (const char* line :
       {"scenario: is missing", "axis[0]: has exactly one of",
        "axis[1]: a range has from <= to", "axis[2].expression",
        "constraint[0]"}) {
    EXPECT_THAT(run.err, HasSubstr(line));
  }
}

TEST_F(SearchCommands, TuneNamesWhatMayBeKept) {
  const auto run = RunOrrery({"tune", "quickstart", "--keep", "tensr"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("tensor, context, pipeline"));
}

TEST_F(SearchCommands, TuneBeatsOrKeepsThePlan) {
  const auto run =
      RunOrrery({"tune", "quickstart", "--simulate", "2", "--json", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"against_said\""));
}

}  // namespace
}  // namespace orrery
