// Every command that answers for a scenario says how far it can be trusted.
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::HasSubstr;

constexpr char kFast[] = "system.chip.memory_bandwidth=100 TB/s";

std::string StudyFile(const std::string& name, const std::string& text) {
  const std::string file = TestFile(name);
  EXPECT_TRUE(WriteFile(file, text).ok());
  return file;
}

// Rows of a table by the names of its columns.
std::vector<std::map<std::string, std::string>> Rows(const std::string& csv) {
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> names;
  for (const absl::string_view line :
       absl::StrSplit(csv, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = CsvFields(line);
    if (names.empty()) {
      names = fields;
      continue;
    }
    auto& row = rows.emplace_back();
    for (size_t i = 0; i < names.size() && i < fields.size(); ++i) {
      row[names[i]] = fields[i];
    }
  }
  return rows;
}

TEST(TrustCommands, ASweepSaysItOfEveryRow) {
  for (const char* method : {"ESTIMATE", "SIMULATE"}) {
    SCOPED_TRACE(method);
    const std::string study =
        StudyFile(std::string(method) + ".textproto",
                  std::string(R"(name: "trust" scenario: "quickstart"
          axis { path: "system.chip.memory_bandwidth"
                 value: "3.35 TB/s" value: "4.8 TB/s" value: "100 TB/s" }
          axis { path: "training.parallel.tensor" value: "4" value: "8" }
          objective { expression: "step_time_s" } method: )") +
                      method);
    const ProgramResult table = RunOrrery({"sweep", study, "--csv", "-"});
    ASSERT_EQ(table.exit_code, 0) << table.err;
    const auto rows = Rows(table.out);
    ASSERT_EQ(rows.size(), 6u) << table.out;
    for (const auto& row : rows) {
      const std::string& bandwidth = row.at("memory_bandwidth");
      const std::string expected = bandwidth == "3.35 TB/s"  ? "measured"
                                   : bandwidth == "4.8 TB/s" ? "near"
                                                             : "extrapolated";
      EXPECT_EQ(row.at("trust"), expected) << bandwidth;
      EXPECT_EQ(row.at("trust_error").empty(), expected == "extrapolated");
    }
    const ProgramResult text = RunOrrery({"sweep", study});
    EXPECT_THAT(text.out, HasSubstr("extrapolated"));
    const ProgramResult json = RunOrrery({"sweep", study, "--json", "-"});
    EXPECT_THAT(json.out, HasSubstr("\"trust\": \"extrapolated\""));
    EXPECT_THAT(json.out, HasSubstr("\"trust_error\""));
    EXPECT_TRUE(ParseJson(json.out).ok());
  }
}

// What no step was measured on says so in a sweep as well.
TEST(TrustCommands, ASweepSaysItOfChipsNobodyMeasured) {
  const std::string study = StudyFile("chips.textproto",
                                      R"(name: "chips" scenario: "quickstart"
        axis { path: "system.preset"
               value: "dgx_h100_ib400" value: "mi300x_8x400" }
        objective { expression: "step_time_s" } method: ESTIMATE)");
  const ProgramResult table = RunOrrery({"sweep", study, "--csv", "-"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  const auto rows = Rows(table.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("trust"), "measured");
  EXPECT_EQ(rows[1].at("trust"), "extrapolated");
  EXPECT_EQ(rows[1].at("trust_error"), "");
}

TEST(TrustCommands, AnswersCarryIt) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{
           {"simulate", "quickstart"},
           {"estimate", "quickstart"},
           {"cost", "quickstart"},
           {"simulate", "llama2_70b_inference"},
           {"estimate", "llama2_70b_inference"},
           {"cost", "llama2_70b_inference"}}) {
    SCOPED_TRACE(words[0] + " " + words[1]);
    std::vector<std::string> fast = words;
    fast.insert(fast.end(), {"--set", kFast});
    EXPECT_THAT(RunOrrery(words).out, HasSubstr("trust: measured: "));
    EXPECT_THAT(RunOrrery(fast).out, HasSubstr("trust: extrapolated: "));
    fast.insert(fast.end(), {"--json", "-"});
    const std::string json = RunOrrery(fast).out;
    EXPECT_THAT(json, HasSubstr("\"trust\": \"extrapolated: "));
    EXPECT_THAT(json, HasSubstr("\"level\": \"EXTRAPOLATED\""));
    EXPECT_THAT(json, HasSubstr("system.chip.memory_bandwidth"));
  }
}

TEST(TrustCommands, ComparisonsCarryIt) {
  const ProgramResult run =
      RunOrrery({"compare", "quickstart", "--change", kFast});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("trust in quickstart: measured"));
  EXPECT_THAT(run.out, HasSubstr(": extrapolated: no measured step is near"));
}

// The published run beside the predicted one, and not beside another.
TEST(MeasuredCommands, ARunIsShownBesideItsPrediction) {
  const ProgramResult run = RunOrrery({"simulate", "megatron_22b_selective"});
  EXPECT_THAT(run.out, HasSubstr("measured: step_time_s 1.1, predicted "));
  EXPECT_THAT(run.out, HasSubstr("table 5"));
  const std::string json =
      RunOrrery({"simulate", "megatron_22b_selective", "--json", "-"}).out;
  EXPECT_THAT(json, HasSubstr("\"measured\": 1.1"));
  const ProgramResult other = RunOrrery({"simulate", "megatron_22b_selective",
                                         "--set", "training.micro_batch=2"});
  EXPECT_EQ(other.out.find("measured: step_time_s"), std::string::npos);
}

}  // namespace
}  // namespace orrery
