// Every training scenario of the catalogue, explained: the critical path is as
// long as the step and its causes sum to it, so does the time of the ranks, and
// communication is either exposed or hidden. To the picosecond.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "catalog/resolve.h"
#include "run/explanation.h"
#include "run/run_scenario.h"
#include "run/scenario.h"
#include "run/utilisation.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/time_shares.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

std::vector<std::string> TrainingScenarios() {
  const Catalog catalog;
  std::vector<std::string> names;
  for (const std::string& name : catalog.Names("scenarios")) {
    if (catalog.Scenario(name)->has_training()) names.push_back(name);
  }
  return names;
}

class ExplainCatalogue : public testing::TestWithParam<std::string> {};

TEST_P(ExplainCatalogue, EverythingAddsUpToTheStep) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                       ResolveScenario(Catalog(), GetParam(), {}));
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(proto));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                       RunScenario(scenario, {.record = true}));
  const Program& program = run.placed.program;
  const Duration step = run.result.end - Time{};
  const SpanIndex spans(program, run.spans);
  const std::vector<PathStep> path = CriticalPath(spans);
  EXPECT_EQ(PathLength(path), step);
  EXPECT_EQ(run.breakdown.total(), step);
  // One of the busiest stage, the first and the last.
  const std::set<RankId> ranks = {
      RankId{0}, run.busiest, static_cast<RankId>(program.ranks().size() - 1)};
  for (const RankId rank : ranks) {
    SCOPED_TRACE(program.role_of(rank).name());
    BreakdownSink time(program, rank);
    std::map<std::pair<std::string, CommunicationKind>, Duration> calls;
    for (const TaskSpan& span : run.spans) {
      time.Add(span);
      const Task& task = program.role_of(span.rank).task(span.task);
      if (span.rank != rank || !IsCommunication(task.kind)) continue;
      calls[{program.streams()[span.stream].name,
             program.role_of(rank).communication(task).kind}] += span.running();
    }
    const StepBreakdown parts = time.Finish(run.result.end);
    EXPECT_EQ(parts.total(), step);
    Duration causes{0};
    for (const TimeShare& share :
         PathByCause(program, path, {rank, time.bubbles()}, run.ops)) {
      EXPECT_GT(share.time, Duration(0)) << share.name;
      causes += share.time;
    }
    EXPECT_EQ(causes, step);
    const std::vector<ExposedTime> exposed =
        ExposedCommunication(program, spans, rank, time);
    // One meaning of exposed: by kind of call as by stream.
    Duration by_kind{0}, by_stream{0};
    for (const ExposedTime& c : exposed) by_kind += c.exposed;
    for (const auto& stream : parts.exposed) by_stream += stream.time;
    EXPECT_EQ(by_kind, by_stream);
    EXPECT_EQ(exposed.size(), calls.size());
    for (const ExposedTime& c : exposed) {
      EXPECT_EQ(c.total, (calls[{c.stream, c.kind}])) << c.stream;
      EXPECT_EQ(c.exposed + c.hidden(), c.total);
      EXPECT_GE(c.exposed, Duration(0));
      EXPECT_GE(c.hidden(), Duration(0));
    }
  }
  for (const ResourceClassUse& use : Utilisation(scenario, run)) {
    EXPECT_GT(use.mean, 0) << use.name;
    EXPECT_LE(use.mean, use.most * (1 + 1e-12)) << use.name;
    EXPECT_LE(use.most, 1 + 1e-9) << use.name;
  }
  const pb::Explanation explanation = Explain(scenario, run, {});
  EXPECT_LE(explanation.top_tasks_size(), 10);
  EXPECT_GT(explanation.rank_time_size(), 0);
  // A wait is one time in the report and in the explanation, and what it was
  // for is all of it.
  double bubble = 0, late_peers = 0;
  for (const auto& share : explanation.rank_time()) {
    if (share.name() == "bubble") bubble = share.time_s();
    if (share.name() == "late peers") late_peers = share.time_s();
    double parts = 0;
    for (const auto& part : share.parts()) parts += part.time_s();
    if (share.parts_size() > 0) {
      EXPECT_NEAR(parts, share.time_s(), 1e-12) << share.name();
    }
  }
  EXPECT_EQ(bubble, ToSeconds(run.breakdown.bubble));
  EXPECT_EQ(late_peers, ToSeconds(run.breakdown.late_peer));
  EXPECT_GT(explanation.rank_0_time_size(), 0);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ExplainCatalogue,
                         testing::ValuesIn(TrainingScenarios()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace orrery
