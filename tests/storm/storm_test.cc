// A short storm, the same at every run: see training_storm.h for the laws and
// scripts/storm for long ones.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/format.h"
#include "catalog/catalog.h"
#include "tests/effort.h"
#include "tests/storm/known_failures.h"
#include "tests/storm/training_storm.h"

namespace orrery {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kCases = 1200;

TEST(Storm, EveryLawHoldsOnEveryCase) {
  const Storm storm = TrainingStorm();
  const StormReport report =
      RunStorm(storm, {.seed = kSeed, .cases = Rounds(kCases), .workers = 2});
  std::set<const KnownFailure*> seen;
  for (const StormFailure& failure : report.failures) {
    if (const KnownFailure* known = FindKnown(failure)) {
      seen.insert(known);
      continue;
    }
    ADD_FAILURE() << failure.law << ": " << failure.what << "\n  "
                  << RepeatCommand(storm, kSeed, failure.number);
  }
  EXPECT_EQ(report.cases, Rounds(kCases));
  // With fewer cases some may not come up.
  if (Rounds(kCases) < kCases) return;
  for (const KnownFailure& known : KnownFailures()) {
    EXPECT_TRUE(seen.contains(&known))
        << known.law << " (" << known.label
        << ") fails no more: take it out of known_failures.cc";
  }
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
                           "stepped",
                           "experts",
                           "context",
                           "tensor",
                           "fault",
                           "rank map"}) {
    EXPECT_GT(report.examples.count(kind), 0u) << kind;
  }
}

}  // namespace
}  // namespace orrery
