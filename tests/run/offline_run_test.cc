// Requests that are all there at once, and the host that runs their steps.
#include "run/requests/offline_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "run/requests/batch_steps.h"
#include "run/requests/steady_state.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

ResolvedScenario ShortRequests(std::vector<std::string> sets) {
  sets.emplace_back("inference.prompt=256");
  sets.emplace_back("inference.output=64");
  sets.emplace_back("inference.batch=32");
  sets.emplace_back("inference.engine.max_batch=32");
  absl::StatusOr<ResolvedScenario> scenario =
      ScenarioWith("llama3_70b_fp8_serving", sets);
  EXPECT_THAT(scenario, IsOk());
  return *std::move(scenario);
}

double SecondsOf(const ResolvedScenario& scenario, int64_t requests) {
  const absl::StatusOr<OfflineRun> run = RunOffline(scenario, requests);
  EXPECT_THAT(run, IsOk());
  return run->seconds;
}

// One prompt, and 63 steps for the tokens after the first.
TEST(OfflineRuns, ARequestByItself) {
  const ResolvedScenario s = ShortRequests({});
  ASSERT_OK_AND_ASSIGN(const BatchStep prompt, PromptStep(s, 1, 0));
  ASSERT_OK_AND_ASSIGN(const BatchStep decode, DecodeStep(s, 1));
  EXPECT_NEAR(SecondsOf(s, 1), prompt.seconds + 63 * decode.seconds, 1e-9);
  ASSERT_OK_AND_ASSIGN(const OfflineRun run, RunOffline(s, 1));
  EXPECT_EQ(run.batch, 1);
  EXPECT_NEAR(run.output_tokens_per_s, 64 / run.seconds, 1e-6);
}

// A batch is full at 32. One request more takes as many steps again, in a batch
// that is empty but for it; many more come to the steady state.
TEST(OfflineRuns, FillAndDrain) {
  const ResolvedScenario s = ShortRequests({});
  ASSERT_OK_AND_ASSIGN(const BatchStep alone, DecodeStep(s, 1));
  EXPECT_GT(SecondsOf(s, 33), SecondsOf(s, 32) + 60 * alone.seconds);
  EXPECT_LT(SecondsOf(s, 33), SecondsOf(s, 64));
}

// Requests that are all there come to the steady state, whether prompts share
// steps with what decodes or take steps of their own.
TEST(OfflineRuns, ComeToTheSteadyState) {
  for (const char* mixed : {"true", "false"}) {
    SCOPED_TRACE(mixed);
    const ResolvedScenario s =
        ShortRequests({std::string("inference.engine.mixed_steps=") + mixed});
    ASSERT_OK_AND_ASSIGN(const SteadyState steady, RunSteadyState(s));
    ASSERT_OK_AND_ASSIGN(const OfflineRun run, RunOffline(s, 3200));
    EXPECT_EQ(run.batch, 32);
    EXPECT_NEAR(run.output_tokens_per_s / steady.output_tokens_per_s, 1, 0.03);
  }
}

// Steps have room for one prompt beside the batch, so that prompts take a large
// part of the steps, or all of them, and weigh as much as decoding: whether
// they share their steps or not.
TEST(OfflineRuns, ComeToTheSteadyStateOneByOne) {
  // The run fills up and drains once, over two hundred batches.
  constexpr double kEnds = 0.015;
  for (const bool mixed : {true, false}) {
    for (const int prompt : {256, 1024}) {
      for (const int output : {16, 64}) {
        SCOPED_TRACE(
            fmt::format("mixed {}, {} + {} tokens", mixed, prompt, output));
        ASSERT_OK_AND_ASSIGN(
            const ResolvedScenario s,
            ScenarioWith("llama3_70b_fp8_serving",
                         {fmt::format("inference.prompt={}", prompt),
                          fmt::format("inference.output={}", output),
                          "inference.batch=32", "inference.engine.max_batch=32",
                          fmt::format("inference.engine.mixed_steps={}", mixed),
                          fmt::format("inference.engine.max_step_tokens={}",
                                      prompt + 32)}));
        ASSERT_OK_AND_ASSIGN(const SteadyState steady, RunSteadyState(s));
        EXPECT_EQ(steady.prompts, 1);
        ASSERT_OK_AND_ASSIGN(const OfflineRun run, RunOffline(s, 6400));
        EXPECT_NEAR(run.output_tokens_per_s / steady.output_tokens_per_s, 1,
                    kEnds);
      }
    }
  }
}

// Without mixed steps a batch of 32 takes its prompts, as many to a step as fit
// into it, and 63 steps for the tokens after the first.
TEST(OfflineRuns, WithoutMixedStepsPromptsAndDecodingTakeTurns) {
  const ResolvedScenario s =
      ShortRequests({"inference.engine.mixed_steps=false"});
  ASSERT_OK_AND_ASSIGN(const SteadyState steady, RunSteadyState(s));
  ASSERT_EQ(steady.batch, 32);
  ASSERT_OK_AND_ASSIGN(const BatchStep decode, DecodeStep(s, 32));
  ASSERT_OK_AND_ASSIGN(const BatchStep prompts,
                       PromptStep(s, steady.prompts, 0));
  const double steps = 32.0 / static_cast<double>(steady.prompts);
  const double cycle = steps * prompts.seconds + 63 * decode.seconds;
  EXPECT_NEAR(steady.output_tokens_per_s * cycle, 32 * 64, 1e-6);
}

// A prompt of 256 tokens does not fit beside 32 sequences into a step of 280:
// prompts are taken one by one all the same.
TEST(OfflineRuns, StepsTakeAPromptAtTheLeast) {
  const ResolvedScenario wide = ShortRequests({});
  const ResolvedScenario tight =
      ShortRequests({"inference.engine.max_step_tokens=280"});
  EXPECT_EQ(PromptsBeside(*tight.inference(), 32, 32), 1);
  EXPECT_EQ(PromptsBeside(*wide.inference(), 32, 32),
            (wide.inference()->engine().max_step_tokens - 32) / 256);
  EXPECT_GT(SecondsOf(tight, 64), SecondsOf(wide, 64));
}

// Of an engine in Python, and of no other.
TEST(PythonHosts, TakeLonger) {
  const auto host = [](const char* engine) {
    return ShortRequests({std::string("inference.engine.preset=") + engine,
                          "system.host.python_slowdown=3"})
        .inference()
        ->engine();
  };
  const auto usual = [](const char* engine) {
    return ShortRequests({std::string("inference.engine.preset=") + engine})
        .inference()
        ->engine();
  };
  EXPECT_EQ(host("vllm").Between(100), usual("vllm").Between(100) * 3);
  EXPECT_EQ(host("vllm").host_launch, usual("vllm").host_launch * 3);
  EXPECT_EQ(host("tensorrt_llm"), usual("tensorrt_llm"));
}

}  // namespace
}  // namespace orrery
