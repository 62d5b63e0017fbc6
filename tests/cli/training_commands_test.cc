// simulate, estimate, check and validate training, from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/format.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The number after "name": in JSON with unique names.
double Number(const std::string& json, const std::string& name) {
  const size_t at = json.find(fmt::format("\"{}\":", name));
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? 0
                                 : std::stod(json.substr(at + name.size() + 3));
}

TEST(TrainingCommands, SimulateSaysWhereTheTimeGoes) {
  const ProgramResult result = RunOrrery({"simulate", "quickstart"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("step time"), HasSubstr("MFU"),
                    HasSubstr("waiting for other ranks (bubble)"),
                    HasSubstr("fits"), HasSubstr("closed form"),
                    HasSubstr("bounds"), HasSubstr("simulated 2 of 32 ranks")));
}

TEST(TrainingCommands, KernelsOfAnotherChipAreUsedWithAWarning) {
  const ProgramResult own = RunOrrery({"simulate", "quickstart"});
  EXPECT_EQ(own.out.find("were measured on"), std::string::npos);
  for (const char* command : {"simulate", "estimate"}) {
    const ProgramResult result =
        RunOrrery({command, "quickstart", "--set",
                   "kernels.preset=hopper_deepseek_2025"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("kernels hopper_deepseek_2025 were "
                                      "measured on h800_sxm, not h100_sxm"));
  }
  const ProgramResult wrong = RunOrrery({"simulate", "quickstart", "--set",
                                         "kernels.preset=hoper_deepseek_2025"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'hopper_deepseek_2025'?"));
}

// 16 nodes on a tree that is tapered 4:1, and data ranks side by side, so that
// what other groups put on the cables matters: a run has one closed form,
// whichever command prints it; at fidelity CLOSED_FORM neither it nor the run
// knows of other groups.
TEST(TrainingCommands, OneRunHasOneClosedForm) {
  const auto step = [](std::vector<std::string> arguments) {
    const std::string of = "quickstart";
    for (const char* more :
         {"--set", "system.nodes=16", "--set",
          "system.scale_out.fabric.fat_tree={radix: 16 taper: 4}", "--set",
          "training.parallel.order=DATA,TENSOR,CONTEXT,EXPERT,PIPELINE",
          "--json", "-"}) {
      arguments.emplace_back(more);
    }
    arguments.insert(arguments.begin() + 1, of);
    const ProgramResult result = RunOrrery(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const size_t estimate = result.out.find("\"estimate\"");
    EXPECT_NE(estimate, std::string::npos);
    return Number(result.out.substr(estimate), "step_time_s");
  };
  const double closed_form = step({"estimate"});
  EXPECT_EQ(step({"simulate"}), closed_form);
  EXPECT_EQ(step({"check"}), closed_form);
  const double alone = step({"simulate", "--fidelity", "CLOSED_FORM"});
  EXPECT_EQ(step({"check", "--fidelity", "CLOSED_FORM"}), alone);
  EXPECT_GT(alone, 0);
  EXPECT_LT(alone, closed_form);
}

// What tells ranks of a stage apart in the network is not folded away: those
// whom a slow link tells apart are simulated, two places of a tensor group in
// two kinds of replicas and two stages.
TEST(TrainingCommands, AnUnevenNetworkIsSimulatedRankByRank) {
  const auto run = [](const std::string& set) {
    const ProgramResult result =
        RunOrrery({"simulate", "quickstart", "--set", set});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_THAT(run("system.fault={from: 3 remaining: 0.5}"),
              HasSubstr("simulated 8 of 32 ranks"));
  EXPECT_THAT(run("system.scale_out.fabric.routing=ECMP"),
              AllOf(HasSubstr("simulated 32 of 32 ranks"),
                    HasSubstr("ECMP routing between nodes")));
  // Detours through a third node make groups share links that they would not;
  // the bounds know.
  EXPECT_THAT(run("system.scale_out.fabric.routing=VALIANT"),
              HasSubstr("simulated 32 of 32 ranks"));
  const ProgramResult cut = RunOrrery({"simulate", "quickstart", "--set",
                                       "system.fault={from: 3 remaining: 0}"});
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.err, HasSubstr("no path from chip 3 to chip 0"));
}

// Groups that cross on a tapered tree: message by message as in stages, within
// 5 %, and both well above what the links would allow each by itself.
TEST(TrainingCommands, CrossingGroupsCongestAtEveryFidelity) {
  const auto step = [](const std::string& fidelity) {
    const ProgramResult result = RunOrrery(
        {"simulate", "crossing_groups", "--fidelity", fidelity, "--json", "-"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Number(result.out, "step_time_s");
  };
  const double fluid = step("FLUID");
  EXPECT_NEAR(fluid, step("STEPPED"), 0.05 * fluid);
  EXPECT_GT(fluid, 1.1 * step("CLOSED_FORM"));
}

TEST(TrainingCommands, TheBreakdownSumsToTheStep) {
  const ProgramResult result =
      RunOrrery({"simulate", "quickstart", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string& json = result.out;
  double sum = 0;
  const size_t from = json.find("\"breakdown\"");
  const std::string breakdown = json.substr(from, json.find('}', from) - from);
  for (const char* part :
       {"compute_s", "memory_bound_s", "launch_s", "tensor_exposed_s",
        "context_exposed_s", "expert_exposed_s", "pipeline_exposed_s",
        "data_exposed_s", "bubble_s", "late_peer_s", "optimizer_s",
        "kernels_slowed_by_communication_s"}) {
    sum += Number(breakdown, part);
  }
  // Sums of numbers printed exactly; only the last digits of doubles differ.
  EXPECT_NEAR(sum, Number(json, "step_time_s"), 1e-9);
}

// What the allocator holds counts, in the closed form as in the simulation.
TEST(TrainingCommands, AnEstimateFitsIfTheRunDoes) {
  const std::vector<std::string> plan = {"--set",
                                         "framework.preset=nanotron_2024",
                                         "--set", "training.parallel.tensor=1"};
  for (const char* command : {"estimate", "simulate"}) {
    std::vector<std::string> words = {command, "quickstart"};
    words.insert(words.end(), plan.begin(), plan.end());
    const ProgramResult result = RunOrrery(words);
    EXPECT_EQ(result.exit_code, 1) << command << ": " << result.out;
  }
  const ProgramResult host = RunOrrery({"estimate", "quickstart", "--set",
                                        "framework.collective_check=1 ms",
                                        "--set", "framework.dispatch=10 us"});
  EXPECT_THAT(host.out, HasSubstr("waiting for the host"));
}

TEST(TrainingCommands, ASlowChipHasALineOfItsOwn) {
  const ProgramResult result =
      RunOrrery({"simulate", "quickstart", "--set",
                 "system.slow_chip={chip: 5 slowdown: 1.25}"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("kernels longer on a slow chip"));
  EXPECT_THAT(RunOrrery({"simulate", "quickstart"}).out,
              Not(HasSubstr("slow chip")));
}

TEST(TrainingCommands, TheSameRunGivesTheSameBytes) {
  const auto once = RunOrrery({"check", "quickstart"});
  EXPECT_EQ(once.exit_code, 0) << once.err;
  EXPECT_EQ(once.out, RunOrrery({"check", "quickstart"}).out);
}

TEST(TrainingCommands, APlanThatDoesNotFitIsToldWhatWouldHelp) {
  const std::vector<std::string> words = {"simulate", "quickstart", "--set",
                                          "system.chip.memory=16 GiB"};
  const ProgramResult result = RunOrrery(words);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("DOES NOT FIT"), HasSubstr("too much"),
                    HasSubstr("--set training.recompute=RECOMPUTE_FULL")));
  // Advice is worth something if it is true.
  std::vector<std::string> better = words;
  better.insert(better.end(), {"--set", "training.recompute=RECOMPUTE_FULL"});
  EXPECT_EQ(RunOrrery(better).exit_code, 0);
}

TEST(TrainingCommands, EstimateNeedsNoEngine) {
  const ProgramResult result = RunOrrery({"estimate", "quickstart"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("terms of the closed form"),
                                HasSubstr("bubble"), HasSubstr("peak memory")));
}

// What is for one kind of plan is refused for the other.
TEST(TrainingCommands, FlagsOfInferenceAreRefused) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"simulate", "quickstart", "--every-token"},
        {"check", "quickstart", "--phase", "prefill"}}) {
    const ProgramResult result = RunOrrery(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, HasSubstr("for inference scenarios"));
  }
}

// Every violation at once, each with its field.
TEST(TrainingCommands, WrongPlansAreRefusedWithEveryReason) {
  const ProgramResult result = RunOrrery(
      {"simulate", "quickstart", "--set", "training.parallel.tensor=3", "--set",
       "training.global_batch=63", "--set", "training.parallel.expert=2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("training.parallel.tensor"),
                                HasSubstr("training.parallel.expert")));
  EXPECT_EQ(RunOrrery({"simulate", "quickstart", "--fold", "maybe"}).exit_code,
            2);
  EXPECT_EQ(
      RunOrrery({"simulate", "quickstart", "--fidelity", "EXACT"}).exit_code,
      2);
}

TEST(TrainingCommands, ExpertsOutsideTheirTensorGroupNeedSplitSequences) {
  const ProgramResult result = RunOrrery(
      {"simulate", "mixtral_8x7b_128", "--set", "training.parallel.tensor=2",
       "--set", "training.parallel.sequence_parallel=false", "--set",
       "training.parallel.expert_tensor=1", "--set",
       "training.parallel.data=16"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("training.parallel.expert_tensor"));
}

// A row of one's own: predicted, or refused with the reason.
TEST(TrainingCommands, ValidateTakesATableOfOnesOwn) {
  const std::string table =
      "id,source_id,model,framework,hardware,num_gpus,gpus_per_node,layers,"
      "hidden,ffn,heads,vocab,seq_len,global_batch,micro_batch,tp,pp,sharding,"
      "recompute,precision,step_time_s\n"
      "A,mine,GPT-small,Megatron-LM,A100-80GB-SXM,8,8,8,4096,16384,32,51200,"
      "2048,8,1,"
      "8,1,none,full,fp16,0.1\n"
      "B,mine,GPT-small,Megatron-LM,A100-80GB-SXM,8,8,,4096,16384,32,51200,"
      "2048,8,1,"
      "8,1,none,full,fp16,0.1\n";
  const std::string file = TestFile("mine.csv");
  ASSERT_TRUE(WriteFile(file, table).ok());
  const ProgramResult result =
      RunOrrery({"validate", "training", file, "--rows"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("GPT-small"), HasSubstr("mine"),
                                HasSubstr("column 'layers' must be")));
}

}  // namespace
}  // namespace orrery
