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

using testing::HasSubstr;

// A preset is merged before there is a plan: as an axis it must do what typing
// it does, and one that does not exist is a problem of its points.
TEST(StudyPresets, EnginesAreSweptAsTheyAreTyped) {
  const std::string study = TestFile("engines.textproto");
  std::ofstream(study) << R"~(
    name: "engines"
    scenario: "llama3_70b_fp8_serving"
    axis { path: "inference.engine.preset" name: "engine"
           value: "vllm" value: "fastertransformer" value: "no_such_engine" }
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
  EXPECT_THAT(run.out + run.err, HasSubstr("there is no engine"));
  // As many fields in the row that has no answer.
  const std::vector<std::string> lines =
      absl::StrSplit(run.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 4U) << run.out;
  for (const std::string& line : lines) {
    EXPECT_EQ(CsvFields(line).size(), CsvFields(lines[0]).size()) << line;
  }
}

}  // namespace
}  // namespace orrery
