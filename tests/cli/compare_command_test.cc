// compare as a user types it, and tables for other programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

class CompareCommand : public ::testing::Test {
 protected:
  ~CompareCommand() override {
    for (const std::string& file : files_) std::filesystem::remove(file);
  }
  std::string File(const std::string& name) {
    return files_.emplace_back(TestFile(name));
  }

 private:
  std::vector<std::string> files_;
};

// Of every command that prints a table: the same rows for other programs.
TEST(TableCommands, CsvIsWrittenWhereverATableIs) {
  const std::vector<std::vector<std::string>> commands = {
      {"list", "chips"},
      {"topology", "dgx_h100_ib400", "--nodes", "2"},
      {"collective", "--system", "dgx_h100_ib400", "--size", "1KB..1MB"},
      {"kernel", "--chip", "h100_sxm", "--m", "64", "--n", "64", "--k", "64"},
      {"roofline", "--chip", "h100_sxm", "--model", "llama3_8b"},
      {"derive", "h100_sxm", "--package"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--csv", "-"});
    const auto run = RunOrrery(command);
    EXPECT_EQ(run.exit_code, 0) << command[0] << ": " << run.err;
    const auto table = CsvTable::Parse(run.out);
    ASSERT_TRUE(table.ok()) << command[0] << ": " << table.status();
    EXPECT_GE(table->columns().size(), 2u) << command[0];
    EXPECT_FALSE(table->rows().empty()) << command[0];
    for (const CsvTable::Row& row : table->rows()) {
      EXPECT_TRUE(row.whole()) << command[0] << ", line " << row.line();
    }
  }
}

// "wrote 123 slices": that many.
int64_t SlicesOf(const std::vector<std::string>& command) {
  const auto run = RunOrrery(command);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const size_t at = run.err.find("wrote ");
  if (at == std::string::npos) return -1;
  return std::atoll(run.err.c_str() + at + 6);
}

TEST_F(CompareCommand, AnErrorNamesTheFlagThatWasTyped) {
  const auto change =
      RunOrrery({"compare", "quickstart", "--change", "nosuch=3"});
  EXPECT_EQ(change.exit_code, 2);
  EXPECT_THAT(change.err, HasSubstr("orrery: --change nosuch:"));
  const auto set = RunOrrery({"compare", "quickstart", "--set", "nosuch=3",
                              "--change", "training.micro_batch=2"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.err, HasSubstr("orrery: --set nosuch:"));
}

// One timeline holds what two held.
TEST_F(CompareCommand, ComparedTimelinesAreInOneFile) {
  const std::string file = File("both.pftrace");
  const std::string change = "training.micro_batch=2";
  const int64_t first = SlicesOf({"simulate", "quickstart", "--trace", file});
  const int64_t second =
      SlicesOf({"simulate", "quickstart", "--set", change, "--trace", file});
  ASSERT_GT(first, 0);
  ASSERT_GT(second, 0);
  EXPECT_EQ(SlicesOf({"compare", "quickstart", "--change", change,
                      "--no-causes", "--trace", file}),
            first + second);
  const std::string saved = File("saved.json");
  ASSERT_EQ(RunOrrery({"estimate", "quickstart", "--json", saved}).exit_code,
            0);
  const auto wrong =
      RunOrrery({"compare", "quickstart", saved, "--trace", file});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("is a saved report"));
  const auto set = RunOrrery(
      {"compare", saved, "quickstart", "--set", "training.micro_batch=2"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.err, HasSubstr("--set: '" + saved + "' is a saved report"));
  for (const auto& [text, words] :
       {std::pair("{\"step_time_s\":-5}",
                  "step_time_s must be above 0, got -5"),
        std::pair("{}", "step_time_s is missing"),
        std::pair("[1]", "is a JSON list, not a report")}) {
    EXPECT_OK(WriteFile(saved, text));
    const auto bad = RunOrrery({"compare", saved, "quickstart"});
    EXPECT_EQ(bad.exit_code, 2);
    EXPECT_THAT(bad.err, HasSubstr(words));
  }
}

// A term that got another name has its value in reports of before, too.
TEST_F(CompareCommand, OlderReportsKeepTheirTerms) {
  const std::string file = File("older.json");
  const std::string name = "kernels_slowed_by_communication_s";
  const auto now = RunOrrery({"simulate", "quickstart", "--json", "-"});
  ASSERT_EQ(now.exit_code, 0) << now.err;
  std::string text = now.out;
  ASSERT_NE(text.find(name), std::string::npos);
  text.replace(text.find(name), name.size(), "other_s");
  std::ofstream(file) << text;
  const auto run =
      RunOrrery({"compare", "quickstart", file, "--no-causes", "--csv", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto table = CsvTable::Parse(run.out);
  ASSERT_TRUE(table.ok()) << table.status();
  int found = 0;
  for (const CsvTable::Row& row : table->rows()) {
    if (row.Get("field") != "breakdown." + name) continue;
    ++found;
    EXPECT_EQ(row.Number(table->columns()[1]), row.Number(table->columns()[2]));
    EXPECT_GT(row.Number(table->columns()[2]).value_or(0), 0);
  }
  EXPECT_EQ(found, 1);
}

// Reports that were saved stand beside scenarios, and beside each other.
TEST_F(CompareCommand, SavedReportsAreCompared) {
  const std::string a = File("a.json");
  const std::string b = File("b.json");
  ASSERT_EQ(RunOrrery({"simulate", "quickstart", "--json", a}).exit_code, 0);
  ASSERT_EQ(RunOrrery({"simulate", "quickstart", "--set",
                       "training.micro_batch=2", "--json", b})
                .exit_code,
            0);
  const auto number = [](const std::string& path) {
    const auto json = ParseJson(*ReadFile(path));
    return json->Find("step_time_s")->number()->value;
  };
  const auto saved = RunOrrery({"compare", a, b, "--json", "-"});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  const auto fresh =
      RunOrrery({"compare", "quickstart", b, "--no-causes", "--json", "-"});
  ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
  for (const auto& run : {saved, fresh}) {
    const auto json = ParseJson(run.out);
    ASSERT_TRUE(json.ok());
    const auto& sides = *json->Find("sides")->array();
    ASSERT_EQ(sides.size(), 2u);
    for (const size_t i : {0u, 1u}) {
      EXPECT_EQ(sides[i].Find("report")->Find("step_time_s")->number()->value,
                number(i == 0 ? a : b));
    }
  }
  std::ofstream(a) << "{\"mfu\": 0.3}";
  const auto wrong = RunOrrery({"compare", a, b});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("is not a report"));
}

}  // namespace
}  // namespace orrery
