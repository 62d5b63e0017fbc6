// Timelines of simulated programs, as Perfetto reads them: counters, and what
// is left out where less is asked for.
#include "tests/traces/timeline/timeline_fixture.h"

namespace orrery {
namespace {

using testing::ElementsAre;

TEST_F(TimelineTest, CountersShowThePeakAndTheEnd) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select r.name, cast(max(c.value) * 1073741824 as int) from counter c "
       "join track t on t.id = c.track_id join track r on r.id = t.parent_id "
       "where t.name = 'memory' group by r.id order by r.name",
       // Stacked: the last kind stands on all others, and is the total.
       "select distinct cast(value * 1073741824 as int) from (select c.value, "
       "max(c.ts) from counter c join track t on t.id = c.track_id where "
       "t.name "
       "in ('memory', 'memory: + activations') group by t.id)",
       "select distinct value from (select c.value, max(c.ts) from counter c "
       "join track t on t.id = c.track_id where t.name glob '* load' "
       "or t.name = 'compute busy' group by t.id)",
       "select count(distinct t.id), min(c.value) >= 0, max(c.value) <= "
       "100 from counter c join track t on t.id = c.track_id where t.name glob "
       "'link * load'",
       "select distinct cast(c.value * 1073741824 as int), t.unit from counter "
       "c join counter_track t on t.id = c.track_id where t.name = 'memory "
       "capacity'"});
  SqlTable peaks;
  for (const RankId rank : program_.ranks().ids()) {
    peaks.push_back(
        {fmt::format("rank {} (stage {})", static_cast<int>(rank),
                     static_cast<int>(rank) / kTensorRanks),
         fmt::to_string(
             (result_.ranks[rank].memory.total + kReserved).value())});
  }
  EXPECT_EQ(answers.tables[0], peaks);
  // Libraries and weights are all that is left: 3 MB + 10 MB.
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("13000000")));
  EXPECT_THAT(answers.tables[4], ElementsAre(ElementsAre("20000000", "GiB")));
  EXPECT_THAT(answers.tables[2], ElementsAre(ElementsAre("0")));
  EXPECT_THAT(answers.tables[3], ElementsAre(ElementsAre("3", "1", "1")));
}

// The area under a link's counter is what it carried.
TEST_F(TimelineTest, LinkLoadsAddUpToTheBytesCarried) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select name, round(sum(value * dur)) from (select t.name, c.value, "
       "lead(c.ts) over (partition by t.id order by c.ts, c.id) - c.ts as dur "
       "from counter c join track t on t.id = c.track_id where t.name glob "
       "'link * load') where dur is not null group by name order by name"});
  ASSERT_EQ(answers.tables[0].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto link = static_cast<ResourceId>(i);
    const double carried = std::stod(answers.tables[0][i][1]) / 100 * 1e-9 *
                           transfers_.capacities[link];
    // Instants are rounded down to nanoseconds: a call of 2 us is off by less
    // than 1/2000 at each end.
    EXPECT_NEAR(carried / result_.carried[link], 1, 1e-3);
  }
}

TEST_F(TimelineTest, ByDefaultOneRankOfEachRoleIsShown) {
  TimelineOptions options;
  options.ranks = OneRankPerRole(program_);
  const TraceAnswers answers = WriteAndAsk(
      options, {"select name from track where name glob 'rank *' order by 1"});
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("rank 0 (stage 0)"),
                                             ElementsAre("rank 2 (stage 1)")));
}

TEST_F(TimelineTest, LessDetailLeavesOutTheOps) {
  TimelineOptions options = AllRanks();
  options.detail = TimelineDetail::kLayer;
  TraceAnswers answers = WriteAndAsk(
      options, {"select sum(name glob '*mlp_up*'), sum(name glob 'layer *') > "
                "0 from slice"});
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("0", "1")));
  options.detail = TimelineDetail::kStep;
  answers = WriteAndAsk(
      options, {"select sum(name glob 'layer *'), sum(name glob '* mb *') > 0 "
                "from slice"});
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("0", "1")));
}

// A window is all there is: tasks, waits, path and counters are cut to it.
TEST_F(TimelineTest, AWindowBoundsEverything) {
  TimelineOptions options = AllRanks();
  options.from = Time(Duration(40'000'000));
  options.to = Time(Duration(60'000'000));
  int64_t kernels = 0;
  for (const TaskSpan& span : sink_.spans()) {
    kernels += span.kind == SpanKind::kKernel && span.ended > options.from &&
               span.started < options.to;
  }
  ASSERT_GT(kernels, 5);
  const TraceAnswers answers = WriteAndAsk(
      options,
      {"select count(*) from slice where category = 'kernel'",
       "select sum(dur) from slice where category = 'critical path'",
       "select start_ts, end_ts from trace_bounds",
       "select min(ts), max(ts + dur) from slice",
       "select min(ts), max(ts) from counter",
       "select count(distinct dur), max(dur) from slice where name = 'step'"});
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre(fmt::to_string(kernels))));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("20000")));
  for (const size_t i : {2u, 3u, 4u}) {
    EXPECT_THAT(answers.tables[i], ElementsAre(ElementsAre("40000", "60000")));
  }
  EXPECT_THAT(answers.tables[5], ElementsAre(ElementsAre("1", "20000")));
}

}  // namespace
}  // namespace orrery
