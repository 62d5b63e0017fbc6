// What steps of an inference engine are made of: drafts, a cache that is split,
// prompts and decoding in one step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "analytic/inference/inference_estimate.h"
#include "proto/report.pb.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/requests/inference_report.h"
#include "run/requests/request_timeline.h"
#include "run/run_scenario.h"
#include "tests/run/inference_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Sets = std::vector<std::string>;

ResolvedScenario Scenario(const Sets& sets) {
  absl::StatusOr<ResolvedScenario> scenario =
      ScenarioWith("llama3_70b_fp8_serving", sets);
  EXPECT_THAT(scenario, IsOk());
  return *std::move(scenario);
}

Duration StepOf(const ResolvedScenario& s, const InferencePass& pass) {
  const absl::StatusOr<PhaseGrounds> grounds = PhaseGrounds::Make(s);
  EXPECT_THAT(grounds, IsOk());
  absl::StatusOr<InferenceSimulator> simulator =
      InferenceSimulator::Create(grounds->of(pass.purpose), *s.inference());
  EXPECT_THAT(simulator, IsOk());
  const absl::StatusOr<Duration> time = simulator->StepTime(pass, {});
  EXPECT_THAT(time, IsOk());
  return *time;
}

Duration DecodeAt(const ResolvedScenario& s, int64_t cached) {
  return StepOf(s, DecodePass(*s.inference(), cached));
}

// With three drafts of which each is right with a chance of 0.8 if those before
// were: 1 + 0.8 + 0.64 + 0.512 = 2.952 tokens per step. 255 tokens after the
// first take 255 / 2.952 = 86.4, so 87 steps.
TEST(Drafts, BringTheTokensOfThoseBeforeTheFirstWrongOne) {
  const ResolvedScenario s = Scenario({"inference.speculation.drafts=3",
                                       "inference.speculation.acceptance=0.8",
                                       "inference.speculation.draft_cost=0.1"});
  const InferencePlan& plan = *s.inference();
  EXPECT_NEAR(plan.speculation()->TokensPerStep(), 2.952, 1e-12);
  EXPECT_EQ(DecodeSteps(plan), 87);
  EXPECT_EQ(CachedInStep(plan, 0), 2048);
  // 2048 + floor(10 x 2.952)
  EXPECT_EQ(CachedInStep(plan, 10), 2077);
  EXPECT_EQ(DecodePass(plan, 2048).groups[0].queries, 4);
}

// An engine whose prompts only fill the cache: 256 decode steps for 256 tokens,
// the first of which takes the last token of the prompt once more and is part
// of the time to the first token.
TEST(FirstToken, ComesFromADecodeStepWherePromptsGiveNone) {
  const Sets asked = {"inference.engine.first_token_by_decode=true"};
  const ResolvedScenario with = Scenario({});
  const ResolvedScenario without = Scenario(asked);
  EXPECT_EQ(DecodeSteps(*with.inference()), 255);
  EXPECT_EQ(DecodeSteps(*without.inference()), 256);
  EXPECT_EQ(CachedInStep(*with.inference(), 0), 2048);
  EXPECT_EQ(CachedInStep(*without.inference(), 0), 2047);
  ASSERT_OK_AND_ASSIGN(const pb::Report a, ReportInference(with, {}));
  ASSERT_OK_AND_ASSIGN(const pb::Report b, ReportInference(without, {}));
  const auto& first = a.inference();
  const auto& later = b.inference();
  EXPECT_EQ(first.time_to_first_token_s(), first.prefill_s());
  EXPECT_NEAR(later.time_to_first_token_s(),
              later.prefill_s() + later.first_step_s(), 1e-9);
  EXPECT_NEAR(
      later.end_to_end_s(),
      later.time_to_first_token_s() + 255 * later.time_per_output_token_s(),
      1e-7);
  EXPECT_NEAR(later.end_to_end_s(), first.end_to_end_s() + first.first_step_s(),
              0.1 * later.first_step_s());
  // On paper as well.
  EXPECT_NEAR(later.estimated_end_to_end_s(), later.end_to_end_s(),
              1e-3 * later.end_to_end_s());
  EXPECT_NEAR(later.estimated_time_per_output_token_s(),
              later.time_per_output_token_s(),
              1e-3 * later.time_per_output_token_s());
  // One token needs a step too.
  ASSERT_OK_AND_ASSIGN(
      const pb::Report one,
      ReportInference(Scenario({asked[0], "inference.output=1"}), {}));
  EXPECT_GT(one.inference().time_to_first_token_s(),
            one.inference().prefill_s());
  EXPECT_FALSE(one.inference().has_time_per_output_token_s());
}

// One thread starts a collective for all chips of a node: eight kernels, one
// after the other. The host waits for the chip before it does, so that a step
// gets longer by as much for each.
TEST(GroupLaunch, StartsACollectiveOnceForEveryChipOfTheNode) {
  const Sets plain = {"system.nodes=2",
                      "inference.parallel.tensor=16",
                      "inference.graph_launch=false",
                      "inference.engine.host_launch=2 us",
                      "inference.engine.collective_launch=30 us",
                      "inference.engine.wait_for_collectives=true"};
  Sets grouped = plain;
  grouped.push_back("inference.engine.group_launch=true");
  const ResolvedScenario a = Scenario(plain);
  const ResolvedScenario b = Scenario(grouped);
  const Duration us(1'000'000);
  const auto tensor = [](const ResolvedScenario& s) {
    return s.inference()->collective_launches(
        PassPurpose::kDecode)[static_cast<size_t>(ExchangeGroup::kTensor)];
  };
  EXPECT_EQ(tensor(a), 30 * us);
  EXPECT_EQ(tensor(b), 46 * us);
  const Duration longer = DecodeAt(b, 2048) - DecodeAt(a, 2048);
  // 80 layers with two all-reduces, the embedding's, and the head's gather.
  EXPECT_GE(longer, 161 * 16 * us);
  EXPECT_LE(longer, 163 * 16 * us);
}

// Of every group the host starts its own members on the node, whatever the
// others have. On two nodes of 8, experts split as the rest is:
//   tensor 1, expert 16    half of an expert group is on the node
//   tensor 2, expert 8     every other rank of the node
//   tensor 4, expert 4     every fourth
TEST(GroupLaunch, CountsTheMembersOfTheGroup) {
  struct Case {
    Sets sets;
    int tensor, expert, expert_tensor;
  };
  const Case cases[] = {
      {{"inference.parallel.tensor=1", "inference.parallel.data=16",
        "inference.parallel.expert=16"},
       1,
       8,
       1},
      {{"inference.parallel.tensor=2", "inference.parallel.data=8",
        "inference.parallel.expert=8"},
       2,
       4,
       2},
      {{"inference.parallel.tensor=4", "inference.parallel.data=4",
        "inference.parallel.expert=4"},
       4,
       2,
       4}};
  const Duration us(1'000'000);
  for (const Case& c : cases) {
    Sets sets = {"model.preset=qwen3_235b_a22b",
                 "system.nodes=2",
                 "inference.batch=64",
                 "inference.graph_launch=false",
                 "inference.engine.host_launch=2 us",
                 "inference.engine.collective_launch=30 us",
                 "inference.engine.group_launch=true"};
    sets.insert(sets.end(), c.sets.begin(), c.sets.end());
    const ResolvedScenario s = Scenario(sets);
    for (const PassPurpose purpose :
         {PassPurpose::kPrefill, PassPurpose::kDecode}) {
      const CollectiveLaunches launches =
          s.inference()->collective_launches(purpose);
      const auto of = [&](ExchangeGroup group) {
        return launches[static_cast<size_t>(group)];
      };
      EXPECT_EQ(of(ExchangeGroup::kTensor), (30 + 2 * c.tensor) * us);
      EXPECT_EQ(of(ExchangeGroup::kExpert), (30 + 2 * c.expert) * us);
      EXPECT_EQ(of(ExchangeGroup::kExpertTensor),
                (30 + 2 * c.expert_tensor) * us);
    }
  }
}

// Somebody else guesses: three drafts at a tenth of a step each make a step 1.3
// times as long.
TEST(Drafts, CostWhatIsSaid) {
  const Sets guess = {"inference.output=2", "inference.speculation.drafts=3",
                      "inference.speculation.acceptance=0.8"};
  const auto run = [&](const char* cost) {
    Sets sets = guess;
    sets.push_back(std::string("inference.speculation.draft_cost=") + cost);
    const ResolvedScenario s = Scenario(sets);
    const absl::StatusOr<PhaseGrounds> grounds = PhaseGrounds::Make(s);
    const TrainingGround on = grounds->of(PassPurpose::kDecode);
    return RunInference(on, on, *s.inference(), {});
  };
  ASSERT_OK_AND_ASSIGN(const InferenceRun free, run("0"));
  ASSERT_OK_AND_ASSIGN(const InferenceRun paid, run("0.1"));
  EXPECT_NEAR(ToSeconds(paid.decode) / ToSeconds(free.decode), 1.3, 1e-9);
}

// The model's own module is a block and a head more, for each draft.
TEST(Drafts, OfThePredictionModuleAreSimulated) {
  const Sets small = {"model.preset=deepseek_v3", "system.nodes=4",
                      "inference.parallel.tensor=1", "inference.batch=32",
                      "inference.parallel.expert=32"};
  const auto step = [&](int drafts) {
    Sets sets = small;
    if (drafts > 0) {
      sets.push_back("inference.speculation.acceptance=0.8");
      sets.push_back("inference.speculation.prediction_module=true");
      sets.push_back("inference.speculation.drafts=" + std::to_string(drafts));
    }
    return ToSeconds(DecodeAt(Scenario(sets), 1000));
  };
  const double none = step(0);
  const double one = step(1);
  // One of 62 blocks and a second head: a few per cent, and more rows in all
  // products, which hardly count at one token per chip.
  EXPECT_GT(one, none * 1.01);
  EXPECT_LT(one, none * 1.25);
}

// Eight ranks have an eighth of every sequence's cache each: attention reads an
// eighth and parts are summed; weights are on every rank.
TEST(SplitCache, ReadsAPartOnEveryRank) {
  const auto growth = [](int context) {
    const ResolvedScenario s =
        Scenario({"model.preset=llama3_8b", "inference.parallel.tensor=1",
                  "inference.batch=8",
                  "system.chips_per_node=" + std::to_string(context),
                  "inference.parallel.context=" + std::to_string(context)});
    return ToSeconds(DecodeAt(s, 400'000) - DecodeAt(s, 80'000));
  };
  // 8 x 320 000 tokens x 65 536 B (FP8) = 168 GB at 3.35 TB/s are 50 ms; a
  // kernel reaches most of the bandwidth.
  const double bytes = 8.0 * 320'000 * 65'536;
  EXPECT_GT(growth(1), bytes / 3.35e12);
  EXPECT_LT(growth(1), 1.4 * bytes / 3.35e12);
  EXPECT_NEAR(growth(8) / growth(1), 1.0 / 8, 0.01);
}

// A chunk and decoding sequences in one step read the weights once: less than
// both by themselves, more than either.
TEST(MixedSteps, ShareTheTrafficOfWeights) {
  const Sets base = {"inference.prompt=512", "inference.batch=1"};
  const ResolvedScenario alone = Scenario(base);
  Sets sets = base;
  sets.push_back("inference.decode_beside=64");
  const ResolvedScenario mixed = Scenario(sets);
  const Duration prompt = StepOf(alone, PrefillPasses(*alone.inference())[0]);
  const InferencePass both = PrefillPasses(*mixed.inference())[0];
  EXPECT_EQ(both.purpose, PassPurpose::kMixed);
  ASSERT_EQ(both.groups.size(), 2u);
  EXPECT_EQ(both.groups[1].count, 64);
  const Duration together = StepOf(mixed, both);
  const ResolvedScenario decoding =
      Scenario({"inference.prompt=512", "inference.batch=64"});
  const Duration step = DecodeAt(decoding, both.groups[1].cached);
  EXPECT_GT(together, prompt);
  EXPECT_GT(together, step);
  EXPECT_LT(together, prompt + step);
}

// 5 sequences cannot be dealt out over two parts: one would be forgotten.
TEST(MixedSteps, ForgetNoSequence) {
  EXPECT_THAT(
      ScenarioWith("llama3_70b_fp8_serving",
                   {"inference.micro_batches=2", "inference.decode_beside=5"})
          .status()
          .message(),
      testing::HasSubstr("decode_beside: 5 must be a multiple of 2"));
  const ResolvedScenario s =
      Scenario({"inference.micro_batches=2", "inference.decode_beside=6"});
  const InferencePass pass = PrefillPasses(*s.inference())[0];
  EXPECT_EQ(pass.groups[1].count * pass.parts, 6);
}

// 64 prompts of 2048 tokens, four to a step of 8192: after the engine's 3 ms 16
// steps of prefill, the first four of decoding, and 251 more as one. The cache
// grows by what each brings.
TEST(RequestTimeline, HasTheStepsOfEveryRequest) {
  const ResolvedScenario s = Scenario(
      {"inference.engine.max_step_tokens=8192", "inference.micro_batches=2"});
  ASSERT_OK_AND_ASSIGN(
      const SimulatedRun run,
      RunScenario(s, {.part = InferencePart::kRequest, .record = true}));
  const Duration end = std::chrono::seconds(9);
  const RequestTimeline timeline =
      RequestsOf(s, run, InferencePart::kRequest, end);
  EXPECT_EQ(timeline.sequences, 64);
  ASSERT_EQ(timeline.steps.size(), 22u);
  EXPECT_EQ(timeline.steps[0].kind, RequestStep::Kind::kOverhead);
  EXPECT_EQ(timeline.steps[0].to, Time(std::chrono::milliseconds(3)));
  Time last{};
  for (size_t i = 0; i < 20; ++i) {
    const RequestStep& step = timeline.steps[i + 1];
    EXPECT_EQ(step.decodes(), i >= 16);
    EXPECT_EQ(step.first, i < 16 ? 4 * static_cast<int64_t>(i) : 0);
    EXPECT_EQ(step.count, i < 16 ? 4 : 64);
    EXPECT_EQ(step.tokens, i < 16 ? 2048 : 1);
    EXPECT_GE(step.from, last);
    EXPECT_GT(step.to, step.from);
    last = step.to;
    // A head of keys and values of 80 layers in FP8: 20 480 B per token and
    // chip, in blocks of 64 tokens.
    const int64_t tokens = i < 16 ? 4 * static_cast<int64_t>(i + 1) * 2048
                                  : int64_t{64} * (2048 + 64);
    EXPECT_EQ(timeline.cache[i].held, Bytes(20480 * tokens)) << i;
  }
  EXPECT_LE(last, run.result.end + timeline.steps[0].to.time_since_epoch());
  EXPECT_EQ(timeline.steps[21].kind, RequestStep::Kind::kNotDrawn);
  EXPECT_EQ(timeline.steps[21].from, last);
  EXPECT_EQ(timeline.steps[21].to, Time(end));
  EXPECT_EQ(timeline.steps[21].steps, 251);
  EXPECT_EQ(timeline.drawn_steps, 4);
  EXPECT_EQ(timeline.decode_steps, 255);
  // 2048 + 256 tokens of each are four blocks more than the first steps filled.
  EXPECT_LE(timeline.cache.back().held,
            Bytes(int64_t{20480} * 64 * (2048 + 256)));
  EXPECT_GT(timeline.cache.back().held,
            Bytes(int64_t{20480} * 64 * (2048 + 64)));
  EXPECT_GT(timeline.room, timeline.cache.back().held);
}

// A token is made from the one before it: the first stage does not begin a
// decode step before the last stage has ended the step before, for the same
// part of the batch.
TEST(RequestTimeline, ADecodeStepWaitsForTheTokensOfTheStepBefore) {
  for (const char* parts : {"1", "4"}) {
    const ResolvedScenario s =
        Scenario({"inference.parallel.tensor=4",
                  "inference.parallel.pipeline=2", "inference.output=9",
                  std::string("inference.micro_batches=") + parts});
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun run,
        RunScenario(s, {.part = InferencePart::kWholeRequest, .record = true}));
    // By step and part: when the first stage begins, and the last ends.
    std::map<std::pair<int, int>, Time> begins;
    std::map<std::pair<int, int>, Time> ends;
    for (const TaskSpan& span : run.spans) {
      const Mark& mark = run.placed.program.role_of(span.rank).mark(span.task);
      if (mark.phase != WorkPhase::kDecode || span.stream != kComputeStream) {
        continue;
      }
      const std::pair key{*mark.micro_batch, mark.piece.value_or(0)};
      const bool first_stage = run.placed.program.ranks()[span.rank].number < 4;
      if (first_stage) {
        const auto at = begins.try_emplace(key, span.started).first;
        at->second = std::min(at->second, span.started);
      } else {
        ends[key] = std::max(ends[key], span.ended);
      }
    }
    EXPECT_EQ(begins.size(), 8u * static_cast<size_t>(std::stoi(parts)));
    for (const auto& [key, begin] : begins) {
      if (key.first == 0) continue;
      EXPECT_GE(begin, ends.at({key.first - 1, key.second}))
          << "step " << key.first << " part " << key.second;
    }
  }
}

// Two all-reduces in each of 80 layers, 2 us more each; embedding and head are
// whole, so that there are no others.
TEST(AllReduce, OfTheEngineTakesWhatItsBufferCosts) {
  const auto step = [](const char* more) {
    absl::StatusOr<ResolvedScenario> s = ScenarioWith(
        "llama2_70b_inference",
        {"inference.engine.preset=gpt_fast",
         std::string("inference.engine.all_reduce_overhead=") + more});
    EXPECT_THAT(s, IsOk());
    return DecodeAt(*s, 200);
  };
  EXPECT_EQ(step("2 us") - step("0 us"), 160 * std::chrono::microseconds(2));
}

}  // namespace
}  // namespace orrery
