#pragma once
// ScenarioSql: the timeline of a scenario of the catalogue as Perfetto reads
// it, and what the simulator itself recorded to hold it against. One suite,
// whose tests stand in several files: a trace is made and loaded once for all
// of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "catalog/resolve.h"
#include "cli/commands/trace_output.h"
#include "run/run_scenario.h"
#include "sim/analysis/critical_path.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"
#include "tests/traces/timeline/scenario_statements.h"
#include "tests/traces/trace_processor.h"
#include "traces/timeline/timeline.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {

class ScenarioSql : public testing::TestWithParam<std::string> {
 protected:
  // One trace for all tests of a scenario.
  struct Traced {
    ResolvedScenario scenario;
    SimulatedRun run;
    TimelineOptions options;
    std::vector<PathStep> path;
    std::map<std::string, SqlTable> answers;
    std::vector<std::string> problems;
  };

  void SetUp() override {
    if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
    if (!kept_.contains(GetParam())) kept_.emplace(GetParam(), Make());
  }
  static void TearDownTestSuite() { kept_.clear(); }

  static Traced Make() {
    auto scenario =
        MakeScenario(ResolveScenario(Catalog(), GetParam(), {}).value());
    RunOptions how;
    RecordForTrace(how);
    auto run = RunScenario(*scenario, how);
    Traced traced = {.scenario = *std::move(scenario),
                     .run = *std::move(run),
                     .options = {},
                     .path = {},
                     .answers = {},
                     .problems = {}};
    const Program& program = traced.run.placed.program;
    traced.path = CriticalPath(SpanIndex(program, traced.run.spans));
    // What the program shows by default.
    std::set<RankId> ranks;
    for (const RankId rank : OneRankPerRole(program)) ranks.insert(rank);
    for (const RankId rank : RanksOfPath(traced.path, kMostPathRanks)) {
      ranks.insert(rank);
    }
    traced.options.ranks.assign(ranks.begin(), ranks.end());
    const std::string file = TestFile(GetParam() + ".pftrace");
    TraceRequest request;
    request.path = file;
    EXPECT_OK(WriteTrace(request, traced.scenario, traced.run));
    std::vector<std::string> sql;
    for (const auto& [name, statement] : Statements()) sql.push_back(statement);
    TraceAnswers answers = Ask(file, sql);
    size_t i = 0;
    for (const auto& [name, statement] : Statements()) {
      traced.answers[name] = answers.tables.at(i++);
    }
    traced.problems = std::move(answers.problems);
    std::filesystem::remove(file);
    return traced;
  }

  const Traced& traced() const { return kept_.at(GetParam()); }
  const SimulatedRun& run() const { return traced().run; }
  const Program& program() const { return run().placed.program; }
  const SqlTable& Answer(const std::string& name) const {
    return traced().answers.at(name);
  }
  // The spans of the ranks that are shown, without markers.
  std::vector<TaskSpan> Shown() const {
    const TimelineSelection selection(program(), traced().options,
                                      run().result.end);
    std::vector<TaskSpan> shown;
    for (const TaskSpan& span : run().spans) {
      if (selection.Shows(span)) shown.push_back(span);
    }
    return shown;
  }
  std::string TrackOf(RankId rank) const {
    return fmt::format("rank {} ({})", program().ranks()[rank].number,
                       NaturalName(program().role_of(rank).name()));
  }

 private:
  static inline std::map<std::string, Traced> kept_;
};

}  // namespace orrery
