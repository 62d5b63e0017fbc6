#include "catalog/textproto.h"

#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/scenario.pb.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
constexpr auto kMalformed = absl::StatusCode::kInvalidArgument;

absl::Status ParseText(const std::string& text) {
  pb::Scenario scenario;
  return ParseTextproto(text, "run.textproto", &scenario);
}

TEST(Textproto, AnErrorSaysWhere) {
  EXPECT_THAT(ParseText("name: \"a\"\ntraining {\n  micro_batch: many\n}"),
              StatusIs(kMalformed, StartsWith("run.textproto:3:16: ")));
}

TEST(Textproto, AnUnknownFieldIsAnsweredWithTheNearestOne) {
  EXPECT_THAT(ParseText("modle { }"),
              StatusIs(kMalformed,
                       "run.textproto:1:1: Scenario has no field 'modle'; did "
                       "you mean 'model'?"));
  EXPECT_THAT(ParseText("zebra { }"),
              StatusIs(kMalformed, HasSubstr("training")));
}

// The parser tells of an enum, and of a field it does not have, when it has
// gone on to the word that follows.
TEST(Textproto, PlacesAreThoseOfTheWordThatIsWrong) {
  EXPECT_THAT(ParseText("training {\n  schedule: ONE_F_ONE_C\n}\n"),
              StatusIs(kMalformed, StartsWith("run.textproto:2:13: schedule")));
  EXPECT_THAT(ParseText("training {\n  shedule\n  :\n  GPIPE\n}\n"),
              StatusIs(kMalformed, StartsWith("run.textproto:2:3: Training")));
  EXPECT_THAT(ParseText("training {\n  overlap_tensor: maybe\n}\n"),
              StatusIs(kMalformed, StartsWith("run.textproto:2:19: ")));
  EXPECT_THAT(ParseText("training {\n  micro_batch: 1\n  micro_batch: 2\n}"),
              StatusIs(kMalformed, StartsWith("run.textproto:3:3: ")));
  // Words in another form than the schema's move nothing, nor do tabs.
  EXPECT_THAT(ParseText("training { schedule: 1F1B recompute: full sharding: "
                        "zero_9 }"),
              StatusIs(kMalformed, StartsWith("run.textproto:1:53: sharding")));
  EXPECT_THAT(ParseText("training {\n\t\tsharding: zero_9 }"),
              StatusIs(kMalformed, StartsWith("run.textproto:2:13: sharding")));
}

TEST(Textproto, AllMistakesAreToldAtOnceInTheirOrder) {
  const absl::Status status = ParseText(
      "nmae: \"x\"\n"
      "training {\n"
      "  schedule: 1f1c\n"
      "  micro_batch: many\n"
      "  sequnce: 4096\n"
      "  overlap_tensor: perhaps\n"
      "  sharding: zero1\n"
      "  global_batch: 99999999999\n"
      "}\n"
      "modell { layers: 3 }\n");
  EXPECT_THAT(
      absl::StrSplit(status.message(), '\n'),
      testing::ElementsAre(
          "run.textproto:1:1: Scenario has no field 'nmae'; did you mean "
          "'name'?",
          HasSubstr(":3:13: schedule must be one of GPIPE,"),
          "run.textproto:4:16: micro_batch must be a whole number from 1 to "
          "16777216, not 'many'",
          HasSubstr(":5:3: Training has no field 'sequnce'; did you mean "
                    "'sequence'?"),
          "run.textproto:6:19: overlap_tensor must be true or false, not "
          "'perhaps'",
          "run.textproto:8:17: global_batch must be a whole number from 1 to "
          "16777216, not '99999999999'",
          HasSubstr(":10:1: Scenario has no field 'modell'")));
}

TEST(Textproto, EveryMistakeSaysWhatToDo) {
  for (const auto& [text, remedy] :
       {std::pair("name: 7", "a text in quotes (name: \"...\")"),
        std::pair("model: 3", "a message in braces (model { ... })"),
        std::pair("model {", "close its brace"),
        std::pair("training { micro_batch: 1 micro_batch: 2 }",
                  "keep one of them"),
        std::pair("training { bucket: 40 MB }", "a text in quotes"),
        std::pair("training { sequence: 1e3 }", "a whole number from 1 to"),
        std::pair("system { scale_up { fabric { ring {} mesh {} } } }",
                  "keep one of them")}) {
    EXPECT_THAT(ParseText(text), StatusIs(kMalformed, HasSubstr(remedy)))
        << text;
  }
}

TEST(Textproto, AnUnknownEnumNameIsAnsweredWithTheLegalOnes) {
  EXPECT_THAT(
      ParseText("training { schedule: ONE_F_ONE_C }"),
      StatusIs(kMalformed, AllOf(HasSubstr("must be one of GPIPE, ONE_F_ONE_B"),
                                 HasSubstr("did you mean 'ONE_F_ONE_B'?"),
                                 testing::Not(HasSubstr("UNSPECIFIED")))));
}

TEST(Textproto, BrokenTextIsRefusedInOneLine) {
  for (const std::string& text :
       {std::string("training {"), std::string("}"), std::string("\0\1\2", 3),
        std::string("name: \"unterminated"), std::string("cost { rent: -1 }"),
        std::string("training { sequence: 99999999999999999999999 }"),
        std::string("training { micro_batch: 4294967296 }"),
        std::string("training { micro_batch: 1 micro_batch: 2 }"),
        std::string("model: 3"), std::string("name: 7")}) {
    const absl::Status status = ParseText(text);
    EXPECT_THAT(status, StatusIs(kMalformed, StartsWith("run.textproto:")));
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << text;
  }
}

// Messages, lists and unknown fields that are nested far past what a stack
// holds are refused in a short line.
TEST(Textproto, NoTextOverflowsTheStack) {
  for (const char* opener :
       {"model { ", "model < ", "model: [ ", "[", "unknown { ", "unknown: [{ ",
        "training { parallel { ", "training { layers_per_stage: [", "name: -",
        "[a.b/c] { ", "fabric: { "}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += opener;
    const absl::Status status = ParseText(text);
    EXPECT_THAT(status, StatusIs(kMalformed, StartsWith("run.textproto:")))
        << opener;
    EXPECT_LT(status.message().size(), 1000u) << opener;
  }
}

TEST(Textproto, WhatIsPrintedParsesBack) {
  pb::Scenario scenario;
  ASSERT_OK(ParseTextproto(
      "name: \"caf\\303\\251\" training { layers_per_stage: [3, 4] "
      "expert_imbalance: 1.1 precision: BF16 }",
      "text", &scenario));
  const std::string text = PrintTextproto(scenario);
  EXPECT_THAT(text, HasSubstr("layers_per_stage: [3, 4]"));
  pb::Scenario again;
  ASSERT_OK(ParseTextproto(text, "printed", &again));
  EXPECT_EQ(PrintTextproto(again), text);
}

}  // namespace
}  // namespace orrery
