#include "cli/print/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace orrery {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

// What was written to a file so far.
std::string Written(std::FILE* file) {
  std::string text(static_cast<size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

TEST(Progress, RewritesOneLineAndTakesItAway) {
  std::FILE* file = std::tmpfile();
  {
    Progress progress(
        true,
        {.silence = milliseconds(0), .between = milliseconds(0), .to = file});
    progress.Tell("planning transfers", 0);
    progress.Tell("simulating", 0.5);
  }
  const std::string text = Written(file);
  EXPECT_THAT(text, MatchesRegex("\rplanning transfers\rsimulating: 50 %, "
                                 "[0-9]+ s left *\r *\r"));
  EXPECT_THAT(text, testing::Not(HasSubstr("\n")));
  std::fclose(file);
}

// Work that tells nothing once it has begun: the line comes all the same.
TEST(Progress, ComesWithoutBeingTold) {
  std::FILE* file = std::tmpfile();
  {
    Progress progress(true, {.silence = milliseconds(1),
                             .between = milliseconds(1),
                             .looks = milliseconds(1),
                             .to = file});
    // The first look is after the silence; however long it takes to come.
    progress.Tell("simulating better machines", 0);
    while (std::ftell(file) == 0) std::this_thread::yield();
  }
  EXPECT_THAT(Written(file), HasSubstr("simulating better machines"));
  std::fclose(file);
}

TEST(Progress, IsSilentAtFirstAndWhereNobodyLooks) {
  std::FILE* file = std::tmpfile();
  {
    Progress early(true, {.silence = milliseconds(60'000), .to = file});
    early.Tell("simulating", 0.5);
    Progress hidden(
        false,
        {.silence = milliseconds(0), .between = milliseconds(0), .to = file});
    hidden.Tell("simulating", 0.5);
    EXPECT_FALSE(hidden.Listener());
  }
  EXPECT_THAT(Written(file), IsEmpty());
  std::fclose(file);
}

}  // namespace
}  // namespace orrery
