// How large the file of a timeline is, and what is said about it before it is
// written.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "catalog/resolve.h"
#include "cli/commands/recorded_timeline.h"
#include "cli/commands/trace_output.h"
#include "run/run_scenario.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"
#include "traces/timeline/timeline.h"

namespace orrery {
namespace {

struct Sizes {
  int64_t slices = 0;
  double predicted = 0;
  double written = 0;
};

// Of a scenario with all its ranks.
Sizes SizesOf(const std::string& name, bool fold) {
  const ResolvedScenario scenario =
      MakeScenario(ResolveScenario(Catalog(), name, {}).value()).value();
  RunOptions how;
  how.fold = fold;
  RecordForTrace(how);
  const SimulatedRun run = RunScenario(scenario, how).value();
  TimelineOptions options;
  for (const RankId rank : run.placed.program.ranks().ids()) {
    options.ranks.push_back(rank);
  }
  const RecordedTimeline recorded(scenario, WholeOf(scenario, run));
  const Timeline timeline(recorded.source(), options);
  Sizes sizes = {.slices = timeline.CountSlices()};
  sizes.predicted = static_cast<double>(timeline.PredictSize().value());
  const std::string file = TestFile("size.pftrace");
  PerfettoWriter writer = PerfettoWriter::Create(file).value();
  timeline.Write(writer);
  EXPECT_OK(writer.Finish());
  EXPECT_EQ(writer.slices(), sizes.slices);
  sizes.written = static_cast<double>(std::filesystem::file_size(file));
  std::filesystem::remove(file);
  return sizes;
}

// A large file is predicted from parts of the run, which differ: what is said
// may be off by a tenth.
constexpr double kTenth = 0.1;

TEST(TimelineSize, IsPredictedFromParts) {
  for (const char* name : {"quickstart", "crossing_groups"}) {
    const Sizes sizes = SizesOf(name, false);
    EXPECT_GT(sizes.slices, 300'000) << name;  // not tried out as a whole
    EXPECT_NEAR(sizes.predicted / sizes.written, 1, kTenth) << name;
    // Every rank with all arguments, arrows and counters.
    EXPECT_LE(sizes.written / static_cast<double>(sizes.slices), 25) << name;
  }
}

TEST(TimelineSize, OfASmallFileIsExact) {
  const Sizes sizes = SizesOf("quickstart", true);
  EXPECT_EQ(sizes.predicted, sizes.written);
}

}  // namespace
}  // namespace orrery
