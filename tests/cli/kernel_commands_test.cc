// orrery kernel, roofline, validate and calibrate, from the outside.
#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
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
  EXPECT_NE(bound({}), bound({"--set", "kernels.memory_efficiency=0.5"}));
}

TEST(KernelCommand, TheLibraryCanBeChosen) {
  const auto run = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"kernel", "--chip", "h800_sxm",
                                      "--m",    "512",    "--n",
                                      "4096",   "--k",    "4096"};
    words.insert(words.end(), more.begin(), more.end());
    return RunOrrery(words);
  };
  const std::string own = run({}).out;
  EXPECT_THAT(own, HasSubstr("from the model"));
  EXPECT_EQ(run({"--library", "hopper_deepseek_2025"}).out, own);
  EXPECT_THAT(run({"--library", "hopper_trtllm_2025"}).out,
              HasSubstr("constants of another chip"));
  const ProgramResult wrong = run({"--library", "hopper_trtlm_2025"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'hopper_trtllm_2025'?"));
  EXPECT_THAT(run({"--set", "calibration.launch=1 us"}).err,
              HasSubstr("kernels.launch"));
  // What chooses presets has flags of its own.
  for (const char* set : {"kernels.preset=nope", "default_kernels=nope"}) {
    const ProgramResult named = run({"--set", set});
    EXPECT_EQ(named.exit_code, 2);
    EXPECT_THAT(named.err, HasSubstr("--library"));
  }
  EXPECT_THAT(run({"--set", "preset=h100_sxm"}).err, HasSubstr("--chip"));
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

// One source of products misses its bar by 0.2 points, so the answer is "no".
TEST(ValidateCommand, ABarThatIsMissedIsExitCode1) {
  const ProgramResult result = RunOrrery({"validate", "kernels"});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.out, HasSubstr(" missed\n"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("a100_sxm_80"), HasSubstr("h800_sxm"),
                                HasSubstr("1056 rows predicted, 6 refused")));
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
  // The H100's rows by the libraries of the H800: still read, further off.
  EXPECT_THAT(RunOrrery({"validate", "kernels", mine, "--library",
                         "hopper_deepseek_2025"})
                  .out,
              HasSubstr("1 rows predicted"));
  EXPECT_THAT(
      RunOrrery({"validate", "training", "--library", "hopper_estimate"}).err,
      HasSubstr("--library is for 'orrery validate kernels'"));
  EXPECT_THAT(RunOrrery({"validate", "kernel"}).err,
              HasSubstr("did you mean 'kernels'?"));
}

// The shipped constants are where the fit ends: fitting again from there on
// changes none of them.
TEST(CalibrateCommand, ReproducesTheShippedConstants) {
  struct Fit {
    std::string chip;
    std::string kernels;
  };
  for (const auto& [chip, kernels] :
       {Fit{"a100_sxm_80", "ampere_trtllm_2025"},
        Fit{"h100_sxm", "hopper_trtllm_2025"},
        Fit{"h800_sxm", "hopper_deepseek_2025"}}) {
    const std::string path = "catalog/kernels/" + kernels + ".textproto";
    ASSERT_OK_AND_ASSIGN(const std::string shipped, ReadFile(path));
    const std::string copy = TemporaryFile(kernels + ".textproto", shipped);
    const ProgramResult result =
        RunOrrery({"calibrate", chip, "--write", copy});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ASSERT_OK_AND_ASSIGN(const std::string again, ReadFile(copy));
    EXPECT_EQ(again, shipped) << result.out;
    // Power and clocks stand in the chip, and stay as well.
    EXPECT_EQ(
        std::regex_search(result.out,
                          std::regex("power_draw.matrix = (.*)   # was \\1\n")),
        chip != "h800_sxm");
    EXPECT_TRUE(std::regex_search(
        result.out, std::regex("burst_clock = (.*)   # was \\1\n")));
  }
}

TEST(ValidateCommand, LeavesSourcesOutInTurn) {
  const std::string table =
      TemporaryFile("two.csv",
                    "source_id,chip,kernel,dtype,m,n,k,time_us\n"
                    "first,h100_sxm,gemm,bf16,8192,8192,8192,1500\n"
                    "second,h100_sxm,gemm,bf16,8192,8192,8192,1600\n"
                    "alone,h20_sxm,gemm,bf16,8192,8192,8192,9000\n");
  const ProgramResult result =
      RunOrrery({"validate", "kernels", table, "--leave-out"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // Fitted on 1600 us, 1500 us are 1600 / 1500 - 1 = 6.7 % off, and 1600 us as
  // much as 1 - 1500 / 1600 = 6.3 % with the other; the fit comes within a
  // percent of what it is given.
  EXPECT_TRUE(
      std::regex_search(result.out, std::regex("first .* [67]\\.. %\n")))
      << result.out;
  EXPECT_TRUE(
      std::regex_search(result.out, std::regex("second .* [67]\\.. %\n")))
      << result.out;
  EXPECT_THAT(result.out, HasSubstr("no other source"));
  EXPECT_EQ(RunOrrery({"validate", "collectives", "--leave-out"}).exit_code, 2);
}

TEST(CalibrateCommand, NeedsAChipWithMeasurements) {
  const ProgramResult result = RunOrrery({"calibrate", "gb300"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no measured kernel of chip 'gb300'"));
}

}  // namespace
}  // namespace orrery
