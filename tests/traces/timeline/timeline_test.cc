// Timelines of simulated programs, as Perfetto reads them.
#include "traces/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/status_matchers.h"
#include "tests/traces/timeline/pipeline_program.h"
#include "tests/traces/trace_processor.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

int64_t Floor(Time at) { return at.time_since_epoch().count() / 1000; }
int64_t Floored(const TaskSpan& span) {
  return Floor(span.ended) - Floor(span.started);
}

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() {
    result_ = Simulate(program_, transfers_, {.log = &log_}, sink_).value();
    index_.emplace(program_, sink_.spans());
    path_ = CriticalPath(*index_);
  }
  ~TimelineTest() override { std::filesystem::remove(file_); }
  void SetUp() override {
    if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  }

  // Writes the timeline and asks about it. The slices must be as predicted.
  TraceAnswers WriteAndAsk(const TimelineOptions& options,
                           const std::vector<std::string>& sql) {
    PerfettoWriter writer = PerfettoWriter::Create(file_).value();
    WriteTimeline({.program = program_,
                   .spans = *index_,
                   .path = path_,
                   .transfers = transfers_,
                   .log = log_,
                   .ops = ops_,
                   .group_sizes = SimulatedGroupSizes(program_),
                   .ranks_per_node = 2},
                  options, writer);
    EXPECT_EQ(writer.slices(),
              CountSlices(program_, sink_.spans(), path_, options));
    arrows_ = writer.arrows();
    EXPECT_OK(writer.Finish());
    TraceAnswers answers = Ask(file_, sql);
    EXPECT_THAT(answers.problems, IsEmpty());
    return answers;
  }
  TimelineOptions AllRanks() const {
    TimelineOptions options;
    for (const RankId rank : program_.ranks().ids()) {
      options.ranks.push_back(rank);
    }
    return options;
  }

  const Program program_ = BuildOrDie(PipelineProgram());
  const Transfers transfers_ = PipelineNetwork(program_);
  RecordingSink sink_;
  TransferLog log_;
  const IdVector<OpId, Op> ops_ = PipelineOps();
  RunResult result_;
  std::optional<SpanIndex> index_;
  std::vector<PathStep> path_;
  int64_t arrows_ = 0;
  const std::string file_ =
      testing::TempDir() + "/orrery_timeline_" +
      testing::UnitTest::GetInstance()->current_test_info()->name() +
      ".pftrace";
};

TEST_F(TimelineTest, EverySliceOfTheEngineIsThereWithItsTime) {
  std::map<std::string, std::pair<int64_t, int64_t>> expected;  // count, ns
  for (const TaskSpan& span : sink_.spans()) {
    if (span.kind == SpanKind::kMarker) continue;
    auto& [count, time] = expected[program_.name(span.name)];
    ++count;
    time += Floored(span);
  }
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select name, count(*), sum(dur) from slice where category in "
       "('kernel', 'communication') group by name order by name",
       "select max(ts + dur), sum(name = 'step') from slice",
       "select count(*) from flow",
       "select sum(extract_arg(arg_set_id, 'debug.dur_ps')), "
       "max(extract_arg(arg_set_id, 'debug.start_ps')) from slice "
       "where category in ('kernel', 'communication')"});
  SqlTable rows;
  Duration total{0};
  Time last_start{};
  for (const auto& [name, sum] : expected) {
    rows.push_back(
        {name, fmt::to_string(sum.first), fmt::to_string(sum.second)});
  }
  for (const TaskSpan& span : sink_.spans()) {
    if (span.kind == SpanKind::kMarker) continue;
    total += span.running();
    last_start = std::max(last_start, span.started);
  }
  EXPECT_EQ(answers.tables[0], rows);
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre(
                                     fmt::to_string(Floor(result_.end)), "4")));
  EXPECT_THAT(answers.tables[2],
              ElementsAre(ElementsAre(fmt::to_string(arrows_))));
  EXPECT_GT(arrows_, 50);
  EXPECT_THAT(answers.tables[3],
              ElementsAre(ElementsAre(
                  fmt::to_string(total.count()),
                  fmt::to_string(last_start.time_since_epoch().count()))));
}

TEST_F(TimelineTest, TheCriticalPathIsATrackAsLongAsTheRun) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select sum(dur), max(ts + dur), count(*) from slice "
       "where category = 'critical path'",
       "select count(*) from (select ts, lag(ts + dur) over (order by ts, id) "
       "as before from slice where category = 'critical path') "
       "where ts != before"});
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre(fmt::to_string(Floor(result_.end)),
                                      fmt::to_string(Floor(result_.end)),
                                      fmt::to_string(path_.size()))));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("0")));  // no gap
}

TEST_F(TimelineTest, TheTreeIsClusterNodeRankStream) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select n.name, r.name, t.name from track t "
       "join track r on r.id = t.parent_id join track n on n.id = r.parent_id "
       "join track c on c.id = n.parent_id where c.name = 'cluster' and "
       "r.name = 'rank 3 (stage 1)' order by "
       "extract_arg(t.source_arg_set_id, 'sibling_order_rank')",
       "select t.name from track t join track c on c.id = t.parent_id where "
       "c.name = 'cluster' order by "
       "extract_arg(t.source_arg_set_id, 'sibling_order_rank')"});
  SqlTable streams;
  for (const char* name :
       {"steps", "compute", "comm tensor", "comm pipeline forward",
        "comm pipeline backward", "waiting for", "memory", "memory weights",
        "memory activations", "compute busy"}) {
    streams.push_back({"node 1", "rank 3 (stage 1)", name});
  }
  EXPECT_EQ(answers.tables[0], streams);
  EXPECT_THAT(answers.tables[1],
              ElementsAre(ElementsAre("critical path"), ElementsAre("node 0"),
                          ElementsAre("node 1"), ElementsAre("network")));
}

TEST_F(TimelineTest, OpsNestInLayersInPasses) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select distinct p.name, l.name from slice o join slice l on l.id = "
       "o.parent_id join slice p on p.id = l.parent_id where o.name = 'mlp_up' "
       "and p.name glob '* mb 1' order by 1, 2",
       "select distinct p.name from slice o join slice p on p.id = o.parent_id "
       "where o.name = 'adam'",
       // The pass as long as from its first op to its last.
       "select distinct p.dur - (select max(ts + dur) - min(ts) from "
       "descendant_slice(p.id)) from slice p where p.name glob 'forward mb *' "
       "and exists (select 1 from descendant_slice(p.id))"});
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre("backward mb 1", "layer 0"),
                          ElementsAre("backward mb 1", "layer 1"),
                          ElementsAre("backward mb 1", "layer 2"),
                          ElementsAre("backward mb 1", "layer 3"),
                          ElementsAre("forward mb 1", "layer 0"),
                          ElementsAre("forward mb 1", "layer 1"),
                          ElementsAre("forward mb 1", "layer 2"),
                          ElementsAre("forward mb 1", "layer 3")));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("optimizer")));
  EXPECT_THAT(answers.tables[2], ElementsAre(ElementsAre("0")));
}

TEST_F(TimelineTest, KernelsCarryTheShapeOfTheirOp) {
  const auto argument = [](const char* name) {
    return fmt::format("extract_arg(arg_set_id, 'debug.{}')", name);
  };
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {fmt::format("select distinct name, {}, {}, {}, {}, {} from slice where "
                   "category = 'kernel' order by 1",
                   argument("m"), argument("n"), argument("k"),
                   argument("batch"), argument("dtype"))});
  EXPECT_THAT(
      answers.tables[0],
      ElementsAre(ElementsAre("adam", "null", "null", "null", "null", "null"),
                  ElementsAre("mlp_up", "1000", "500", "1000", "2", "BF16"),
                  ElementsAre("norm", "null", "null", "null", "null", "null")));
}

TEST_F(TimelineTest, WaitsAreSlicesThatNameTheirCause) {
  int64_t partners = 0, dependencies = 0;
  for (const TaskSpan& span : sink_.spans()) {
    if (span.kind == SpanKind::kMarker) continue;
    if (span.stream != kCompute) {
      partners += Floor(span.started) - Floor(span.ready);
    } else {
      dependencies += Floor(span.ready) - Floor(span.headed);
    }
  }
  ASSERT_GT(partners, 0);
  ASSERT_GT(dependencies, 0);
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select sum(dur) from slice where name glob 'wait for rank *'",
       "select sum(s.dur) from slice s join track t on t.id = s.track_id "
       "where t.name = 'waiting for'",
       // Who waits for the slow rank of its tensor group.
       "select distinct r.name from slice s join track t on t.id = s.track_id "
       "join track r on r.id = t.parent_id where t.name = 'comm tensor' and "
       "s.name = 'wait for rank 1'",
       // The longest wait of rank 0: its backward passes come from stage 1.
       "select s.name, s.dur > 30000 from slice s join track t on t.id = "
       "s.track_id join track r on r.id = t.parent_id where t.name = "
       "'waiting for' and r.name = 'rank 0 (stage 0)' order by s.dur desc "
       "limit 1",
       // The others are for its own exchanges.
       "select count(*) > 3 from slice s join track t on t.id = s.track_id "
       "where t.name = 'waiting for' and s.name = 'tensor'"});
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre(fmt::to_string(partners))));
  EXPECT_THAT(answers.tables[1],
              ElementsAre(ElementsAre(fmt::to_string(dependencies))));
  EXPECT_THAT(answers.tables[2], ElementsAre(ElementsAre("rank 0 (stage 0)")));
  ASSERT_EQ(answers.tables[3].size(), 1u);
  EXPECT_THAT(answers.tables[3][0],
              ElementsAre(testing::AnyOf("rank 2", "rank 3"), "1"));
  EXPECT_THAT(answers.tables[4], ElementsAre(ElementsAre("1")));
}

TEST_F(TimelineTest, CountersShowThePeakAndTheEnd) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select r.name, max(c.value) from counter c join track t on t.id = "
       "c.track_id join track r on r.id = t.parent_id where t.name = 'memory' "
       "group by r.id order by r.name",
       "select distinct value from (select c.value, max(c.ts) from counter c "
       "join track t on t.id = c.track_id where t.name = 'memory activations' "
       "group by t.id)",
       "select distinct value from (select c.value, max(c.ts) from counter c "
       "join track t on t.id = c.track_id where t.name glob '* load' "
       "or t.name = 'compute busy' group by t.id)",
       "select count(distinct t.id), min(c.value) >= 0, max(c.value) <= "
       "100 from counter c join track t on t.id = c.track_id where t.name glob "
       "'link * load'"});
  SqlTable peaks;
  for (const RankId rank : program_.ranks().ids()) {
    peaks.push_back({fmt::format("rank {} (stage {})", static_cast<int>(rank),
                                 static_cast<int>(rank) / kTensorRanks),
                     fmt::to_string(result_.ranks[rank].memory.total.value())});
  }
  EXPECT_EQ(answers.tables[0], peaks);
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("0")));
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
      options, {"select sum(name = 'mlp_up'), sum(name glob 'layer *') > 0 "
                "from slice where category is null or category != "
                "'critical path'"});
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("0", "1")));
  options.detail = TimelineDetail::kStep;
  answers = WriteAndAsk(
      options, {"select sum(name glob 'layer *'), sum(name glob '* mb *') > 0 "
                "from slice"});
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("0", "1")));
}

// A task belongs to the window if it runs or waits in it.
TEST_F(TimelineTest, AWindowShowsWhatTouchesIt) {
  TimelineOptions options = AllRanks();
  options.from = Time(Duration(40'000'000));
  options.to = Time(Duration(60'000'000));
  int64_t kernels = 0;
  for (const TaskSpan& span : sink_.spans()) {
    kernels += span.kind == SpanKind::kKernel && span.ended > options.from &&
               span.headed < options.to;
  }
  ASSERT_GT(kernels, 5);
  const TraceAnswers answers = WriteAndAsk(
      options,
      {"select count(*) from slice where category = 'kernel'",
       "select min(ts + dur) >= 40000, max(ts) < 60000, sum(dur) >= 20000 from "
       "slice where category = 'critical path'"});
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre(fmt::to_string(kernels))));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("1", "1", "1")));
}

}  // namespace
}  // namespace orrery
