// A short storm, the same at every run: see training_storm.h for the laws and
// scripts/storm for long ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/format.h"
#include "catalog/catalog.h"
#include "tests/effort.h"
#include "tests/storm/known_failures.h"
#include "tests/storm/training_storm.h"

namespace orrery {
namespace {

constexpr uint64_t kSeed = 1;

TEST(Storm, EveryLawHoldsOnEveryCase) {
  const Storm storm = TrainingStorm();
  const StormReport report =
      RunStorm(storm, {.seed = kSeed, .cases = Rounds(400), .workers = 2});
  for (const StormFailure& failure : report.failures) {
    if (IsKnown(failure)) continue;
    ADD_FAILURE() << failure.law << ": " << failure.what << "\n  "
                  << RepeatCommand(storm, kSeed, failure.number);
  }
  EXPECT_EQ(report.cases, Rounds(400));
}

}  // namespace
}  // namespace orrery
