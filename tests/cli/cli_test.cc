// The program from the outside: words in; text, JSON and exit codes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/format.h"
#include "catalog/catalog.h"
#include "catalog/textproto.h"
#include "cli/print/json.h"
#include "proto/search.pb.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Runs, expects a refusal in one line, and returns that line.
std::string Refusal(const std::vector<std::string>& arguments) {
  const ProgramResult result = RunOrrery(arguments);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, StartsWith("orrery: "));
  EXPECT_EQ(result.err.find('\n') + 1, result.err.size()) << result.err;
  return result.err;
}

TEST(Cli, HelpListsTheCommandsAndEachExplainsItself) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"--help"}, {"help"}, {"-h"}}) {
    const ProgramResult result = RunOrrery(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("show SCENARIO"), HasSubstr("list [KIND]"),
                      HasSubstr("Exit codes")));
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"show", "--help"}, {"help", "show"}}) {
    const ProgramResult result = RunOrrery(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, AllOf(HasSubstr("usage: orrery show SCENARIO"),
                                  HasSubstr("--set PATH=VALUE")));
  }
  EXPECT_THAT(RunOrrery({"--version"}).out, StartsWith("orrery "));
}

TEST(Cli, WrongWordsAreAnsweredWithRightOnes) {
  EXPECT_THAT(Refusal({"shwo", "quickstart"}),
              HasSubstr("no command 'shwo'; did you mean 'show'?"));
  EXPECT_THAT(Refusal({"show"}), HasSubstr("'show' needs SCENARIO"));
  EXPECT_THAT(Refusal({"show", "a", "b"}), HasSubstr("what to do with 'b'"));
  EXPECT_THAT(Refusal({"show", "quickstart", "--sett", "x=1"}),
              HasSubstr("no flag '--sett'; did you mean '--set'?"));
  EXPECT_THAT(Refusal({"show", "quickstart", "--set"}),
              HasSubstr("--set needs PATH=VALUE"));
  EXPECT_THAT(Refusal({"show", "quickstart", "--json", "a", "--json", "b"}),
              HasSubstr("given twice"));
  EXPECT_THAT(Refusal({"show", "quickstart", "-x"}), HasSubstr("two dashes"));
  EXPECT_THAT(Refusal({"show", "quickstrat"}),
              HasSubstr("did you mean 'quickstart'?"));
  EXPECT_THAT(Refusal({"list", "chip"}), HasSubstr("did you mean 'chips'?"));
  EXPECT_THAT(Refusal({"show", ""}),
              HasSubstr("'show' needs SCENARIO, and got an empty one"));
}

TEST(Cli, EveryScenarioShowsAndWhatItShowsIsTheSameAgain) {
  for (const std::string& name : Catalog().Names("scenarios")) {
    const ProgramResult first = RunOrrery({"show", name});
    ASSERT_EQ(first.exit_code, 0) << name << ": " << first.err;
    EXPECT_THAT(first.err, IsEmpty());
    const ProgramResult second = RunOrrery({"show", "-"}, first.out);
    EXPECT_EQ(second.exit_code, 0) << name << ": " << second.err;
    EXPECT_EQ(second.out, first.out) << name;
  }
}

TEST(Cli, SetReachesEveryLevel) {
  const ProgramResult result =
      RunOrrery({"show", "quickstart", "--set", "training.parallel.tensor=8",
                 "--set=training.parallel.pipeline=1", "--set",
                 "system.chip.memory=96 GB"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("tensor: 8"), HasSubstr("data: 4"),
                                HasSubstr("memory: \"96 GB\"")));
}

TEST(Cli, EveryBrokenRuleOfAPlanIsListed) {
  const ProgramResult result = RunOrrery(
      {"show", "quickstart", "--set", "training.parallel.tensor=3", "--set",
       "training.global_batch=63", "--set", "training.parallel.data=4", "--set",
       "training.parallel.expert=2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("orrery: training.parallel.tensor: 3 must divide"),
            HasSubstr("orrery: training.global_batch: 63 must be"),
            HasSubstr("orrery: training.parallel.expert: 2, but")));
}

TEST(Cli, AMissingPhysicalQuantityIsAnErrorNotZero) {
  EXPECT_THAT(Refusal({"show", "quickstart", "--set", "system.chip.memory="}),
              HasSubstr("system.chip.memory: "));
  EXPECT_THAT(
      Refusal({"show", "quickstart", "--set", "system.chip.memory=96"}),
      HasSubstr("must be a number of bytes from 1 MB to 100 TB, got '96'"));
}

TEST(Cli, JsonHasTheSchemasNamesAndGoesWhereItIsTold) {
  const ProgramResult shown = RunOrrery({"show", "quickstart", "--json", "-"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("\"micro_batch\": 1"),
                               HasSubstr("\"schedule\": \"ONE_F_ONE_B\"")));
  const std::string path = TestFile("list.json");
  const ProgramResult listed = RunOrrery({"list", "scenarios", "--json", path});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  EXPECT_THAT(text, HasSubstr("\"name\": \"quickstart\""));
  std::filesystem::remove(path);
}

TEST(Cli, UnwritableOutputIsAnErrorAndLeavesNothing) {
  EXPECT_THAT(Refusal({"list", "--json", "/nonexistent/x.json"}),
              HasSubstr("cannot write '/nonexistent/x.json'"));
  EXPECT_THAT(Refusal({"list", "--json", "/dev/full"}),
              HasSubstr("No space left"));
}

TEST(Cli, FilesThatAreNoScenarioAreRefused) {
  EXPECT_THAT(Refusal({"show", "/"}), HasSubstr("it is a directory"));
  EXPECT_THAT(Refusal({"show", "./nothing.textproto"}),
              HasSubstr("No such file"));
  EXPECT_THAT(Refusal({"show", "/dev/zero"}), HasSubstr("larger than"));
  const std::string path = TestFile("giant.textproto");
  std::ofstream(path) << std::string(100'000'000, 'x');
  const ProgramResult giant = RunOrrery({"show", path});
  EXPECT_EQ(giant.exit_code, 2);
  EXPECT_THAT(giant.err, HasSubstr("larger than the 16 MiB"));
  // The refusal does not read the file first: it takes less than half of it
  // more than a command that reads nothing, whatever the build.
  EXPECT_LT(giant.peak_rss_bytes,
            RunOrrery({"--version"}).peak_rss_bytes + 50'000'000);
  std::filesystem::remove(path);
}

TEST(Cli, ListNamesEveryPresetWithALineOfItsOwn) {
  const ProgramResult result = RunOrrery({"list"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const EmbeddedPreset& preset : Catalog().presets()) {
    EXPECT_THAT(result.out, HasSubstr(fmt::format("\n  {} ", preset.name)));
  }
}

TEST(Cli, AnImportedModelIsAPartOfAScenario) {
  const ProgramResult model =
      RunOrrery({"import", "hf", "tests/data/hf/llama3_8b.json"});
  ASSERT_EQ(model.exit_code, 0) << model.err;
  EXPECT_THAT(model.out, HasSubstr("name: \"llama3_8b\""));
  const ProgramResult shown = RunOrrery(
      {"show", "-"},
      fmt::format("model {{ {} }} system {{ preset: \"dgx_h100_ib400\" nodes: "
                  "1 }} inference {{ batch: 8 prompt: 100 output: 100 "
                  "precision: BF16 }}",
                  model.out));
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
}

TEST(Cli, AnUnknownArchitectureOrFormatIsRefused) {
  EXPECT_THAT(Refusal({"import", "onnx", "x"}), HasSubstr("hf"));
  EXPECT_THAT(Refusal({"import", "hf", "nowhere.json"}),
              HasSubstr("No such file"));
  const ProgramResult result = RunOrrery(
      {"import", "hf", "-"}, R"({"architectures": ["MambaForCausalLM"]})");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("MambaForCausalLM"),
                                HasSubstr("known: bloom, ")));
}

TEST(Json, NumbersAndStringsAreExact) {
  EXPECT_EQ(JsonNumberText(0.1), "0.1");
  EXPECT_EQ(JsonNumberText(1e300 * 1e300), "null");
  pb::Tuning tuning;
  tuning.set_plans_considered(INT64_MAX);
  EXPECT_EQ(ToJson(tuning),
            "{\n  \"plans_considered\": 9223372036854775807\n}\n");
  EXPECT_EQ(ToJson(pb::Scenario()), "{}\n");
}

}  // namespace
}  // namespace orrery
