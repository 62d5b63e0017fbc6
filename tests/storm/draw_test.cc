#include "tests/storm/draw.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

// Of 23 presets each gets about a 23rd of the cases.
TEST(DrawName, APresetThatIsAddedLeavesTheOtherCasesAsTheyWere) {
  std::vector<std::string> names;
  for (int i = 0; i < 22; ++i) names.push_back(fmt::format("system_{}", i));
  std::vector<std::string> more = names;
  more.insert(more.begin() + 7, "new");
  constexpr int kCases = 2300;
  int taken = 0;
  for (int number = 0; number < kCases; ++number) {
    const std::string before = DrawName(78, "system", number, names);
    const std::string after = DrawName(78, "system", number, more);
    taken += after == "new" ? 1 : 0;
    if (after == "new") continue;
    EXPECT_EQ(before, after) << number;
  }
  EXPECT_GT(taken, 60);
  EXPECT_LT(taken, 140);
}

TEST(DrawName, TheOrderOfNamesIsOfNoMatter) {
  std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  std::vector<std::string> drawn;
  for (int i = 0; i < 50; ++i) drawn.push_back(DrawName(1, "model", i, names));
  std::reverse(names.begin(), names.end());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(drawn[static_cast<size_t>(i)], DrawName(1, "model", i, names));
  }
  for (const std::string& name : names) {
    EXPECT_GT(std::count(drawn.begin(), drawn.end(), name), 0) << name;
  }
}

}  // namespace
}  // namespace orrery
