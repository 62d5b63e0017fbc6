// Presets as axes of a study.
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/format.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A preset is merged before there is a plan: as an axis it must do what typing
// it does.
TEST(StudyPresets, EnginesAreSweptAsTheyAreTyped) {
  const std::string study = TestFile("engines.textproto");
  std::ofstream(study) << R"~(
    name: "engines"
    scenario: "llama3_70b_fp8_serving"
    axis { path: "inference.engine.preset" name: "engine"
           value: "vllm" value: "fastertransformer" }
    objective { expression: "inference.end_to_end_s" }
  )~";
  const auto run = RunOrrery({"sweep", study, "--csv", "-"});
  for (const std::string engine : {"vllm", "fastertransformer"}) {
    const auto typed =
        RunOrrery({"estimate", "llama3_70b_fp8_serving", "--set",
                   "inference.engine.preset=" + engine, "--json", "-"});
    const auto json = ParseJson(typed.out);
    ASSERT_TRUE(json.ok()) << typed.err;
    const auto alone = *json->Find("inference")->Find("end_to_end_s")->number();
    const size_t row = run.out.find(engine + ",");
    ASSERT_NE(row, std::string::npos) << run.out << run.err;
    EXPECT_THAT(run.out.substr(row, run.out.find('\n', row) - row),
                HasSubstr(fmt::format("{}", alone.value)));
  }
  const std::vector<std::string> lines =
      absl::StrSplit(run.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3U) << run.out;
  for (const std::string& line : lines) {
    EXPECT_EQ(CsvFields(line).size(), CsvFields(lines[0]).size()) << line;
  }
}

// Whether the name is nobody's or that of another part, no point is run.
TEST(StudyPresets, NamesAreCheckedBeforeAnyPoint) {
  for (const std::string name : {"no_such_engine", "llama3_8b"}) {
    const std::string study = TestFile("names.textproto");
    std::ofstream(study) << fmt::format(R"~(
      name: "names"
      scenario: "llama3_70b_fp8_serving"
      axis {{ path: "inference.engine.preset" value: "vllm" value: "{}" }}
      objective {{ expression: "inference.end_to_end_s" }}
    )~",
                                        name);
    const auto run = RunOrrery({"sweep", study, "--csv", "-"});
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err,
                AllOf(HasSubstr("there is no engine preset '" + name + "'"),
                      HasSubstr("must be one of "), HasSubstr("vllm_2024")));
  }
}

}  // namespace
}  // namespace orrery
