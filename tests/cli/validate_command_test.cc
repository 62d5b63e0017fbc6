// orrery validate, from the outside: the same manners in every suite, and the
// same numbers as text and as JSON.
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Case {
  const char* suite;
  // Two rows; the second cannot be used.
  const char* table;
  // What the first row's group is called.
  const char* group;
};
constexpr Case kCases[] = {
    {"collectives",
     "id,collective,num_gpus,size_bytes,time_us,system\n"
     "a,all_reduce,8,64000000,300,dgx_h100_ib400\n"
     "b,all_reduce,8,lots,300,dgx_h100_ib400\n",
     "dgx_h100_ib400"},
    {"kernels",
     "id,chip,kernel,dtype,m,n,k,time_us\n"
     "a,h100_sxm,gemm,bf16,512,4096,4096,40\n"
     "b,h100_sxm,gemm,bf16,lots,4096,4096,40\n",
     "h100_sxm"},
    {"training",
     "id,source_id,model,hardware,num_gpus,gpus_per_node,layers,hidden,ffn,"
     "heads,vocab,seq_len,global_batch,micro_batch,tp,pp,precision,step_time_"
     "s\n"
     "a,mine,GPT-small,A100-80GB-SXM,8,8,8,4096,16384,32,51200,2048,8,1,8,1,"
     "fp16,0.3\n"
     "b,mine,GPT-small,A100-80GB-SXM,8,8,lots,4096,16384,32,51200,2048,8,1,8,"
     "1,fp16,0.3\n",
     "mine"},
    {"cost",
     "id,source_model,case,inputs,quantity,expected\n"
     "a,Chiplet Actuary,interposer_yield,type=SI;area_mm2=100;D0=0.06;c=6,"
     "yield,1\n"
     "b,Chiplet Actuary,interposer_yield,type=SI;area_mm2=100;D0=0.06;c=6,"
     "yield,lots\n",
     "Chiplet Actuary"},
};

class Validate : public testing::TestWithParam<Case> {
 protected:
  std::string File(const std::string& text) {
    const std::string file =
        TestFile(fmt::format("validate_{}.csv", GetParam().suite));
    EXPECT_OK(WriteFile(file, text));
    return file;
  }
};

TEST_P(Validate, ATableOfSomethingElseIsTheUsersMistake) {
  for (const char* wrong : {"colour,taste\nred,sweet\n", "", "a,\"b\n"}) {
    const std::string file = File(wrong);
    const ProgramResult result =
        RunOrrery({"validate", GetParam().suite, file});
    EXPECT_EQ(result.exit_code, 2) << wrong;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(file));
  }
}

TEST_P(Validate, ATableWithoutRowsIsTheUsersMistake) {
  const std::string text = GetParam().table;
  const ProgramResult result = RunOrrery(
      {"validate", GetParam().suite, File(text.substr(0, text.find('\n')))});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no rows"));
}

// A name spelled wrong would otherwise be a row that is predicted as another.
TEST_P(Validate, AColumnOfAnotherNameIsTheUsersMistake) {
  std::vector<std::string> lines = absl::StrSplit(GetParam().table, '\n');
  for (const char* column : {"kv_head", "Num_gpus", "colour"}) {
    const ProgramResult result = RunOrrery(
        {"validate", GetParam().suite,
         File(fmt::format("{},{}\n{},1\n", lines[0], column, lines[1]))});
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(fmt::format("column '{}'", column)));
  }
}

TEST_P(Validate, ABadRowIsRefusedAndTheOthersCount) {
  const ProgramResult result =
      RunOrrery({"validate", GetParam().suite, File(GetParam().table)});
  EXPECT_LE(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("1 rows predicted, 1 refused"),
                                HasSubstr("line 3 (b): column '"),
                                HasSubstr("got 'lots'")));
}

TEST_P(Validate, WithEveryRowRefusedTheAnswerIsNo) {
  std::vector<std::string> lines = absl::StrSplit(GetParam().table, '\n');
  const ProgramResult result =
      RunOrrery({"validate", GetParam().suite,
                 File(fmt::format("{}\n{}\n", lines[0], lines[2]))});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 rows predicted, 1 refused"));
}

TEST_P(Validate, TextAndJsonSayTheSame) {
  const std::string file = File(GetParam().table);
  const ProgramResult text = RunOrrery({"validate", GetParam().suite, file});
  const ProgramResult json =
      RunOrrery({"validate", GetParam().suite, file, "--json", "-"});
  EXPECT_EQ(text.exit_code, json.exit_code);
  ASSERT_OK_AND_ASSIGN(const JsonValue report, ParseJson(json.out));
  EXPECT_EQ(*report.Find("met")->boolean(), json.exit_code == 0);
  const JsonValue& suite = report.Find("suites")->array()->at(0);
  EXPECT_EQ(*suite.Find("suite")->string(), GetParam().suite);
  EXPECT_EQ(*suite.Find("table")->string(), file);
  EXPECT_EQ(suite.Find("rows_predicted")->number()->value, 1);
  EXPECT_EQ(suite.Find("rows_refused")->number()->value, 1);
  EXPECT_EQ(*suite.Find("refused")->array()->at(0).Find("id")->string(), "b");

  const JsonValue& row = suite.Find("rows")->array()->at(0);
  const double error = row.Find("error")->number()->value;
  bool found = false;
  for (const JsonValue& group : *suite.Find("groups")->array()) {
    if (*group.Find("subject")->string() != GetParam().group) continue;
    found = true;
    // Of one row, all are its error.
    for (const char* statistic : {"mean", "median", "p90", "worst"}) {
      EXPECT_EQ(group.Find(statistic)->number()->value, std::abs(error));
    }
    EXPECT_EQ(group.Find("bias")->number()->value, error);
    for (const absl::string_view line : absl::StrSplit(text.out, '\n')) {
      if (!absl::StartsWith(line, GetParam().group)) continue;
      EXPECT_THAT(std::string(line),
                  HasSubstr(fmt::format(" {:.1f} %", 100 * std::abs(error))));
    }
  }
  EXPECT_TRUE(found);
}

INSTANTIATE_TEST_SUITE_P(Suites, Validate, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.suite; });

// The published tables: every group's line of the text has the numbers of the
// JSON.
TEST(ValidateCommand, PublishedKernelsAndCollectivesAgreeAsTextAndJson) {
  for (const char* name : {"kernels", "collectives"}) {
    const ProgramResult text = RunOrrery({"validate", name});
    const ProgramResult json = RunOrrery({"validate", name, "--json", "-"});
    ASSERT_OK_AND_ASSIGN(const JsonValue report, ParseJson(json.out));
    const JsonValue& suite = report.Find("suites")->array()->at(0);
    const std::vector<std::string> lines = absl::StrSplit(text.out, '\n');
    const JsonValue::Array& groups = *suite.Find("groups")->array();
    ASSERT_GT(groups.size(), 10u);
    // The verdict, its exit code and the words of every group agree.
    const bool all_met = std::all_of(
        groups.begin(), groups.end(),
        [](const JsonValue& group) { return *group.Find("met")->boolean(); });
    EXPECT_EQ(*report.Find("met")->boolean(), all_met);
    EXPECT_EQ(text.exit_code, all_met ? 0 : 1) << text.err;
    EXPECT_EQ(json.exit_code, all_met ? 0 : 1) << json.err;
    EXPECT_EQ(absl::StrContains(text.out, " missed\n"), !all_met);
    EXPECT_EQ(absl::StrContains(text.out, "every bar is met"), all_met);
    EXPECT_EQ(absl::StrContains(text.out, " bars missed\n"), !all_met);
    for (size_t i = 0; i < groups.size(); ++i) {
      const std::string& line = lines[i + 1];
      EXPECT_THAT(line,
                  testing::StartsWith(*groups[i].Find("subject")->string()));
      EXPECT_THAT(line, HasSubstr(*groups[i].Find("part")->string()));
      for (const char* statistic : {"median", "worst"}) {
        EXPECT_THAT(line,
                    HasSubstr(fmt::format(
                        " {:.1f} %",
                        100 * groups[i].Find(statistic)->number()->value)));
      }
    }
  }
}

}  // namespace
}  // namespace orrery
