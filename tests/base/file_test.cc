#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string TempPath(const std::string& name) {
  return testing::TempDir() + "/orrery_file_test_" + name;
}

int EntriesNamed(const std::string& stem) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::TempDir())) {
    count += entry.path().filename().string().starts_with(stem);
  }
  return count;
}

TEST(File, WhatIsWrittenIsRead) {
  const std::string path = TempPath("round");
  EXPECT_OK(WriteFile(path, "first"));
  EXPECT_OK(WriteFile(path, std::string("sec\0nd", 6)));
  EXPECT_THAT(ReadFile(path), IsOkAndHolds(std::string("sec\0nd", 6)));
  EXPECT_EQ(EntriesNamed("orrery_file_test_round"), 1);
  std::filesystem::remove(path);
}

// As a plain open would make it; an older file is replaced, not changed.
TEST(File, ANewFileHasTheUsualRightsAndLeavesTheOldOneAlone) {
  const std::string path = TempPath("rights"), old = TempPath("rights_old");
  ASSERT_OK(WriteFile(path, "old"));
  std::filesystem::create_hard_link(path, old);
  const mode_t mask = umask(027);
  ASSERT_OK(WriteFile(path, "new"));
  umask(mask);
  EXPECT_THAT(ReadFile(path), IsOkAndHolds("new"));
  EXPECT_THAT(ReadFile(old), IsOkAndHolds("old"));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            static_cast<std::filesystem::perms>(0640));
  std::filesystem::remove(path);
  std::filesystem::remove(old);
  EXPECT_EQ(EntriesNamed("orrery_file_test_rights"), 0);
}

TEST(File, AMissingFileADirectoryAndAGiantAreRefused) {
  EXPECT_THAT(ReadFile(TempPath("missing")),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("No such file or directory")));
  EXPECT_THAT(ReadFile(testing::TempDir()),
              StatusIs(kInvalid, HasSubstr("directory")));
  const std::string path = TempPath("giant");
  ASSERT_OK(WriteFile(path, std::string(2000, 'x')));
  EXPECT_THAT(ReadFile(path, 1000), StatusIs(kInvalid, HasSubstr("larger")));
  // A device without a size is read up to the limit, and no further.
  EXPECT_THAT(ReadFile("/dev/zero", 1000),
              StatusIs(kInvalid, HasSubstr("larger")));
  std::filesystem::remove(path);
}

TEST(File, AFailedWriteLeavesNothingBehind) {
  EXPECT_THAT(WriteFile(TempPath("no_such_dir") + "/x", "text"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot write")));
  EXPECT_THAT(WriteFile(testing::TempDir(), "text"),
              StatusIs(kInvalid, HasSubstr("directory")));
  // /dev/full accepts an open and refuses every byte.
  EXPECT_THAT(WriteFile("/dev/full", "text"),
              StatusIs(kInvalid, HasSubstr("No space left")));
  EXPECT_EQ(EntriesNamed("orrery_file_test_no_such_dir"), 0);
}

}  // namespace
}  // namespace orrery
