#include "base/excerpt.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace {

TEST(Excerpt, IsOneLine) {
  EXPECT_EQ(Excerpt("fa3"), "fa3");
  EXPECT_EQ(Excerpt("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Excerpt("\x1B[31m"), "\\x1B[31m");
  EXPECT_EQ(Excerpt(std::string("a\0b", 3)), "a\\x00b");
}

TEST(Excerpt, IsOfWholeCharacters) {
  EXPECT_EQ(Excerpt(std::string(200, 'x')), std::string(80, 'x'));
  // Two bytes each: the third does not fit into five.
  EXPECT_EQ(Excerpt("\xCE\xBC\xCE\xBC\xCE\xBC", 5), "\xCE\xBC\xCE\xBC");
  EXPECT_EQ(Excerpt("\xFFok"), "\\xFFok");
}

}  // namespace
}  // namespace orrery
