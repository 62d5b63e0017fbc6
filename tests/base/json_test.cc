#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json_string.h"
#include "base/random.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

absl::Status Verdict(const std::string& text) {
  return ParseJson(text).status();
}
auto Refused(const std::string& words) {
  return StatusIs(StatusCode::kInvalidArgument, HasSubstr(words));
}

TEST(Json, ReadsEveryKindOfValue) {
  ASSERT_OK_AND_ASSIGN(const JsonValue value, ParseJson(R"( {
    "null": null, "yes": true, "no": false, "text": "a\tb",
    "list": [1, [], {}], "object": {"inner": -2.5e-1}
  } )"));
  EXPECT_TRUE(value.Find("null")->is_null());
  EXPECT_TRUE(*value.Find("yes")->boolean());
  EXPECT_FALSE(*value.Find("no")->boolean());
  EXPECT_EQ(*value.Find("text")->string(), "a\tb");
  EXPECT_EQ(value.Find("list")->array()->size(), 3u);
  EXPECT_EQ(value.Find("object")->Find("inner")->number()->value, -0.25);
  EXPECT_EQ(value.Find("absent"), nullptr);
  EXPECT_EQ(value.Find("text")->Find("absent"), nullptr);
  EXPECT_EQ(value.Find("text")->number(), nullptr);
}

TEST(Json, WholeNumbersAreExact) {
  const auto integer = [](const std::string& text) {
    return ParseJson(text)->number()->integer;
  };
  EXPECT_EQ(integer("0"), 0);
  EXPECT_EQ(integer("-7"), -7);
  EXPECT_EQ(integer("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(integer("1e3"), 1000);
  EXPECT_EQ(integer("2.50e1"), 25);
  EXPECT_EQ(integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(integer("0.5"), std::nullopt);
  EXPECT_EQ(integer("1e300"), std::nullopt);
}

TEST(Json, EscapesBecomeUtf8) {
  EXPECT_EQ(*ParseJson(R"("\"\\\/\b\f\n\r\t")")->string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(*ParseJson(R"("\u0041\u00e9\u20ac\ud83d\ude00")")->string(),
            "A\u00e9\u20ac\U0001F600");
  EXPECT_EQ(*ParseJson("\"\u00e9\U0001F600\"")->string(), "\u00e9\U0001F600");
}

TEST(Json, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_THAT(Verdict("{\n  \"a\": 1\n  \"b\": 2\n}"),
              Refused("line 3, column 3: expected ',' or '}', got '\"'"));
  EXPECT_THAT(Verdict(""), Refused("line 1, column 1: expected a value, the "
                                   "text ends"));
  EXPECT_THAT(Verdict("[1, 2"), Refused("expected ',' or ']', the text ends"));
  EXPECT_THAT(Verdict("[1,]"), Refused("expected a value, got ']'"));
  EXPECT_THAT(Verdict("{\"a\" 1}"), Refused("expected ':'"));
  EXPECT_THAT(Verdict("{a: 1}"), Refused("expected a key in double quotes"));
  EXPECT_THAT(Verdict("{} {}"), Refused("nothing may follow"));
  EXPECT_THAT(Verdict(std::string(1, '\0')), Refused("got byte 0x00"));
}

TEST(Json, RefusesWhatIsNotStandard) {
  for (const char* text : {"nul",         "NaN",
                           "Infinity",    "-",
                           "+1",          ".5",
                           "1.",          "1e",
                           "01",          "0x10",
                           "'a'",         "// no\n1",
                           "\"\\x41\"",   "\"\\u12g4\"",
                           "\"\\u12",     "\"\\ud83d\"",
                           "\"\\ude00\"", "\"\\ud83dx\"",
                           "\"a\nb\"",    "\"open",
                           "1e999",       "\xEF\xBB\xBF{}"}) {
    EXPECT_THAT(Verdict(text), Refused("line ")) << text;
  }
}

TEST(Json, RefusesBytesThatAreNotUtf8) {
  for (const char* bytes :
       {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_THAT(Verdict("\"" + std::string(bytes) + "\""),
                Refused("not UTF-8"));
  }
}

TEST(Json, RefusesAKeyThatIsThereTwice) {
  EXPECT_THAT(Verdict(R"({"a": 1, "b": 2, "a": 3})"),
              Refused("line 1, column 18: key 'a' is there twice"));
}

TEST(Json, DepthAndNumberOfValuesAreBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_OK(Verdict(nested(kMaxJsonDepth)));
  EXPECT_THAT(Verdict(nested(1'000'000)), Refused("nested deeper than 64"));
  std::string many = "[1";
  for (int i = 0; i < kMaxJsonValues; ++i) many += ",1";
  EXPECT_THAT(Verdict(many + "]"), Refused("more than 1048576 values"));
}

TEST(Json, ValuesKnowWhereTheyStandAndWhatTheyAre) {
  ASSERT_OK_AND_ASSIGN(const JsonValue value,
                       ParseJson("{\n  \"a\": 12,\n  \"b\": \"word\"}"));
  EXPECT_EQ(value.Find("a")->position().ToString(), "line 2, column 8");
  EXPECT_EQ(value.Find("a")->Describe(), "12");
  EXPECT_EQ(value.Find("b")->Describe(), "'word'");
  EXPECT_EQ(value.Describe(), "an object");
}

TEST(Json, TextIsWrittenSoThatItReadsBack) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"");
  std::string every;
  for (char c = 1; c < 127; ++c) every += c;
  every += "\u00e9\U0001F600";
  EXPECT_EQ(*ParseJson(JsonString(every))->string(), every);
}

// Corrupted texts are read or refused, never worse. Half of the mutations break
// the grammar often enough that both happen.
TEST(Json, SurvivesCorruptedText) {
  const std::string good =
      R"({"a": [1, 2.5e3, "x\u00e9\n"], "b": {"c": null, "d": [true, false]}})";
  Rng rng(7, "json corruption");
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(rng.Below(3)); edits > 0; --edits) {
      const size_t at = rng.Below(text.size());
      switch (rng.Below(3)) {
        case 0:
          text[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          text.erase(at, 1 + rng.Below(4));
          break;
        default:
          text.insert(at, text.substr(rng.Below(text.size()), 5));
      }
      if (text.empty()) text = " ";
    }
    (Verdict(text).ok() ? read : refused) += 1;
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace orrery
