// Timelines of scenarios of the catalogue as Perfetto reads them, held against
// what the simulator itself recorded: a dense model, a mixture of experts with
// all five kinds of parallelism, a deep pipeline. Slices and arrows.
#include "tests/traces/timeline/scenario_sql.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "sim/analysis/time_shares.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

TEST_P(ScenarioSql, RatesTimesTheTimeAreTheBytesAndFlops) {
  for (const char* rates :
       {"rates of kernels", "rates of arithmetic", "rates of calls"}) {
    SCOPED_TRACE(rates);
    const SqlTable& answer = Answer(rates);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_NE(answer[0][0], "0");
    EXPECT_EQ(answer[0][1], "0");
  }
}

// The time of a kernel is its launch, what memory takes, and what arithmetic
// takes beyond that. The longest of the three bounds it.
TEST_P(ScenarioSql, KernelsAreBoundByTheLongestOfTheirParts) {
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const TaskSpan& span : Shown()) {
    if (span.kind != SpanKind::kKernel) continue;
    const Role& role = program().role_of(span.rank);
    const KernelWork& work = role.kernel(role.task(span.task));
    const KernelFacts& facts = work.facts;
    if (facts == KernelFacts()) continue;
    const Duration rest = work.duration - facts.launch - facts.memory_bound;
    const Duration longest = std::max({rest, facts.launch, facts.memory_bound});
    const char* bound = longest == rest                 ? "compute"
                        : longest == facts.memory_bound ? "memory"
                                                        : "launch";
    ++counts[{KernelLabel(program().name(span.name), role.mark(span.task).phase,
                          IsProduct(facts, run().ops)),
              bound}];
  }
  SqlTable expected;
  std::set<std::string> bounds;
  for (const auto& [key, count] : counts) {
    expected.push_back({key.first, key.second, fmt::to_string(count)});
    bounds.insert(key.second);
  }
  EXPECT_EQ(Answer("bounds"), expected);
  EXPECT_GT(bounds.size(), 1u);
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
    sums[{"late peer", ""}] = parts.late_peer;
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

INSTANTIATE_TEST_SUITE_P(Scenarios, ScenarioSql,
                         testing::Values("quickstart", "mixtral_8x7b_5d",
                                         "deep_pipeline"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace orrery
