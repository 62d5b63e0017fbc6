// What is refused before any work, and what the refusal says.
#include <absl/strings/str_join.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

Words Join(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Refused {
  Words words;
  // Each of them is said.
  std::vector<std::string> said;
};

void ExpectRefused(const std::vector<Refused>& all) {
  for (const Refused& each : all) {
    const ProgramResult result = RunOrrery(each.words);
    const std::string line = absl::StrJoin(each.words, " ");
    EXPECT_EQ(result.exit_code, 2) << line << "\n" << result.err;
    EXPECT_THAT(result.out, IsEmpty()) << line;
    for (const std::string& said : each.said) {
      EXPECT_THAT(result.err, HasSubstr(said)) << line;
    }
  }
}

// NIC 0 and NIC 1 belong to node 0 of two nodes of eight chips: nothing leads
// from one node to the other.
TEST(Refusal, LinksJoinEveryChip) {
  const std::string links =
      "system.scale_out.fabric.links={link {from: 0 to: 1}}";
  std::vector<Refused> all;
  for (const char* command :
       {"simulate", "estimate", "check", "tune", "cost", "explain", "show"}) {
    all.push_back({{command, "quickstart", "--set", links},
                   {"system.scale_out.fabric.links: they do not join chip 0 "
                    "and chip "}});
  }
  all.push_back({{"compare", "quickstart", "quickstart", "--set", links},
                 {"system.scale_out.fabric.links: they do not join"}});
  all.push_back({{"topology", "dgx_h100_ib400", "--nodes", "2", "--set", links},
                 {"system.scale_out.fabric.links: they do not join chip 0"}});
  // One way is not enough.
  std::string ring;
  for (int chip = 0; chip < 7; ++chip) {
    ring += fmt::format("link {{ from: {} to: {} one_way: true }} ", chip,
                        chip + 1);
  }
  const auto pod = [&] {
    return Words{"topology", "tpu_v4_pod",
                 "--nodes",  "2",
                 "--set",    "system.scale_up.fabric.links={" + ring + "}",
                 "--set",    "system.scale_up.fabric.routing=MINIMAL"};
  };
  all.push_back(
      {pod(), {"system.scale_up.fabric.links: they do not join chip 0"}});
  ExpectRefused(all);
  ring += "link { from: 7 to: 0 one_way: true }";
  EXPECT_EQ(RunOrrery(pod()).exit_code, 0);
}

TEST(Refusal, AFileThatCannotBeWrittenIsToldBeforeTheWork) {
  const std::string lost = "/nonexistent/file";
  std::vector<Refused> all;
  for (const char* flag : {"--json", "--csv", "--html"}) {
    // A search of many seconds.
    all.push_back({{"tune", "llama3_405b_16k", flag, lost},
                   {std::string(flag) + ": cannot write '/nonexistent/file'",
                    "there is no folder '/nonexistent'"}});
  }
  all.push_back({{"simulate", "quickstart", "--trace", lost}, {"--trace: "}});
  all.push_back({{"sweep", "chiplets", "--journal", lost}, {"--journal: "}});
  all.push_back({{"simulate", "quickstart", "--trace-format", "kineto",
                  "--trace", "/dev/null/folder"},
                 {"--trace: ", "'/dev/null' is not a folder"}});
  all.push_back({{"derive", "h100_sxm", "--output", lost}, {"--output: "}});
  all.push_back({{"topology", "dgx_h100_ib400", "--output", lost, "--json",
                  "/nonexistent/other"},
                 {"--output: ", "--json: "}});
  all.push_back({{"show", "quickstart", "--json", "/"}, {"it is a directory"}});
  all.push_back({{"show", "quickstart", "--json",
                  testing::TempDir() + std::string(300, 'a')},
                 {"File name too long"}});
  ExpectRefused(all);
}

TEST(Refusal, ACheckedFileStaysAsItWas) {
  const std::string file = TestFile("kept.json");
  std::ofstream(file) << "mine";
  EXPECT_EQ(RunOrrery({"show", "nosuch", "--json", file}).exit_code, 2);
  EXPECT_EQ(std::filesystem::file_size(file), 4u);
  std::filesystem::remove(file);
  EXPECT_EQ(RunOrrery({"show", "nosuch", "--json", file}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Refusal, AFileBeyondTheLimitOfTheShellIsTold) {
  const std::string said = TestFile("limit");
  const int status = std::system(
      fmt::format("bash -c 'ulimit -f 20; $ORRERY_BINARY simulate quickstart "
                  "--trace {0}.pf >/dev/null 2>{0}'",
                  said)
          .c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  std::ifstream stream(said);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_THAT(text, HasSubstr("File too large"));
  EXPECT_FALSE(std::filesystem::exists(said + ".pf"));
  std::filesystem::remove(said);
}

TEST(Refusal, ClocksAgreeWithEachOther) {
  const Words gemm = {"kernel", "--chip", "h100_sxm", "--m",  "8192",
                      "--n",    "8192",   "--k",      "8192", "--set"};
  ExpectRefused(
      {{Join(gemm, {"sustained_clock=30 GHz"}),
        {"sustained_clock: 30 GHz is above 1.98 GHz"}},
       {Join(gemm, {"burst_clock=2 GHz"}), {"burst_clock: 2 GHz is above"}},
       {Join(gemm, {"vector_clock=30 GHz"}), {"vector_clock: 30 GHz is not"}},
       {Join(gemm, {"peak[0].clock=30 GHz"}), {"peak[0].clock: 30 GHz is not"}},
       {{"show", "quickstart", "--set", "system.chip.sustained_clock=30 GHz"},
        {"system.chip.sustained_clock: 30 GHz is above 1.98 GHz"}}});
  for (const char* set : {"sustained_clock=1.98 GHz", "clock=1.2 GHz"}) {
    EXPECT_EQ(RunOrrery(Join(gemm, {set})).exit_code, 0) << set;
  }
}

TEST(Refusal, AnEmptyValueOfAnEntryIsNotIgnored) {
  std::vector<Refused> all;
  for (const char* path :
       {"system.chip.peak[0].rate", "system.chip.port[0].count",
        "system.collectives.protocol[0].tier",
        "system.collectives.protocol[0].fill_latency"}) {
    all.push_back({{"show", "quickstart", "--set", fmt::format("{}=", path)},
                   {fmt::format("--set {}: an empty value takes back", path)}});
  }
  all.push_back({{"show", "quickstart", "--set", "cost.price[chip/x]="},
                 {"an entry of a list has no empty value"}});
  ExpectRefused(all);
}

TEST(Refusal, NodesAreSaidInOneWay) {
  const auto rows = [](const Words& more) {
    return RunOrrery(Join({"collective", "--system", "dgx_h100_ib400", "--size",
                           "1MB", "--json", "-"},
                          more))
        .out;
  };
  EXPECT_THAT(rows({}), HasSubstr("\"chips\": 8,"));
  EXPECT_THAT(rows({"--nodes", "4"}), HasSubstr("\"chips\": 32,"));
  EXPECT_EQ(rows({"--set", "system.nodes=4"}), rows({"--nodes", "4"}));
  EXPECT_EQ(rows({"--set", "system.nodes=4", "--nodes", "4"}),
            rows({"--nodes", "4"}));
  const Words both = {"--nodes", "2", "--set", "system.nodes=4"};
  const std::string refusal =
      "--nodes 2 and --set system.nodes=4 contradict each other";
  ExpectRefused(
      {{Join({"collective", "--system", "dgx_h100_ib400"}, both), {refusal}},
       {Join({"topology", "dgx_h100_ib400"}, both), {refusal}},
       {{"topology", "dgx_h100_ib400", "--nodes", "0"},
        {"--nodes must be a whole number from 1 to"}}});
}

TEST(Refusal, NamesAreTextsThatCanBeReadAgain) {
  std::vector<Refused> all = {{{"show", "quickstart", "--set", "name=\xff"},
                               {"--set 'name=\\xFF': the text is not UTF-8"}}};
  for (const std::string& name :
       {std::string("a\nb"), std::string("\xff"), std::string("a\x1b[31m"),
        std::string(201, 'a')}) {
    all.push_back({{"derive", "h100_sxm", "--name", name}, {"--name: "}});
    all.push_back(
        {{"import", "hf", "tests/data/hf/mixtral_8x7b.json", "--name", name},
         {"model.name: "}});
  }
  ExpectRefused(all);
}

TEST(Refusal, EveryWrongFlagIsToldAtOnce) {
  ExpectRefused(
      {{{"kernel", "--chip", "h100_sxm"},
        {"--m is needed", "--n is needed", "--k is needed"}},
       {{"kernel", "--chip", "h100_sxm", "--op", "attention", "--batch", "0"},
        {"--batch must", "--heads is needed", "--queries is needed"}},
       {{"new", "-", "--tensor", "0", "--pipeline", "0", "--nodes", "0",
         "--model", "foo", "--system", "bar"},
        {"--tensor", "--pipeline", "--nodes", "--model", "--system"}},
       {{"derive", "h100_sxm", "--dies", "0", "--stacks", "0", "--link-share",
         "x", "--area", "y"},
        {"--dies must be a whole number from 1 to 1000, got '0'", "--stacks",
         "--link-share", "area"}},
       {{"simulate", "quickstart", "--fidelity", "foo", "--fold", "bar",
         "--kernels", "baz", "--memory", "zz"},
        {"foo", "--fold", "--kernels", "--memory"}},
       {{"collective", "--system", "nosuch", "--op", "foo", "--size", "abc",
         "--nodes", "0", "--memory", "zz"},
        {"nosuch", "foo", "--size", "--nodes", "--memory"}}});
}

TEST(Refusal, ARangeIsThatOfTheField) {
  ExpectRefused(
      {{{"derive", "h100_sxm", "--dies", "1001"},
        {"--dies must be a whole number from 1 to 1000"}},
       {{"derive", "h100_sxm", "--links", "10001"},
        {"--links must be a whole number from 1 to 10000"}},
       {{"new", "-", "--sequence", "99999999999"},
        {"--sequence must be a whole number from 1 to 16777216"}},
       {{"new", "-", "--inference", "--model", "llama3_405b", "--nodes", "100",
         "--batch", "100"},
        {"write for example --batch 800"}},
       {{"new", "-", "--nodes", "3", "--batch", "100", "--micro-batch", "2"},
        {"write for example --batch 144"}}});
}

TEST(Refusal, MoreIsSaidThanThatItIsWrong) {
  const std::string study = TestFile("study.textproto");
  std::ofstream(study)
      << "name: 's' scenario: 'quickstart'\n"
         "axis { path: 'training.micro_batch' range { from: 1 to: 1000000 "
         "step: 1 } }\n"
         "axis { path: 'training.sequence' range { from: 1 to: 1000000 step: 1 "
         "} }\n";
  const Words topology = {"topology", "dgx_h100_ib400", "--nodes", "2",
                          "--set"};
  ExpectRefused(
      {{{"sweep", study},
        {"1000000 of micro_batch x 1000000 of sequence make 1e+12 points, more "
         "than the 1000000000"}},
       {{"show", "quickstart", "--set", "framework.kernels.preset=nosuch"},
        {"framework.kernels.preset: ", "write kernels.preset"}},
       {Join(topology,
             {"system.scale_out.fabric.fat_tree={radix: 65536 taper: 1}"}),
        {"system.scale_out.fabric: fat tree: radix must be an even number from "
         "2 to 16384, got 65536"}},
       {Join(topology, {"system.scale_up.fabric.torus={shape: [2, 2, 2] "
                        "twisted: true}"}),
        {"system.scale_up.fabric: a twisted torus needs a side twice"}},
       {Join(topology, {"system.fault={from: 0 to: 0 remaining: 0}"}),
        {"system.fault: chip 0 has no link to vertex 0"}},
       {{"show", "quickstart", "--set", "model.hidden=4097"},
        {"4 must divide 4097, the hidden size; nearest: 1\n"}},
       {{"kernel", "--chip", "h100_sxm", "--op", "attention", "--heads", "32",
         "--queries", "128", "--latent", "--value-dim", "9999"},
        {"--value-dim must be at most --head-dim"}},
       {{"kernel", "--chip", "h100_sxm", "--op", "attention", "--heads", "32",
         "--queries", "128", "--latent", "--backward"},
        {"--latent does not apply to --backward"}}});
  std::filesystem::remove(study);
}

TEST(Refusal, JsonWithoutEventsIsNotServed) {
  const std::string file = TestFile("events.json");
  for (const std::string& text :
       {std::string("["), std::string("[1,2,3]"), std::string("[{\"a\":1}]"),
        std::string("{\"traceEvents\":5}"),
        std::string("{\"a\":{\"traceEvents\":[]}}"),
        std::string("{\"traceEvents\":[{\"a\":1}]}"),
        std::string(200'000, '[')}) {
    std::ofstream(file) << text;
    ExpectRefused(
        {{{"view", file, "--port", "0"}, {"is not a trace: it is JSON"}}});
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace orrery
