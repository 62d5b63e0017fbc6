// simulate, estimate, check and explain of inference scenarios, from the
// outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "tests/cli/run_orrery.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;

double NumberIn(const std::string& json, const std::string& name) {
  const size_t at = json.find(fmt::format("\"{}\":", name));
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? 0
                                 : std::stod(json.substr(at + name.size() + 3));
}

// The difference is measured as it is for training, through a pipeline too: of
// two prompt passes over two stages the closed form fills and drains the
// pipeline once, (passes + stages - 1) slots, as the simulation does.
TEST(InferenceCommands, CheckMeasuresWhatMakesTheDifference) {
  const ProgramResult measured = RunOrrery({"check", "llama3_70b_fp8_serving"});
  EXPECT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_THAT(measured.out,
              AllOf(HasSubstr("overlap of tensor communication"),
                    HasSubstr("latency"), HasSubstr("unexplained")));
  const ProgramResult piped =
      RunOrrery({"check", "llama3_70b_fp8_serving", "--set",
                 "inference.parallel.tensor=4", "--set",
                 "inference.parallel.pipeline=2"});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("unexplained"));
  const ProgramResult prompts = RunOrrery(
      {"check", "llama3_70b_fp8_serving", "--phase", "prefill", "--set",
       "inference.parallel.tensor=4", "--set", "inference.parallel.pipeline=2",
       "--set", "inference.batch=8", "--json", "-"});
  EXPECT_EQ(prompts.exit_code, 0) << prompts.err;
  const std::string estimate =
      prompts.out.substr(prompts.out.find("\"estimate\""));
  EXPECT_NEAR(
      NumberIn(estimate, "step_time_s") / NumberIn(prompts.out, "step_time_s"),
      1, 0.01);
}

TEST(InferenceCommands, SimulateSaysWhatUsersWaitFor) {
  const ProgramResult result = RunOrrery({"simulate", "llama2_70b_inference"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("time to first token"),
            HasSubstr("time per output token"), HasSubstr("end to end"),
            HasSubstr("per user"), HasSubstr("KV cache"),
            HasSubstr("largest batch that fits"), HasSubstr("closed form"),
            HasSubstr("decode steps"), HasSubstr("host")));
}

// 199 tokens come after the first.
TEST(InferenceCommands, TheNumbersBelongTogether) {
  const ProgramResult result =
      RunOrrery({"simulate", "llama2_70b_inference", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const double first = NumberIn(result.out, "time_to_first_token_s");
  const double each = NumberIn(result.out, "time_per_output_token_s");
  const double all = NumberIn(result.out, "end_to_end_s");
  EXPECT_NEAR(first + 199 * each, all, 1e-9);
  EXPECT_NEAR(NumberIn(result.out, "output_tokens_per_s"), 200 / all, 1e-6);
  EXPECT_NEAR(NumberIn(result.out, "decode_tokens_per_s_per_chip"),
              1 / each / 8, 1e-6);
  EXPECT_LE(NumberIn(result.out, "integration_error"), 1e-3);
}

TEST(InferenceCommands, ABatchThatDoesNotFitIsNoWithTheLargestThatDoes) {
  const std::vector<std::string> command = {
      "simulate", "llama3_70b_fp8_serving", "--set", "inference.batch=2048",
      "--set",    "inference.prompt=8000",  "--set", "inference.output=2"};
  const ProgramResult result = RunOrrery(command);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the largest that does is"));
}

TEST(InferenceCommands, TheClosedFormAndTheExplanationAnswerToo) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"estimate", "llama2_70b_inference"},
        {"check", "llama2_70b_inference", "--phase", "prefill"},
        {"explain", "llama2_70b_inference", "--no-sensitivities"}}) {
    const ProgramResult result = RunOrrery(command);
    EXPECT_EQ(result.exit_code, 0) << command[0] << result.err;
  }
  EXPECT_THAT(
      RunOrrery({"explain", "llama2_70b_inference", "--no-sensitivities"}).out,
      AllOf(HasSubstr("memory-bound: weights"), HasSubstr("host")));
}

TEST(InferenceCommands, SettingsThatWouldBeIgnoredAreRefused) {
  for (const char* set :
       {"inference.redundant_experts=8", "inference.expert_imbalance=2",
        "inference.dispatch_precision=FP8",
        "inference.context_method=CONTEXT_RING",
        "inference.weight_precision=FP32",
        "inference.speculation.prediction_module=true"}) {
    const ProgramResult result =
        RunOrrery({"simulate", "llama2_70b_inference", "--set", set});
    EXPECT_EQ(result.exit_code, 2) << set << result.out;
  }
}

TEST(InferenceCommands, ListTellsWhatServesFromWhatTrains) {
  const ProgramResult result = RunOrrery({"list", "scenarios"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("inference: Llama 2 70B"),
                                HasSubstr("training: Llama 3 8B")));
}

}  // namespace
}  // namespace orrery
