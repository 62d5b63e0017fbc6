#include "run/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/status_matchers.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double Value(std::string_view text) {
  const auto expression = Expression::Parse(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  const auto value =
      expression->Evaluate([](std::string_view name) -> std::optional<double> {
        if (name == "chips") return 64;
        if (name == "a.b") return 3;
        return std::nullopt;
      });
  EXPECT_TRUE(value.ok()) << value.status();
  return *value;
}

TEST(Expression, BindsAsInArithmetic) {
  EXPECT_EQ(Value("1 + 2 * 3"), 7);
  EXPECT_EQ(Value("(1 + 2) * 3"), 9);
  EXPECT_EQ(Value("8 - 4 - 2"), 2);
  EXPECT_EQ(Value("-2 * -3"), 6);
  EXPECT_EQ(Value("chips / (4 * 2) % 5"), 3);
  EXPECT_EQ(Value("1 + 1 == 2 and not 3 < 2 or 0"), 1);
  EXPECT_EQ(Value("min(max(1, a.b), floor(2.7)) + ceil(0.1) + log2(chips)"), 9);
}

TEST(Expression, ComparesInEveryDirection) {
  EXPECT_EQ(Value("2 < 3"), 1);
  EXPECT_EQ(Value("2 > 3"), 0);
  EXPECT_EQ(Value("3 >= 3"), 1);
  EXPECT_EQ(Value("3 <= 2"), 0);
  EXPECT_EQ(Value("3 != 2"), 1);
}

TEST(Expression, KnowsTheNamesItUses) {
  const auto expression = Expression::Parse("b + a * b");
  ASSERT_TRUE(expression.ok());
  EXPECT_THAT(expression->names(), ElementsAre("b", "a"));
}

TEST(Expression, SaysWhereItIsWrong) {
  for (const char* text :
       {"", "1 +", "(1", "1 2", "2x", "sin(1)", "min(1)", "and", "a b"}) {
    const auto expression = Expression::Parse(text);
    ASSERT_FALSE(expression.ok()) << text;
    EXPECT_THAT(std::string(expression.status().message()),
                HasSubstr("expected"))
        << text;
  }
}

// Every construct that contains another, alone and in turn, far past what a
// stack holds: refused in a short line. What merely is long is read.
TEST(Expression, NoTextOverflowsTheStack) {
  for (const char* opener : {"-", "- ", "not ", "(", "1 + (", "a - ---(",
                             "log2(", "min(1, ", "max(", "-(", "not -min("}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += opener;
    const auto expression = Expression::Parse(text + "1");
    ASSERT_FALSE(expression.ok()) << opener;
    EXPECT_LT(expression.status().message().size(), 400u) << opener;
  }
  EXPECT_EQ(Value(std::string(40, '-') + "1"), 1);
  std::string sum = "1";
  for (int i = 0; i < 200'000; ++i) sum += " + 1";
  EXPECT_EQ(Value(sum), 200'001);
  EXPECT_EQ(Value("(" + sum + ") - (" + sum + ")"), 0);
}

TEST(Expression, IsAnErrorWhereItIsNoNumber) {
  const auto none = [](std::string_view) -> std::optional<double> {
    return std::nullopt;
  };
  EXPECT_FALSE(Expression::Parse("1 / 0")->Evaluate(none).ok());
  EXPECT_FALSE(Expression::Parse("log2(0)")->Evaluate(none).ok());
  EXPECT_FALSE(Expression::Parse("unknown")->Evaluate(none).ok());
}

}  // namespace
}  // namespace orrery
