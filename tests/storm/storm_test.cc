// A short storm, the same at every run: see training_storm.h and
// inference_storm.h for the laws and scripts/storm for long ones.
#include <gtest/gtest.h>

#include <set>
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

// Runs a storm of so many cases: what fails is known to, and all that is known
// to fail does.
StormReport Weather(const Storm& storm, int cases) {
  const StormReport report =
      RunStorm(storm, {.seed = kSeed, .cases = Rounds(cases), .workers = 2});
  std::set<const KnownFailure*> seen;
  for (const StormFailure& failure : report.failures) {
    if (const KnownFailure* known = FindKnown(storm.name, failure)) {
      seen.insert(known);
      continue;
    }
    ADD_FAILURE() << failure.law << ": " << failure.what << "\n  "
                  << RepeatCommand(storm, kSeed, failure.number);
  }
  EXPECT_EQ(report.cases, Rounds(cases));
  // With fewer cases some may not come up.
  if (Rounds(cases) < cases) return report;
  for (const KnownFailure& known : KnownFailures()) {
    if (known.storm != storm.name) continue;
    EXPECT_TRUE(seen.contains(&known))
        << known.law << " (" << known.label
        << ") fails no more: take it out of known_failures.cc";
  }
  return report;
}

TEST(Storm, EveryLawOfTrainingHoldsOnEveryCase) {
  constexpr int kCases = 1200;
  const StormReport report = Weather(TrainingStorm(), kCases);
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
  const StormReport report = Weather(CallStorm(), kCases);
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
  const StormReport report = Weather(InferenceStorm(), kCases);
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

}  // namespace
}  // namespace orrery
