// Two short storms: one the same at every run, and one of a seed that no run
// had before. See training_storm.h and inference_storm.h for the laws and
// scripts/storm for long ones. ORRERY_STORM_SEED repeats the second one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/format.h"
#include "catalog/catalog.h"
#include "tests/effort.h"
#include "tests/storm/call_storm.h"
#include "tests/storm/inference_storm.h"
#include "tests/storm/known_failures.h"
#include "tests/storm/training_storm.h"

namespace orrery {
namespace {

constexpr uint64_t kSeed = 1;

// Runs a storm of so many cases: what fails is known to, by no more than its
// reason explains.
StormReport Weather(const Storm& storm, uint64_t seed, int cases) {
  const StormReport report =
      RunStorm(storm, {.seed = seed, .cases = Rounds(cases), .workers = 2});
  for (const StormFailure& failure : report.failures) {
    if (FindKnown(storm.name, failure) != nullptr) continue;
    ADD_FAILURE() << failure.law << ": " << failure.what << "\n  "
                  << RepeatCommand(storm, seed, failure.number);
  }
  EXPECT_EQ(report.cases, Rounds(cases));
  return report;
}

// Another at every run.
void NewWeather(const Storm& storm, int cases) {
  const uint64_t seed = DrawSeed();
  fmt::print("storm of {}, seed {} (ORRERY_STORM_SEED={} repeats it)\n",
             storm.name, seed, seed);
  Weather(storm, seed, cases);
}

TEST(NewStorm, EveryLawOfTrainingHolds) { NewWeather(TrainingStorm(), 100); }
TEST(NewStorm, EveryLawOfCallsHolds) { NewWeather(CallStorm(), 60); }
TEST(NewStorm, EveryLawOfInferenceHolds) { NewWeather(InferenceStorm(), 80); }

TEST(Storm, EveryLawOfTrainingHoldsOnEveryCase) {
  constexpr int kCases = 1200;
  const StormReport report = Weather(TrainingStorm(), kSeed, kCases);
  if (Rounds(kCases) < kCases) return;
  // Every system, and every kind of fabric, schedule and sharding came up.
  for (const std::string& system : Catalog().Names("systems")) {
    EXPECT_GT(report.examples.count("system " + system), 0u) << system;
  }
  for (const char* kind : {"scale-out fat_tree",
                           "scale-out rail_optimized",
                           "scale-out rail_only",
                           "scale-out dragonfly",
                           "scale-out hyperx",
                           "scale-out switch",
                           "scale-up fully_connected",
                           "scale-up ring",
                           "scale-up mesh",
                           "scale-up torus",
                           "schedule GPIPE",
                           "schedule ONE_F_ONE_B",
                           "schedule INTERLEAVED_1F1B",
                           "schedule ZB_H1",
                           "schedule ZB_V",
                           "schedule DUAL_PIPE",
                           "sharding ZERO_0",
                           "sharding ZERO_1",
                           "sharding ZERO_2",
                           "sharding ZERO_3",
                           "folded",
                           "not folded",
                           "folded around a fault",
                           "folded around a slow chip",
                           "stepped",
                           "experts",
                           "context",
                           "tensor",
                           "fault",
                           "rank map"}) {
    EXPECT_GT(report.examples.count(kind), 0u) << kind;
  }
}

TEST(Storm, EveryLawOfCallsHoldsOnEveryMachine) {
  constexpr int kCases = 400;
  const StormReport report = Weather(CallStorm(), kSeed, kCases);
  if (Rounds(kCases) < kCases) return;
  for (const char* kind :
       {"as in catalogue", "rewired", "fault", "scale-out fat_tree",
        "scale-out rail_optimized", "scale-out rail_only",
        "scale-out dragonfly", "scale-out hyperx", "scale-out switch",
        "scale-out torus", "scale-up fully_connected", "scale-up ring",
        "scale-up mesh", "scale-up torus", "routing ADAPTIVE", "routing ECMP",
        "routing MINIMAL", "routing VALIANT"}) {
    EXPECT_GT(report.examples.count(kind), 0u) << kind;
  }
}

TEST(Storm, EveryLawOfInferenceHoldsOnEveryCase) {
  constexpr int kCases = 400;
  const StormReport report = Weather(InferenceStorm(), kSeed, kCases);
  if (Rounds(kCases) < kCases) return;
  for (const char* preset : {"engine", "system"}) {
    for (const std::string& name : Catalog().Names(std::string(preset) + "s")) {
      EXPECT_GT(report.examples.count(std::string(preset) + " " + name), 0u)
          << name;
    }
  }
  for (const char* kind :
       {"attention MHA", "attention GQA",     "attention MQA", "attention MLA",
        "window",        "weights BF16",      "weights FP8",   "weights INT8",
        "weights INT4",  "weights FP4",       "cache BF16",    "cache FP8",
        "cache INT8",    "cache FP4",         "pools",         "two machines",
        "chunks",        "mixed steps",       "parts",         "halves",
        "drafts",        "prediction module", "tensor",        "pipeline",
        "context",       "experts",           "folded",        "not folded",
        "fault",         "slow chip"}) {
    EXPECT_GT(report.examples.count(kind), 0u) << kind;
  }
}

TEST(KnownFailures, StillFail) {
  for (const Storm& storm : {TrainingStorm(), InferenceStorm(), CallStorm()}) {
    for (const KnownFailure& known : KnownFailures()) {
      if (known.storm != storm.name) continue;
      const StormReport report = RunStorm(
          storm, {.seed = known.seed, .first = known.number, .cases = 1});
      EXPECT_TRUE(std::any_of(report.failures.begin(), report.failures.end(),
                              [&](const StormFailure& failure) {
                                return FindKnown(storm.name, failure) == &known;
                              }))
          << known.law << " (" << known.why
          << ") fails no more: take it out of known_failures.cc\n  "
          << RepeatCommand(storm, known.seed, known.number);
    }
  }
}

// What a table of known failures must not do: forgive more than its reason
// explains, the other direction, or another kind of case.
TEST(KnownFailures, ForgiveNoMoreThanTheirReasonExplains) {
  StormFailure failure{.number = 1,
                       .law = "stepped alone, ring",
                       .what = "",
                       .labels = {},
                       .deviation = 0.3,
                       .facts = {{"latency", 0.9}, {"wire", 0.4}}};
  EXPECT_NE(FindKnown("training", failure), nullptr);
  EXPECT_EQ(FindKnown("inference", failure), nullptr);
  // More than bytes and latencies can overlap.
  failure.deviation = 0.41;
  EXPECT_EQ(FindKnown("training", failure), nullptr);
  // 4 hops of a ring of 5: FLUID misses one in 4 at the most.
  failure.facts = {{"latency", 0.8}, {"wire", 0}, {"ring hops", 4}};
  failure.deviation = -0.2;
  EXPECT_NE(FindKnown("training", failure), nullptr);
  failure.deviation = -0.21;
  EXPECT_EQ(FindKnown("training", failure), nullptr);

  failure = {.number = 1,
             .law = "memory by formula",
             .what = "",
             .labels = {"gradients sharded"},
             .deviation = -0.1,
             .facts = {{"gradients", 0.15}}};
  EXPECT_NE(FindKnown("training", failure), nullptr);
  failure.deviation = -0.16;
  EXPECT_EQ(FindKnown("training", failure), nullptr);
  failure.deviation = 0.1;
  EXPECT_EQ(FindKnown("training", failure), nullptr);
  failure.deviation = -0.1;
  failure.labels = {};
  EXPECT_EQ(FindKnown("training", failure), nullptr);

  // Without a number there is nothing to bound.
  failure = {.number = 1, .law = kComesToAnEnd, .what = "", .labels = {}};
  EXPECT_EQ(FindKnown("training", failure), nullptr);
}

}  // namespace
}  // namespace orrery
