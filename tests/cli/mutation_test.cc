// Thousands of corrupted inputs through the program: whatever comes in, it says
// in words what is wrong and exits with 2 (or 0, where the damage happens to be
// legal). No crash, no hang, no bug report, bounded memory.
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/format.h"
#include "base/random.h"
#include "catalog/catalog.h"
#include "tests/cli/mutate.h"
#include "tests/cli/run_orrery.h"
#include "tests/effort.h"

namespace orrery {
namespace {

// Far above what the program needs, far below what an unchecked count would
// ask for. Sanitizers multiply what a program uses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kMemory = int64_t{3} << 30;
#else
constexpr int64_t kMemory = int64_t{300} << 20;
#endif

std::string Text(absl::string_view kind, absl::string_view name) {
  for (const EmbeddedPreset& preset : Catalog().presets()) {
    if (preset.kind == kind && preset.name == name) {
      return std::string(preset.text);
    }
  }
  ADD_FAILURE() << "no preset " << name;
  return "";
}

// 0 or 2, with words in the second case.
void ExpectManners(const ProgramResult& result, const std::string& input) {
  ASSERT_TRUE(result.exit_code == 0 || result.exit_code == 2)
      << "exit " << result.exit_code << "\n"
      << result.err << "\nfor:\n"
      << input;
  ASSERT_LT(result.peak_rss_bytes, kMemory) << input;
  if (result.exit_code == 0) return;
  ASSERT_EQ(result.out, "") << input;
  const std::vector<std::string> lines = absl::StrSplit(result.err, '\n');
  ASSERT_GE(lines.size(), 2u) << input;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    ASSERT_THAT(lines[i], testing::StartsWith("orrery: ")) << input;
    ASSERT_LT(lines[i].size(), 2000u) << input;
  }
}

class Mutation : public testing::TestWithParam<const char*> {};

TEST_P(Mutation, OfAScenarioIsAnsweredWithWords) {
  Rng rng(1, fmt::format("mutate {}", GetParam()));
  const std::string original = Text("scenarios", GetParam());
  // The resolved text has every field, so damage reaches chips and fabrics too.
  const ProgramResult shown = RunOrrery({"show", GetParam()});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  int refused = 0;
  const int rounds = Rounds(400);
  for (int i = 0; i < rounds; ++i) {
    const std::string input = Mutate(i % 2 == 0 ? original : shown.out, &rng);
    const ProgramResult result = RunOrrery({"show", "-"}, input);
    ExpectManners(result, input);
    if (HasFatalFailure()) return;
    refused += result.exit_code == 2;
  }
  // Most damage is damage.
  EXPECT_GT(refused, rounds / 2);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Mutation,
                         testing::Values("quickstart", "deepseek_v3_2k",
                                         "llama3_405b_16k",
                                         "llama2_70b_inference"));

TEST(Mutation, OfAnOverrideIsAnsweredWithWords) {
  Rng rng(2, "mutate overrides");
  const std::vector<std::string> values = {"0",
                                           "-1",
                                           "2147483647",
                                           "-2147483648",
                                           "99999999999999999999",
                                           "1e308",
                                           "nan",
                                           "inf",
                                           "",
                                           "true",
                                           "\"",
                                           "{",
                                           "}",
                                           "[",
                                           "[[[[",
                                           "BF16",
                                           "0 GB",
                                           "-5 GB",
                                           "1e300 TB/s",
                                           "80 GB",
                                           "{}",
                                           "{preset: \"x\"}",
                                           std::string(5000, 'a'),
                                           std::string(3, '\0'),
                                           "a,b,c",
                                           "1,2,3"};
  const std::vector<std::string> paths = FieldPaths();
  ASSERT_GT(paths.size(), 150u);
  const int rounds = Rounds(1200);
  for (int i = 0; i < rounds; ++i) {
    const std::string set =
        fmt::format("{}={}", paths[rng.Below(paths.size())],
                    std::string(values[rng.Below(values.size())].c_str()));
    const ProgramResult result =
        RunOrrery({"show", "quickstart", "--set", set});
    ExpectManners(result, set);
    if (HasFatalFailure()) return;
  }
}

TEST(Mutation, OfAnImportIsAnsweredWithWords) {
  Rng rng(3, "mutate imports");
  std::vector<std::string> originals;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/data/hf")) {
    originals.push_back(ReadFile(entry.path().string()).value());
  }
  std::sort(originals.begin(), originals.end());
  ASSERT_GE(originals.size(), 6u);
  int refused = 0;
  const int rounds = Rounds(800);
  for (int i = 0; i < rounds; ++i) {
    const std::string input =
        Mutate(originals[rng.Below(originals.size())], &rng);
    const ProgramResult result = RunOrrery({"import", "hf", "-"}, input);
    ExpectManners(result, input);
    if (HasFatalFailure()) return;
    refused += result.exit_code == 2;
  }
  EXPECT_GT(refused, rounds / 2);
  std::string deep(200'000, '[');
  EXPECT_EQ(RunOrrery({"import", "hf", "-"}, deep).exit_code, 2);
}

TEST(Mutation, DeepNestingIsRefused) {
  for (const char* open : {"model {", "training { parallel {", "{", "[",
                           "system { chip { preset: "}) {
    std::string input;
    for (int i = 0; i < 100'000; ++i) input += open;
    const ProgramResult result = RunOrrery({"show", "-"}, input);
    EXPECT_EQ(result.exit_code, 2) << open;
    ExpectManners(result, open);
  }
}

}  // namespace
}  // namespace orrery
