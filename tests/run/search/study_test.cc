// A study is read before any of its points is worked out: every name in it is
// one that there is, and every value that it lists is legal.
#include "run/search/study.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include "catalog/catalog.h"
#include "catalog/textproto.h"
#include "run/report_value.h"
#include "run/search/objective.h"
#include "run/search/plan_space.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

absl::Status Read(const std::string& more) {
  pb::Study proto;
  EXPECT_OK(ParseTextproto(
      absl::StrCat("name: \"s\" scenario: \"quickstart\" ", more), "study",
      &proto));
  return Study::FromProto(proto).status();
}

constexpr char kAxis[] =
    "axis { path: \"training.micro_batch\" value: \"1\" value: \"2\" } ";

TEST(Study, NamesOfExpressionsAreThoseOfAxesAndReports) {
  EXPECT_OK(Read(absl::StrCat(
      kAxis,
      "objective { expression: \"step_time_s * chips\" } constraint: "
      "\"mfu > 0.3 and micro_batch < 2\" column { expression: "
      "\"cost.million_tokens.nominal / nodes\" }")));
  const std::pair<const char*, const char*> cases[] = {
      {"objective { expression: \"step_tme_s\" }",
       "objective[0].expression: 'step_tme_s': there is no 'step_tme_s'; did "
       "you mean 'step_time_s'"},
      {"column { name: \"x\" expression: \"1 / prefil_s\" }",
       "column[0].expression: '1 / prefil_s': there is no 'prefil_s'; did you "
       "mean 'inference.prefill_s'?"},
      {"constraint: \"micro_bacth > 1\"", "did you mean 'micro_batch'?"},
      // What is not a number, and what there are many of.
      {"column { expression: \"version\" }", "there is no 'version'"},
      {"column { expression: \"memory.stages\" }", "there is no"},
      {"column { expression: \"technology.made_dollars\" }", "there is no"}};
  for (const auto& [text, words] : cases) {
    EXPECT_THAT(Read(absl::StrCat(kAxis, text)),
                StatusIs(kWrong, HasSubstr(words)));
  }
}

TEST(Study, AxesSetFieldsToLegalValues) {
  const std::pair<const char*, const char*> cases[] = {
      {"axis { path: \"training.micro_bacth\" value: \"1\" }",
       "axis[0]: --set training.micro_bacth: Training has no field "
       "'micro_bacth'; did you mean 'micro_batch'?"},
      {"axis { path: \"training.micro_batch\" value: \"1\" value: \"0\" }",
       "axis[0]: training.micro_batch: must be a whole number from 1 to"},
      {"axis { path: \"training.schedule\" value: \"gpip\" }",
       "did you mean 'GPIPE'?"},
      {"axis { path: \"training.sharding\" value: \"SHARDING_UNSPECIFIED\" }",
       "must be one of ZERO_0"},
      {"axis { path: \"system.preset\" value: \"dgx_h10_ib400\" }",
       "there is no system preset 'dgx_h10_ib400'; did you mean "
       "'dgx_h100_ib400'?"},
      {"axis { path: \"system.chip.clock\" range { from: 1 to: 2 step: 1 } "
       "unit: \"parsec\" }",
       "must be a frequency"},
      {"axis { path: \"training.parallel.dta\" expression: \"chips / 2\" }",
       "did you mean 'data'?"},
      {"axis { name: \"c\" case { name: \"x\" set: \"sytem.nodes=2\" } }",
       "did you mean 'system'?"},
      {"axis { name: \"c\" case { name: \"x\" set: \"system.nodes\" } }",
       "write PATH=VALUE"},
      {"technology {} axis { path: \"technology.dies\" value: \"0\" }",
       "technology.dies: must be a whole number from 1 to 1000"}};
  for (const auto& [text, words] : cases) {
    EXPECT_THAT(Read(text), StatusIs(kWrong, HasSubstr(words))) << text;
  }
  // Entries of a preset's lists are known with the machine.
  EXPECT_OK(
      Read("axis { path: \"system.chip.peak[BF16].rate\" value: \"900 "
           "TFLOP/s\" }"));
}

TEST(Study, ANameHasOneMeaning) {
  for (const char* name : {"mfu", "chips", "step_time_s", "nodes"}) {
    EXPECT_THAT(Read(absl::StrCat("axis { name: \"", name,
                                  "\" path: \"training.micro_batch\" value: "
                                  "\"1\" }")),
                StatusIs(kWrong, AllOf(HasSubstr("already names"),
                                       HasSubstr("set another name"))))
        << name;
  }
  // An axis of the nodes varies what "nodes" is.
  EXPECT_OK(Read("axis { path: \"system.nodes\" value: \"4\" }"));
  for (const char* columns :
       {"column { expression: \"mfu\" } column { expression: \"mfu\" }",
        "column { name: \"a\" expression: \"mfu\" } column { name: \"a\" "
        "expression: \"hfu\" }",
        "column { name: \"micro_batch\" expression: \"mfu\" }",
        "column { name: \"point\" expression: \"mfu\" }",
        "objective { expression: \"mfu\" } column { expression: \"mfu\" }"}) {
    EXPECT_THAT(Read(absl::StrCat(kAxis, columns)),
                StatusIs(kWrong, HasSubstr("is there twice")))
        << columns;
  }
}

TEST(Study, AFieldIsDecidedOnceAndAValueStandsOnce) {
  const std::pair<const char*, const char*> cases[] = {
      {"axis { name: \"a\" path: \"training.micro_batch\" value: \"4\" }",
       "axis[1]: axis[0] sets 'training.micro_batch' too; let one axis set it"},
      {"axis { name: \"a\" case { name: \"x\" set: \"training.micro_batch=4\" "
       "} "
       "}",
       "axis[1]: axis[0] sets 'training.micro_batch' too"},
      {"set: \"training.micro_batch=8\"",
       "set 'training.micro_batch=8': axis[0] sets this field; delete one"},
      {"axis { name: \"a\" case { name: \"x\" } case { name: \"x\" } }",
       "axis[1]: the case 'x' is there twice; give each case a name"},
      {"axis { name: \"a\" case { } case { name: \"x\" } }",
       "axis[1]: a case is empty; give each case a name"},
      {"axis { path: \"training.sequence\" value: \"4096\" value: \"4096\" }",
       "axis[1]: the value '4096' is there twice; delete one"},
      {"axis { path: \"training.sequence\" value: \"\" value: \"4096\" }",
       "axis[1]: a value is empty; write a value, or a case"}};
  for (const auto& [text, words] : cases) {
    EXPECT_THAT(Read(absl::StrCat(kAxis, text)),
                StatusIs(kWrong, HasSubstr(words)));
  }
  for (const char* name : {"point", "problem", "trust", "trust_error"}) {
    EXPECT_THAT(Read(absl::StrCat("axis { name: \"", name,
                                  "\" path: \"training.micro_batch\" value: "
                                  "\"1\" }")),
                StatusIs(kWrong, HasSubstr("set another name")));
  }
  EXPECT_THAT(Read(absl::StrCat(
                  kAxis, "column { name: \"trust\" expression: \"mfu\" }")),
              StatusIs(kWrong, HasSubstr("is there twice")));
}

TEST(Study, ABadRangeIsOneMistake) {
  const absl::Status status =
      Read("axis { path: \"training.micro_batch\" range { from: 4 to: 1 } }");
  EXPECT_THAT(status, StatusIs(kWrong, HasSubstr("a range has from <= to")));
  EXPECT_THAT(std::string(status.message()),
              testing::Not(HasSubstr("has no value")));
}

TEST(Study, AnAxisOfWordsIsNotANumber) {
  EXPECT_THAT(
      Read("axis { path: \"kernels.launch\" value: \"1 us\" value: \"2 us\" } "
           "column { name: \"x\" expression: \"launch * 2\" }"),
      StatusIs(kWrong, HasSubstr("uses the axis 'launch', of which '1 us' is "
                                 "not a number")));
}

TEST(Study, EveryMistakeIsToldAtOnce) {
  const absl::Status status = Read(
      "axis { path: \"training.x\" value: \"1\" } axis { name: \"hfu\" "
      "path: \"training.sequence\" value: \"-4\" } objective { expression: "
      "\"stp\" } constraint: \"a ~ b\" keep: \"tensr\"");
  for (const char* words :
       {"axis[0]: --set training.x", "axis[1]: 'hfu' already names",
        "axis[1]: training.sequence: must be", "objective[0].expression",
        "constraint[0]", "keep: goes with method: TUNE",
        "did you mean 'tensor'?"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
}

TEST(Names, AreAnsweredWithTheNearestOnes) {
  EXPECT_THAT(ParseObjective("tokns").status(),
              StatusIs(kWrong, HasSubstr("did you mean 'tokens'?")));
  EXPECT_THAT(ParsePlanAxis("shedule").status(),
              StatusIs(kWrong, HasSubstr("did you mean 'schedule'?")));
  EXPECT_THAT(ReportNames(), Contains("inference.time_per_output_token_s"));
  EXPECT_THAT(ReportNames(), testing::Not(Contains("memory.stages")));
}

// Every study of the catalogue asks for what there is.
TEST(Names, OfTheStudiesOfTheCatalogueExist) {
  const Catalog catalog;
  for (const std::string& name : catalog.Names("studies")) {
    ASSERT_OK_AND_ASSIGN(const pb::Study proto, catalog.Study(name));
    EXPECT_OK(Study::FromProto(proto).status());
  }
}

}  // namespace
}  // namespace orrery
