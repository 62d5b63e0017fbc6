#include "catalog/textproto.h"

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
                       "run.textproto:1:7: Scenario has no field 'modle'; did "
                       "you mean 'model'?"));
  EXPECT_THAT(ParseText("zebra { }"),
              StatusIs(kMalformed, HasSubstr("training")));
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
        std::string("name: \"unterminated"), std::string("seed: -1"),
        std::string("seed: 99999999999999999999999"),
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
      "name: \"caf\\303\\251\" seed: 7 training { layers_per_stage: [3, 4] "
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
