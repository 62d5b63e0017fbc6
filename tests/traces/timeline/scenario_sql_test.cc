// Timelines of scenarios of the catalogue as Perfetto reads them, held against
// what the simulator itself recorded: a dense model, a mixture of experts with
// all five kinds of parallelism, a deep pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "base/format.h"
#include "catalog/resolve.h"
#include "cli/commands/trace_output.h"
#include "run/run_scenario.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/time_shares.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"
#include "tests/traces/timeline/scenario_statements.h"
#include "tests/traces/trace_processor.h"
#include "traces/timeline/timeline.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

int64_t Floor(Time at) { return at.time_since_epoch().count() / 1000; }

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

TEST_P(ScenarioSql, PerfettoCountsNoError) {
  EXPECT_THAT(traced().problems, IsEmpty());
}

TEST_P(ScenarioSql, EveryShownRankHasAStepAsLongAsTheReportSays) {
  const std::string end = fmt::to_string(Floor(run().result.end));
  EXPECT_THAT(
      Answer("makespan"),
      ElementsAre(ElementsAre(fmt::to_string(traced().options.ranks.size()),
                              "0", end, end)));
  EXPECT_THAT(
      Answer("path"),
      ElementsAre(ElementsAre(
          fmt::to_string(traced().path.size()),
          fmt::to_string(run().result.end.time_since_epoch().count()), end)));
}

TEST_P(ScenarioSql, SlicesAndArrowsAreAsManyAsThereAre) {
  const SpanIndex index(program(), run().spans);
  const GroupSizes sizes = SimulatedGroupSizes(program());
  const TimelineSource source = {.program = program(),
                                 .spans = index,
                                 .path = traced().path,
                                 .transfers = run().transfers,
                                 .log = run().log,
                                 .ops = run().ops,
                                 .group_sizes = sizes};
  EXPECT_THAT(Answer("slices"),
              ElementsAre(ElementsAre(fmt::to_string(
                  Timeline(source, traced().options).CountSlices()))));
  // From a dependency on another stream; from a send to its receive; from what
  // held up the last rank at a collective.
  const TimelineSelection selection(program(), traced().options,
                                    run().result.end);
  const SpanIndex spans(program(), run().spans);
  int64_t arrows = 0;
  for (const TaskSpan& span : Shown()) {
    const TaskSpan* from = nullptr;
    if (span.release.by == Release::By::kDependency) {
      from = spans.ReleaserOf(span);
    } else if (span.release.by == Release::By::kPartner &&
               span.kind == SpanKind::kCollective) {
      from = spans.ReleaserOf(*spans.ReleaserOf(span));
    }
    if (from != nullptr && selection.Shows(*from)) ++arrows;
    if (span.kind != SpanKind::kReceive) continue;
    const auto slot =
        static_cast<SlotId>(program().role_of(span.rank).task(span.task).slot);
    const RankId sender =
        program().members(program().group_of(span.rank, slot)).front().rank;
    if (selection.Shows(sender)) ++arrows;
  }
  EXPECT_GT(arrows, 0);
  EXPECT_THAT(Answer("flows"),
              ElementsAre(ElementsAre(fmt::to_string(arrows))));
}

TEST_P(ScenarioSql, OpsTakeTheTimeTheEngineGaveThem) {
  struct Sum {
    int64_t count = 0;
    Duration time{0};
    int64_t nanoseconds = 0;
  };
  std::map<std::string, Sum> ops;
  for (const TaskSpan& span : Shown()) {
    if (span.kind != SpanKind::kKernel) continue;
    const Role& role = program().role_of(span.rank);
    Sum& sum = ops[KernelLabel(
        program().name(span.name), role.mark(span.task).phase,
        IsProduct(role.kernel(role.task(span.task)).facts, run().ops))];
    ++sum.count;
    sum.time += span.running();
    sum.nanoseconds += Floor(span.ended) - Floor(span.started);
  }
  SqlTable expected;
  for (const auto& [name, sum] : ops) {
    expected.push_back({name, fmt::to_string(sum.count),
                        fmt::to_string(sum.time.count()),
                        fmt::to_string(sum.nanoseconds)});
  }
  EXPECT_EQ(Answer("ops"), expected);
  EXPECT_THAT(Answer("shapes"), ElementsAre(ElementsAre("0")));
}

TEST_P(ScenarioSql, CollectivesTakeTheTimeTheExplanationSays) {
  // Of every shown rank, what `orrery explain` sums up; bytes from the program.
  std::map<std::pair<std::string, std::string>, std::array<int64_t, 3>> sums;
  const SpanIndex spans(program(), run().spans);
  for (const RankId rank : traced().options.ranks) {
    BreakdownSink breakdown(program(), rank);
    for (const TaskSpan& span : run().spans) breakdown.Add(span);
    breakdown.Finish(run().result.end);
    for (const ExposedTime& time :
         ExposedCommunication(program(), spans, rank, breakdown)) {
      EXPECT_EQ(time.exposed + time.hidden(), time.total);
      auto& sum = sums[{"comm " + time.stream, std::string(NameOf(time.kind))}];
      sum[0] += time.count;
      sum[1] += time.total.count();
    }
    const Role& role = program().role_of(rank);
    for (const RoleSlot& slot : role.slots()) {
      for (const TaskId task : slot.sequence) {
        const Communication& what = role.communication(role.task(task));
        sums[{"comm " + program().streams()[slot.stream].name,
              std::string(NameOf(what.kind))}][2] += what.bytes.value();
      }
    }
  }
  SqlTable expected;
  for (const auto& [key, sum] : sums) {
    expected.push_back({key.first, key.second, fmt::to_string(sum[0]),
                        fmt::to_string(sum[1]), fmt::to_string(sum[2])});
  }
  EXPECT_EQ(Answer("collectives"), expected);
}

// As on the machine, though one rank is simulated for all of its stage.
TEST_P(ScenarioSql, GroupsAreAsLargeAsOnTheMachine) {
  std::set<std::vector<std::string>> expected;
  for (const TaskSpan& span : Shown()) {
    const Role& role = program().role_of(span.rank);
    const Task& task = role.task(span.task);
    if (!IsCommunication(task.kind)) continue;
    const GroupId group =
        program().group_of(span.rank, static_cast<SlotId>(task.slot));
    expected.insert(
        {"comm " + program().streams()[span.stream].name,
         std::string(NameOf(role.communication(task).kind)),
         fmt::to_string(run().placed.groups[group].members.size())});
  }
  EXPECT_EQ(Answer("groups"), SqlTable(expected.begin(), expected.end()));
  EXPECT_THAT(Answer("to itself"), ElementsAre(ElementsAre("0")));
  const auto& degrees = traced().scenario.training()->degrees();
  for (const auto& row : Answer("groups")) {
    if (row[0] == "comm expert") {
      EXPECT_EQ(row[2], fmt::to_string(degrees.expert));
    }
    if (row[0] == "comm context") {
      EXPECT_EQ(row[2], fmt::to_string(degrees.context));
    }
  }
}

// What the trace says a rank waited for is what `orrery explain` says, to the
// picosecond: by cause, and what is exposed by stream.
TEST_P(ScenarioSql, WaitsAreThoseOfTheExplanation) {
  SqlTable expected;
  for (const RankId rank : traced().options.ranks) {
    BreakdownSink sink(program(), rank);
    for (const TaskSpan& span : run().spans) sink.Add(span);
    const StepBreakdown parts = sink.Finish(run().result.end);
    std::map<std::pair<std::string, std::string>, Duration> sums;
    sums[{"bubble", ""}] = parts.bubble;
    sums[{"straggler", ""}] = parts.straggler;
    sums[{"host", ""}] = parts.host;
    for (const StreamId stream : program().streams().ids()) {
      sums[{"exposed", program().streams()[stream].name}] =
          parts.exposed[stream].time;
    }
    for (const auto& [cause, time] : sums) {
      if (time == Duration(0)) continue;
      expected.push_back({fmt::to_string(program().ranks()[rank].number),
                          cause.first, cause.second,
                          fmt::to_string(time.count())});
    }
  }
  EXPECT_EQ(Answer("waits"), expected);
}

// A wrapper covers its own work: nothing waits inside an optimizer slice.
TEST_P(ScenarioSql, OptimizerSlicesAreKernelsOnly) {
  EXPECT_THAT(Answer("optimizer"), ElementsAre(ElementsAre("0")));
}

TEST_P(ScenarioSql, MemoryPeaksWhereTheReportSaysAndEndsAsItBegan) {
  std::map<std::string, std::array<int64_t, 2>> seen;  // peak, end
  for (const auto& row : Answer("memory")) {
    seen[row[0]][0] = std::stoll(row[1]);
  }
  for (const auto& row : Answer("memory at the end")) {
    seen[row[0]][1] = std::stoll(row[1]);
  }
  EXPECT_EQ(seen.size(), traced().options.ranks.size());
  int64_t most = 0;
  for (const RankId rank : traced().options.ranks) {
    Bytes fixed = traced().scenario.kernels.reserved_memory();
    for (const Bytes kind : program().role_of(rank).initial_memory()) {
      fixed += kind;
    }
    const auto& [peak, end] = seen[TrackOf(rank)];
    EXPECT_EQ(peak, (run().result.ranks[rank].memory.total +
                     traced().scenario.kernels.reserved_memory())
                        .value());
    EXPECT_EQ(end, fixed.value());
    most = std::max(most, peak);
  }
  // The report's `peak_bytes`.
  EXPECT_EQ(most, (run().memory.peak.total +
                   traced().scenario.kernels.reserved_memory())
                      .value());
  EXPECT_THAT(Answer("stack"), ElementsAre(ElementsAre("0")));
  EXPECT_THAT(Answer("capacity"),
              ElementsAre(ElementsAre(fmt::to_string(
                  traced().scenario.system.chip().memory().value()))));
}

// Instants are rounded down to nanoseconds in the file: every change of a load
// moves by less than that.
constexpr double kFloored = 1e-9;

TEST_P(ScenarioSql, LoadsAreWhatLinksCarriedAndNeverMoreThanTheyCan) {
  EXPECT_THAT(Answer("loads"), ElementsAre(ElementsAre("1", "1")));
  EXPECT_THAT(Answer("loads at the end"), ElementsAre(ElementsAre("0")));
  // On the wire, and of it the calls' own bytes: in seconds of the capacity, of
  // every link that a track of this name may be of.
  const Transfers& transfers = run().transfers;
  std::map<PlanId, double> runs;  // of each plan
  for (const TaskSpan& span : run().spans) {
    const Task& task = program().role_of(span.rank).task(span.task);
    if (!IsCommunication(task.kind)) continue;
    const GroupId group =
        program().group_of(span.rank, static_cast<SlotId>(task.slot));
    runs[transfers.plan_of_call[program().call_of(span.rank, task)]] +=
        1.0 / static_cast<double>(program().members(group).size());
  }
  IdVector<ResourceId, double> payload(transfers.capacities.size(), 0);
  for (const auto& [plan, count] : runs) {
    for (const ResourceUse& use : transfers.plans.TotalLoad(plan)) {
      const PlanEfficiency& efficiency = transfers.efficiencies[plan];
      payload[use.resource] += count * use.weight *
                               (transfers.resource_places[use.resource].scale_up
                                    ? efficiency.scale_up
                                    : efficiency.scale_out);
    }
  }
  std::map<std::string, std::vector<double>> seconds;
  for (const ResourceId id : run().result.carried.ids()) {
    const ResourcePlace& place = transfers.resource_places[id];
    const std::string chip =
        place.chip ? fmt::format("{}", *place.chip) : std::string();
    seconds[chip + " " + place.name + " load"].push_back(
        run().result.carried[id] / transfers.capacities[id]);
    seconds[chip + " " + place.name + " goodput"].push_back(
        payload[id] / transfers.capacities[id]);
  }
  ASSERT_FALSE(Answer("carried").empty());
  for (const auto& row : Answer("carried")) {
    // "rank 3 (stage 1)" above "NIC out load", or "rank 3: NIC out load".
    std::string chip, name = row[1];
    std::smatch found;
    if (std::regex_match(row[0], found, std::regex("rank ([0-9]+) .*"))) {
      chip = found[1];
    } else if (std::regex_match(name, found,
                                std::regex("rank ([0-9]+): (.*)"))) {
      chip = found[1];
      name = found[2];
    }
    const std::string key = chip + " " + name;
    ASSERT_TRUE(seconds.contains(key)) << key;
    const double area = std::stod(row[2]) / 100 * 1e-9;
    const double tolerance = kFloored * std::stod(row[3]);
    EXPECT_TRUE(std::any_of(
        seconds[key].begin(), seconds[key].end(),
        [&](double each) { return std::abs(each - area) <= tolerance; }))
        << key << ": " << area << " s, not " << seconds[key][0];
  }
}

TEST_P(ScenarioSql, BusyIsTheTimeInWhichKernelsRan) {
  std::map<std::string, Duration> kernels;
  for (const TaskSpan& span : Shown()) {
    if (span.kind != SpanKind::kKernel) continue;
    kernels[TrackOf(span.rank)] += span.running();
  }
  EXPECT_EQ(Answer("busy").size(), kernels.size());
  for (const auto& row : Answer("busy")) {
    // 200 values, each over a part that is rounded down at both ends.
    EXPECT_NEAR(std::stod(row[1]) / 100 * 1e-9, ToSeconds(kernels[row[0]]),
                400 * kFloored)
        << row[0];
  }
}

TEST_P(ScenarioSql, TracksStandInTheOrderOfTheTree) {
  SqlTable top = {{"pipeline"}, {"critical path"}};
  const int32_t per_node = traced().scenario.system.chips_per_node();
  for (const RankId rank : traced().options.ranks) {
    const std::string node =
        fmt::format("node {}", program().ranks()[rank].number / per_node);
    if (top.back()[0] != node) top.push_back({node});
  }
  if (std::any_of(Answer("carried").begin(), Answer("carried").end(),
                  [](const auto& row) { return row[0] == "network"; })) {
    top.push_back({"network"});
  }
  const auto& classes = run().transfers.resource_classes;
  if (std::any_of(classes.begin(), classes.end(), [](const auto& of_resource) {
        return of_resource.front().between_switches;
      })) {
    top.push_back({"fabric"});
  }
  EXPECT_EQ(Answer("top"), top);

  const Role& role = program().role_of(RankId{0});
  SqlTable rank = {{"steps"}, {"compute"}, {"waiting for"}};
  for (const StreamId stream : program().streams().ids()) {
    if (role.stream_begin(stream) == role.stream_end(stream)) continue;
    const Stream& s = program().streams()[stream];
    if (s.kind == StreamKind::kCommunication)
      rank.push_back({"comm " + s.name});
  }
  rank.push_back({"partners"});
  rank.push_back({"memory"});
  rank.push_back({"memory capacity"});
  rank.push_back({"memory: libraries"});
  std::array<bool, kMemoryKinds> used{};
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    used[k] = role.initial_memory()[k] != Bytes(0);
  }
  for (int32_t t = 0; t < role.task_count(); ++t) {
    for (const MemoryEffect& e : role.memory_effects(static_cast<TaskId>(t))) {
      used[static_cast<size_t>(e.kind)] = true;
    }
  }
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    if (!used[k]) continue;
    rank.push_back(
        {fmt::format("memory: + {}", NameOf(static_cast<MemoryKind>(k)))});
  }
  rank.push_back({"compute busy"});
  // Then its links.
  const SqlTable& seen = Answer("rank");
  ASSERT_GT(seen.size(), rank.size());
  EXPECT_EQ(SqlTable(seen.begin(),
                     seen.begin() + static_cast<std::ptrdiff_t>(rank.size())),
            rank);
  for (size_t i = rank.size(); i < seen.size(); ++i) {
    EXPECT_THAT(seen[i][0], testing::MatchesRegex(
                                "(NVLink4|NIC|NDR) (out|in) (load|goodput)"));
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ScenarioSql,
                         testing::Values("quickstart", "mixtral_8x7b_5d",
                                         "deep_pipeline"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace orrery
