// orrery kernel, roofline, validate and calibrate, from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string TemporaryFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(KernelCommand, PrintsTimeLimitAndTile) {
  const ProgramResult result =
      RunOrrery({"kernel", "--chip", "h100_sxm", "--op", "gemm", "--m", "4096",
                 "--n", "4096", "--k", "4096", "--dtype", "bf16"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("4096 x 4096 x 4096 BF16"),
                                HasSubstr("matrix"), HasSubstr("tiles of")));
}

TEST(KernelCommand, WritesJson) {
  const ProgramResult result = RunOrrery(
      {"kernel", "--chip", "h100_sxm", "--op", "attention", "--heads", "32",
       "--kv-heads", "8", "--queries", "1", "--keys", "4096", "--json", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_OK_AND_ASSIGN(const JsonValue json, ParseJson(result.out));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\"time_s\""), HasSubstr("\"memory_bytes\""),
                    HasSubstr("\"provenance\": \"model\"")));
}

TEST(KernelCommand, AFieldOfTheChipCanBeOverridden) {
  const auto bound = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"kernel", "--chip", "a100_sxm_80",
                                      "--op",   "norm",   "--m",
                                      "8192",   "--n",    "8192"};
    words.insert(words.end(), more.begin(), more.end());
    return RunOrrery(words).out;
  };
  EXPECT_NE(bound({}), bound({"--set", "memory_bandwidth=4 TB/s"}));
}

TEST(KernelCommand, RefusesWhatMakesNoKernel) {
  const auto refusal = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"kernel", "--chip", "h100_sxm"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = RunOrrery(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    return result.err;
  };
  EXPECT_THAT(refusal({"--op", "gemm"}), HasSubstr("--m is needed"));
  EXPECT_THAT(refusal({"--m", "0"}), HasSubstr("--m must be a whole number"));
  EXPECT_THAT(refusal({"--op", "gem"}), HasSubstr("did you mean 'gemm'?"));
  EXPECT_THAT(refusal({"--op", "attention", "--heads", "6", "--kv-heads", "4",
                       "--queries", "8"}),
              HasSubstr("--kv-heads must divide --heads"));
  EXPECT_THAT(
      refusal({"--m", "1000000000000", "--n", "1000000000000", "--k", "1"}),
      HasSubstr("more than can be timed"));
  EXPECT_THAT(RunOrrery({"kernel", "--m", "1"}).err,
              HasSubstr("--chip is needed"));
}

TEST(RooflineCommand, ListsTheOpsOfALayer) {
  const ProgramResult result =
      RunOrrery({"roofline", "--chip", "h100_sxm", "--model", "llama3_8b"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("query_key_value"), HasSubstr("dgrad"),
                    HasSubstr("wgrad"), HasSubstr("sum")));
  const ProgramResult decode =
      RunOrrery({"roofline", "--chip", "h200_sxm", "--model", "deepseek_v3",
                 "--decode", "--batch", "64", "--graph"});
  EXPECT_EQ(decode.exit_code, 0) << decode.err;
  EXPECT_THAT(decode.out,
              AllOf(HasSubstr("expert_up"), HasSubstr("query_absorb"),
                    Not(HasSubstr("wgrad"))));
}

TEST(ValidateCommand, KernelsMeetTheirBars) {
  const ProgramResult result = RunOrrery({"validate", "kernels"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("a100_sxm_80"), HasSubstr("h800_sxm"),
                                HasSubstr("682 rows predicted, 4 refused")));
}

TEST(ValidateCommand, TakesATeamsOwnTableAndSaysNoWhenItIsFarOff) {
  const std::string mine =
      TemporaryFile("mine.csv",
                    "chip,kernel,dtype,m,n,k,time_us\n"
                    "h100_sxm,gemm,bf16,8192,8192,8192,700\n"
                    "h100_sxm,gemm,bf16,8192,,8192,700\n");
  const ProgramResult result = RunOrrery({"validate", "kernels", mine});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("missed"), HasSubstr("1 rows predicted"),
                    HasSubstr("line 3: column 'n' must be")));
  EXPECT_EQ(RunOrrery({"validate", "kernels", "no such file"}).exit_code, 2);
  EXPECT_THAT(RunOrrery({"validate", "kernel"}).err,
              HasSubstr("did you mean 'kernels'?"));
}

// The shipped constants are where the fit ends: fitting again from there on
// changes none of them.
TEST(CalibrateCommand, ReproducesTheShippedConstants) {
  for (const std::string chip : {"a100_sxm_80", "h100_sxm", "h800_sxm"}) {
    const std::string path = "catalog/chips/" + chip + ".textproto";
    ASSERT_OK_AND_ASSIGN(const std::string shipped, ReadFile(path));
    const std::string copy = TemporaryFile(chip + ".textproto", shipped);
    const ProgramResult result =
        RunOrrery({"calibrate", chip, "--write", copy});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ASSERT_OK_AND_ASSIGN(const std::string again, ReadFile(copy));
    EXPECT_EQ(again, shipped) << result.out;
  }
}

TEST(CalibrateCommand, NeedsAChipWithMeasurements) {
  const ProgramResult result = RunOrrery({"calibrate", "gb300"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no measured kernel of chip 'gb300'"));
}

}  // namespace
}  // namespace orrery
