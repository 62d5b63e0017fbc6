#include "base/line_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LineLogTest : public ::testing::Test {
 protected:
  LineLogTest() { std::filesystem::remove(path_); }
  ~LineLogTest() override { std::filesystem::remove(path_); }
  const std::string path_ =
      ::testing::TempDir() + "line_log_" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(LineLogTest, GoesOnWhereItWas) {
  {
    auto log = LineLog::Open(path_, "title");
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_THAT(log->lines(), IsEmpty());
    ASSERT_TRUE(log->Append({"one", "two"}).ok());
  }
  auto log = LineLog::Open(path_, "title");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(log->lines(), ElementsAre("one", "two"));
  ASSERT_TRUE(log->Append({"three"}).ok());
  ASSERT_TRUE(log->Sync().ok());
  EXPECT_EQ(*ReadFile(path_), "title\none\ntwo\nthree\n");
}

TEST_F(LineLogTest, CutsATornLine) {
  std::ofstream(path_) << "title\none\ntw";
  auto log = LineLog::Open(path_, "title");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->torn(), 2u);
  EXPECT_THAT(log->lines(), ElementsAre("one"));
  ASSERT_TRUE(log->Append({"two"}).ok());
  EXPECT_EQ(*ReadFile(path_), "title\none\ntwo\n");
}

TEST_F(LineLogTest, BeginsAnewIfTheTitleWasTorn) {
  std::ofstream(path_) << "tit";
  auto log = LineLog::Open(path_, "title");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(*ReadFile(path_), "title\n");
}

TEST_F(LineLogTest, RefusesWhatIsNotItsOwn) {
  std::ofstream(path_) << "another title\none\n";
  const auto log = LineLog::Open(path_, "title");
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(std::string(log.status().message()),
              HasSubstr("is of something else"));
  EXPECT_EQ(*ReadFile(path_), "another title\none\n");
}

TEST_F(LineLogTest, HasOneWriterAtATime) {
  const auto first = LineLog::Open(path_, "title");
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(LineLog::Open(path_, "title").ok());
}

TEST_F(LineLogTest, RefusesWhatIsNoRegularFile) {
  for (const char* path : {"/dev/full", "/dev/zero", "/tmp"}) {
    EXPECT_FALSE(LineLog::Open(path, "title").ok()) << path;
  }
}

// A limit on the size of files stands for a full disk.
TEST_F(LineLogTest, TakesBackWhatDoesNotFit) {
  auto log = LineLog::Open(path_, "title");
  ASSERT_TRUE(log.ok()) << log.status();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small = {10, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status failed = log->Append({"one", "two"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(*ReadFile(path_), "title\n");
  ASSERT_TRUE(log->Append({"one", "two"}).ok());
  EXPECT_EQ(*ReadFile(path_), "title\none\ntwo\n");
}

}  // namespace
}  // namespace orrery
