// What used to be taken without a word, and is refused or put right.
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "cli/commands/commands.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string Refusal(const std::vector<std::string>& arguments,
                    const std::string& input = "") {
  const ProgramResult result = RunOrrery(arguments, input);
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, StartsWith("orrery: "));
  return result.err;
}

// A shell's exit code of a line in which $ORRERY_BINARY is the program.
int Shell(const std::string& line) {
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> Gemm(std::vector<std::string> more) {
  std::vector<std::string> words = {"kernel", "--m", "4096", "--n",
                                    "4096",   "--k", "4096"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Nonsense, AChipRunsOnlyTheFormatsItHasUnitsFor) {
  EXPECT_THAT(Refusal(Gemm({"--chip", "h100_sxm", "--dtype", "fp4"})),
              HasSubstr("h100_sxm has no matrix units for FP4; it has FP64, "
                        "FP32, TF32, BF16, FP16, FP8, INT8"));
  EXPECT_THAT(Refusal(Gemm({"--chip", "a100_sxm_80", "--dtype", "fp8"})),
              HasSubstr("no matrix units for FP8"));
  EXPECT_THAT(Refusal({"roofline", "--chip", "a100_sxm_80", "--model",
                       "llama3_8b", "--dtype", "fp8"}),
              HasSubstr("no matrix units for FP8"));
  EXPECT_EQ(RunOrrery(Gemm({"--chip", "b200_sxm", "--dtype", "fp4"})).exit_code,
            0);
}

TEST(Nonsense, NoClockIsAboveTheHighestStatedOne) {
  for (const char* clock : {"2.5 GHz", "1e9 GHz", "1e30 GHz"}) {
    EXPECT_THAT(Refusal(Gemm({"--chip", "h100_sxm", "--clock", clock})),
                AnyOf(HasSubstr("the highest clock that h100_sxm states"),
                      HasSubstr("beyond anything real")));
  }
  EXPECT_EQ(
      RunOrrery(Gemm({"--chip", "h100_sxm", "--clock", "1.4 GHz"})).exit_code,
      0);
}

TEST(Nonsense, ARowHasALength) {
  for (const char* op : {"norm", "softmax", "quantize"}) {
    EXPECT_THAT(
        Refusal({"kernel", "--chip", "h100_sxm", "--op", op, "--m", "4096"}),
        HasSubstr("--n is needed"));
  }
}

TEST(Nonsense, NumbersAreNumbers) {
  for (const char* value : {"nan", "inf", "-inf", "1e300"}) {
    for (const char* field :
         {"training.expert_imbalance", "training.run_tokens",
          "kernels.matrix_efficiency", "kernels.step_cycles"}) {
      EXPECT_THAT(Refusal({"show", "quickstart", "--set",
                           fmt::format("{}={}", field, value)}),
                  HasSubstr(field));
    }
  }
}

// Of every command, any two flags that name a file to be written; and no answer
// is written over the question.
TEST(Nonsense, WhateverIsWrittenHasAFileOfItsOwn) {
  const std::string file = TestFile("twice");
  const std::vector<std::vector<std::string>> commands = {
      {"simulate", "quickstart"},  {"estimate", "quickstart"},
      {"check", "quickstart"},     {"explain", "quickstart"},
      {"cost", "quickstart"},      {"compare", "quickstart", "quickstart"},
      {"sweep", "chiplets"},       {"topology", "dgx_h100_ib400"},
      {"validate", "collectives"}, {"collective", "--size", "1MB"},
      {"kernel", "--m", "1"},      {"list", "models"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--json", file, "--csv", file});
    EXPECT_THAT(Refusal(words), HasSubstr("--csv and --json both write"))
        << words[0];
    words[words.size() - 3] = words[words.size() - 1] = "-";
    EXPECT_THAT(Refusal(words),
                HasSubstr("--csv and --json both write to standard output"))
        << words[0];
  }
  EXPECT_THAT(
      Refusal({"simulate", "./mine.textproto", "--json", "mine.textproto"}),
      HasSubstr("--json would write over 'mine.textproto', which is read"));
}

TEST(Nonsense, ATraceHasAFileOfItsOwn) {
  const std::string file = TestFile("both");
  EXPECT_THAT(
      Refusal({"simulate", "quickstart", "--json", file, "--trace", file}),
      HasSubstr("--json and --trace both write"));
  EXPECT_THAT(
      Refusal({"simulate", "quickstart", "--json", file, "--trace",
               testing::TempDir() + "/./" + file.substr(file.rfind('/') + 1)}),
      HasSubstr("--json and --trace both write"));
  EXPECT_THAT(
      Refusal({"simulate", "quickstart", "--csv", file, "--trace", file}),
      HasSubstr("--csv and --trace both write"));
  EXPECT_THAT(Refusal({"simulate", "quickstart", "--trace", "-"}),
              HasSubstr("not to standard output"));
  EXPECT_THAT(Refusal({"collective", "--system", "dgx_h100_ib400", "--size",
                       "1MB", "--trace", "-"}),
              HasSubstr("not to standard output"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

// A timeline has every kernel; merged ones take another time.
TEST(Nonsense, MergedKernelsAreNotDrawn) {
  for (const char* file : {"--trace", "--html"}) {
    EXPECT_THAT(Refusal({"simulate", "quickstart", "--kernels", "merged", file,
                         TestFile("merged")}),
                HasSubstr("--kernels merged: a timeline and a page show"));
  }
}

TEST(Nonsense, AFitDoesNotGoIntoAnotherLibrarysFile) {
  const std::string chip = TestFile("chip.textproto");
  const std::string kernels = TestFile("kernels.textproto");
  std::filesystem::copy_file("catalog/chips/h200_sxm.textproto", chip);
  std::filesystem::copy_file("catalog/kernels/ampere_trtllm_2025.textproto",
                             kernels);
  const std::string before = ReadFile(kernels).value();
  EXPECT_THAT(Refusal({"calibrate", "h100_sxm", "--write", chip}),
              HasSubstr("holds a Chip by its own words"));
  EXPECT_THAT(Refusal({"calibrate", "h100_sxm", "--write", kernels}),
              HasSubstr("were fitted; --library chooses others"));
  EXPECT_EQ(ReadFile(kernels).value(), before);
  std::filesystem::remove(chip);
  std::filesystem::remove(kernels);
}

TEST(Nonsense, TextInAnotherEncodingIsToldSo) {
  const std::string shown = RunOrrery({"show", "quickstart"}).out;
  // A byte order mark is no mistake.
  const ProgramResult marked = RunOrrery({"show", "-"}, "\xEF\xBB\xBF" + shown);
  EXPECT_EQ(marked.exit_code, 0) << marked.err;
  EXPECT_EQ(marked.out, shown);
  EXPECT_THAT(Refusal({"show", "-"}, "\n# caf\xE9\n" + shown),
              HasSubstr("-:2: the text is not UTF-8"));
  EXPECT_THAT(Refusal({"show", "-"}, "\xFF\xFEn\0"), HasSubstr("UTF-16"));
  // An escape makes bytes of its own.
  EXPECT_THAT(
      Refusal(
          {"show", "-"},
          "name: 'caf\\351' model { preset: 'llama3_8b' } system { preset: "
          "'dgx_h100_ib400' nodes: 1 } training { global_batch: 8 sequence: "
          "4096 precision: bf16 parallel { tensor: 8 } }"),
      HasSubstr("name: 'caf\\xE9' is not UTF-8"));
}

TEST(Nonsense, ACutTraceIsNotServed) {
  const std::string file = TestFile("cut.pftrace");
  ASSERT_EQ(RunOrrery({"simulate", "quickstart", "--set", "model.layers=4",
                       "--trace", file})
                .exit_code,
            0);
  const std::string whole = ReadFile(file).value();
  for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{12}}) {
    Write(file, whole.substr(0, size));
    EXPECT_THAT(Refusal({"view", file, "--port", "0"}),
                HasSubstr("damaged or cut short"))
        << size;
  }
  Write(file, "{\"traceEvents\": [");
  EXPECT_THAT(Refusal({"view", file, "--port", "0"}),
              HasSubstr("damaged or cut short"));
  std::filesystem::remove(file);
}

TEST(Nonsense, ClosedStandardFilesChangeNoExitCode) {
  EXPECT_EQ(Shell("$ORRERY_BINARY show nothing_like_it 2>&-"), 2);
  EXPECT_EQ(Shell("$ORRERY_BINARY show quickstart >/dev/null 2>&- <&-"), 0);
  // What cannot be written is not done.
  EXPECT_EQ(Shell("$ORRERY_BINARY show quickstart >&- 2>/dev/null"), 2);
  // A file must not become standard error.
  const std::string file = TestFile("report.json");
  EXPECT_EQ(Shell("$ORRERY_BINARY estimate quickstart --json " + file +
                  " >/dev/null 2>&-"),
            0);
  EXPECT_OK(ParseJson(ReadFile(file).value()).status());
  std::filesystem::remove(file);
}

TEST(Nonsense, AClosedPipeEndsItQuietly) {
  const std::string said = TestFile("said");
  // The pipe is closed before anything is written.
  EXPECT_EQ(Shell("bash -c 'set -o pipefail; (sleep 0.3; $ORRERY_BINARY list) "
                  "2>" +
                  said + " | true'"),
            141);
  EXPECT_EQ(ReadFile(said).value(), "");
  std::filesystem::remove(said);
}

TEST(Nonsense, APartIsNoScenarioAndIsToldWhatItIs) {
  EXPECT_THAT(Refusal({"simulate", "llama3_8b"}),
              AllOf(HasSubstr("'llama3_8b' is a model, not a scenario"),
                    HasSubstr("quickstart --set model.preset=llama3_8b")));
  EXPECT_THAT(Refusal({"show", "dgx_h100_ib400"}),
              HasSubstr("is a system, not a scenario"));
  EXPECT_THAT(Refusal({"show", "catalog/models/llama3_8b.textproto"}),
              HasSubstr("holds a Model by its own words"));
  EXPECT_THAT(Refusal(Gemm({"--chip", "dgx_h100_ib400"})),
              HasSubstr("'dgx_h100_ib400' is a system, and a chip is needed"));
}

TEST(Nonsense, AScenarioWithoutANameHasItsFilesName) {
  const std::string file = TestFile("mine.textproto");
  Write(file,
        "model { preset: \"llama3_8b\" } system { preset: \"dgx_h100_ib400\" "
        "nodes: 1 } training { global_batch: 8 sequence: 4096 precision: bf16 "
        "parallel { tensor: 8 } }");
  const ProgramResult result = RunOrrery({"estimate", file});
  EXPECT_NE(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.out, HasSubstr("mine"));
  std::filesystem::remove(file);
}

TEST(Nonsense, ARunBeyondTimeNamesWhatTakesSoLong) {
  // 65536 micro-batches, the most that are simulated, over the slowest links.
  const std::string refusal =
      Refusal({"simulate", "quickstart", "--set",
               "system.scale_up.fabric.link.bandwidth=1 MB/s", "--set",
               "training.global_batch=262144"});
  EXPECT_THAT(refusal, AllOf(HasSubstr("most of it is tensor communication"),
                             HasSubstr("beyond the 1000000 s")));
  EXPECT_THAT(Refusal({"estimate", "quickstart", "--set",
                       "system.chip.peak[BF16].rate=1 GFLOP/s"}),
              HasSubstr("most of it is kernels"));
  // 2 10^18 FLOP at 10^9 of them in a second.
  EXPECT_THAT(Refusal({"kernel", "--chip", "h100_sxm", "--m", "1000000", "--n",
                       "1000000", "--k", "1000000", "--set",
                       "peak[BF16].rate=1 GFLOP/s"}),
              HasSubstr("longer than the 9000000 s"));
}

TEST(Nonsense, ARequestBeyondTimeNamesTheSlowestPart) {
  using Sets = std::vector<std::string>;
  for (const auto& [sets, part] :
       {std::pair(Sets{"system.scale_up.fabric.link.bandwidth=1 MB/s",
                       "inference.batch=256", "inference.prompt=131072"},
                  "tensor communication"),
        // Twice a layer 126 steps around 64 ranks, each over two links or more.
        std::pair(Sets{"system.scale_up.fabric.link.latency=1 s",
                       "system.scale_out.fabric.link.latency=1 s",
                       "system.collectives.algorithm=[ring]", "system.nodes=8",
                       "inference.parallel.tensor=64", "model.layers=10000"},
                  "tensor communication"),
        std::pair(Sets{"system.chip.memory_bandwidth=1 GB/s",
                       "model.layers=10000", "inference.batch=65536"},
                  "kernels")}) {
    std::vector<std::string> words = {"simulate", "llama2_70b_inference"};
    for (const std::string& set : sets) {
      words.insert(words.end(), {"--set", set});
    }
    const std::string refusal = Refusal(words);
    EXPECT_THAT(refusal, HasSubstr(fmt::format("most of it is {}", part)))
        << sets[0];
    EXPECT_THAT(refusal, HasSubstr("beyond the 1000000 s")) << sets[0];
  }
}

// Every example that --help shows does what it says; those that wait for a
// browser or need a file of the reader's are left out.
// Whatever is wrong with what was typed is said at once: text that cannot be
// read, values that are illegal by themselves and presets that do not exist, in
// the file and behind --set.
TEST(Nonsense, EveryMistakeIsToldAtOnce) {
  const std::string file = TestFile("mistakes.textproto");
  Write(file,
        "modell { preset: 'llama3_8b' }\n"
        "system { preset: 'dgx_h100_ib4' nodes: 0 }\n"
        "training { global_batch: 64 schedule: ONE_F_OONE_B sequence: -1 }\n");
  EXPECT_THAT(
      Refusal({"show", file, "--set", "training.micro_batch=-1", "--set",
               "training.shardin=ZERO_1"}),
      AllOf(HasSubstr(":1:1: Scenario has no field 'modell'"),
            HasSubstr(":3:39: schedule must be one of"),
            HasSubstr("system.nodes: must be a whole number"),
            HasSubstr("system.preset: there is no system 'dgx_h100_ib4'; did "
                      "you mean 'dgx_h100_ib400'?"),
            HasSubstr("training.sequence: must be a whole number"),
            HasSubstr("training.micro_batch: must be a whole number"),
            HasSubstr("--set training.shardin: Training has no field")));
  EXPECT_THAT(
      Refusal({"show", "quickstart", "--set", "model.preset=llama9", "--set",
               "system.preset=dgx_h100", "--set", "framework.preset=megatron",
               "--set", "training.micro_batch=-1", "--set", "bla=1"}),
      AllOf(HasSubstr("--set model.preset: there is no model 'llama9'"),
            HasSubstr("--set system.preset: there is no system 'dgx_h100'"),
            HasSubstr("--set framework.preset: there is no framework"),
            HasSubstr("training.micro_batch: must be a whole number"),
            HasSubstr("--set bla: Scenario has no field 'bla'")));
  // What stands in a file is told with the file.
  Write(file,
        "model { preset: 'llama9' } system { preset: 'dgx' nodes: 1 }\n"
        "training { global_batch: 8 }\n");
  EXPECT_THAT(Refusal({"show", file}),
              AllOf(HasSubstr(file + ": model.preset: there is no model"),
                    HasSubstr(file + ": system.preset: there is no system")));
  std::filesystem::remove(file);
}

// A study lists several values of an axis; each that is illegal is told.
TEST(Nonsense, EveryIllegalValueOfAnAxisIsTold) {
  const std::string file = TestFile("study.textproto");
  Write(file,
        "name: 's' scenario: 'quickstart'\n"
        "axis { path: 'training.micro_batch' value: '0' value: '1' value: '-1' "
        "value: 'many' }\n");
  EXPECT_THAT(
      Refusal({"sweep", file}),
      AllOf(HasSubstr("from 1 to 16777216, got 0"),
            HasSubstr("from 1 to 16777216, got -1"), HasSubstr("'many'")));
  std::filesystem::remove(file);
}

// What to write, and not merely that something is missing.
TEST(Nonsense, ARefusalSaysWhatToType) {
  EXPECT_THAT(Refusal({"derive", "h100_sxm", "--hbm", "HBM9"}),
              HasSubstr("hbm: must be one of HBM2, HBM2E, HBM3, HBM3E, HBM4, "
                        "got 'HBM9'"));
  EXPECT_THAT(Refusal({"show", "llama4"}),
              HasSubstr("'llama4_scout' is a model, which a scenario names"));
  EXPECT_THAT(Refusal({"list", "model"}), HasSubstr("did you mean 'models'?"));
  EXPECT_THAT(Refusal({"topology", "dgx_h100", "--nodes", "2"}),
              HasSubstr("did you mean 'dgx_h100_ib400'?"));
  EXPECT_THAT(Refusal({"collective", "--system", "dgx_h100_ib400", "--size",
                       "1MB", "--protocol", "LL12"}),
              HasSubstr("--protocol: there is no protocol 'LL12'; did you mean "
                        "'LL128'? (protocols of dgx_h100_ib400: "));
  EXPECT_THAT(
      Refusal({"collective", "--system", "dgx_h100_ib400", "--size", "1XB"}),
      HasSubstr("--size: '1XB' is not a number of bytes"));
  EXPECT_THAT(Refusal({"validate", "mine.csv"}),
              HasSubstr("as in 'orrery validate training mine.csv'"));
  EXPECT_THAT(
      Refusal({"new", TestFile("new"), "--model", "foo", "--system", "bar"}),
      AllOf(HasSubstr("orrery: --model: there is no model 'foo'"),
            HasSubstr("orrery: --system: there is no system 'bar'")));
  EXPECT_THAT(Refusal({"show", "quickstart", "--set", "model=llama3_70b"}),
              HasSubstr("for a preset write model.preset=llama3_70b"));
  EXPECT_THAT(
      Refusal({"simulate", "quickstart", "--set", "cost.price[run/goodput]=2"}),
      HasSubstr("cost.price[run/goodput]: must be a number from 1e-06 "
                "to 1, got 2"));
  const std::pair<const char*, const char*> said[] = {
      {"cost.prices=nosuch", "cost.prices: "},
      {"cost.price[chip/h100_sxm]=5",
       "cost.price[chip/h100_sxm]: price.nominal: must be a number in USD, got "
       "'5'; write for example \"30000 USD\""},
      {"cost.price[run/goodput]=0.9 USD",
       "must be a number without a unit, got '0.9 USD'; write for example "
       "\"0.9\""},
      {"cost.price[run/goodputt]=0.5",
       "cost.price[run/goodputt]: nothing has this price; did you mean "
       "'run/goodput'?"},
      {"cost.price[chip/h100_sxm].price.low=29000 USD",
       "price.nominal is not set; set it too, for example to \"30000 USD\""},
      {"cost.price[energy/price]=11 USD/kWh", "must be a number from 0 to 10"},
      {"cost.price[chip/h100_sxm]=1e11 USD", "must be at most 1e+08 USD"},
      {"measured={report_field: \"step_time\" value: 3}",
       "measured[0].report_field: a report has no number 'step_time'; did you "
       "mean"},
      {"measured={report_field: \"step_time_s\" value: 3 suite: \"nosuch\"}",
       "measured[0]: suite: must be one of "},
      {"measured={report_field: \"step_time_s\" value: 3 suite: \"training\" "
       "row: \"T99999\"}",
       "measured[0]: row: the suite 'training' has no row 'T99999'"}};
  for (const auto& [set, words] : said) {
    for (const char* command : {"simulate", "estimate", "cost"}) {
      EXPECT_THAT(Refusal({command, "quickstart", "--set", set}),
                  HasSubstr(words))
          << set;
    }
  }
  EXPECT_THAT(
      Refusal({"show", "quickstart", "--set", "inference.batch=1"}),
      HasSubstr(
          "--set inference.batch: the scenario is of training and has no "
          "inference; name one of its fields, which begin with training."));
  EXPECT_THAT(Refusal({"validate", "kernels", "--closed-form"}),
              HasSubstr("--closed-form is for 'orrery validate training'"));
  const std::string file = TestFile("bare.textproto");
  Write(file,
        "training { schedule: \"ONE_F_ONE_B\" global_batch: \"8\"\n"
        "           micro_batch: 1.5 }\n");
  EXPECT_THAT(Refusal({"show", file}),
              AllOf(HasSubstr(":1:22: schedule must be one of GPIPE, "),
                    HasSubstr(" without quotes, not \"ONE_F_ONE_B\""),
                    HasSubstr(":1:50: global_batch must be a whole number from "
                              "1 to 16777216, not \"8\""),
                    HasSubstr(":2:25: micro_batch must be a whole number from "
                              "1 to 16777216, not '1.5'"),
                    Not(HasSubstr("UNSPECIFIED"))));
  Write(file, "{\"model\": {\"preset\": \"llama3_8b\"}}");
  EXPECT_THAT(Refusal({"show", file}), HasSubstr("JSON is not read here"));
  // What is not set has no value to complain about.
  Write(file,
        "model { preset: 'llama3_8b' }\n"
        "system { preset: 'dgx_h100_ib400' nodes: 1 } training {}\n");
  EXPECT_THAT(Refusal({"show", file}),
              AllOf(HasSubstr("training.global_batch: not set"),
                    Not(HasSubstr("must be a multiple of micro_batch"))));
  Write(file,
        "model { preset: 'llama3_8b' }\n"
        "system { name: 'x' nodes: 1 chips_per_node: 1\n"
        "         chip { preset: 'h100_sxm' } }\n"
        "training { global_batch: 8 micro_batch: 1 sequence: 128 }\n");
  EXPECT_THAT(Refusal({"show", file}),
              AllOf(HasSubstr("system.collectives: not set; copy the "
                              "collectives { ... } of a system that is alike"),
                    Not(HasSubstr("system.collectives.library"))));
  Write(file,
        "model { preset: 'llama3_8b' }\n"
        "system { nodes: 1 }\n"
        "training { global_batch: 8 micro_batch: 1 sequence: 128 }\n");
  EXPECT_THAT(Refusal({"show", file}),
              AllOf(HasSubstr("system.name: not set; write name: \"mine\""),
                    HasSubstr("system.chip: not set; write chip {"),
                    HasSubstr("kernels: not set; write kernels { preset: "),
                    Not(HasSubstr("kernels.launch"))));
  std::filesystem::remove(file);
}

TEST(Help, ExamplesWork) {
  const std::string folder = TestFile("examples");
  std::filesystem::create_directory(folder);
  const std::string binary =
      std::filesystem::absolute(std::getenv("ORRERY_BINARY"));
  int ran = 0;
  for (const Command& command : AllCommands()) {
    for (absl::string_view line : absl::StrSplit(command.details, '\n')) {
      if (!absl::ConsumePrefix(&line, "  orrery ")) continue;
      // The last two have tests that look at what they say.
      if (absl::StartsWith(line, "view ") ||
          absl::StrContains(line, "config.json") ||
          absl::StartsWith(line, "validate ") ||
          absl::StartsWith(line, "calibrate ")) {
        continue;
      }
      ++ran;
      const int code = Shell(fmt::format("cd {} && {} {} >out 2>&1", folder,
                                         binary, std::string(line)));
      EXPECT_LE(code, 1) << line << "\n"
                         << ReadFile(folder + "/out").value_or("");
    }
  }
  EXPECT_GT(ran, 15);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orrery
