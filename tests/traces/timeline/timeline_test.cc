// Timelines of simulated programs, as Perfetto reads them: slices, their names
// and arguments, and waits.
#include <algorithm>
#include <map>

#include "tests/traces/timeline/timeline_fixture.h"

namespace orrery {
namespace {

using testing::ElementsAre;

TEST_F(TimelineTest, EverySliceOfTheEngineIsThereWithItsTime) {
  std::map<std::string, std::pair<int64_t, int64_t>> expected;  // count, ns
  for (const TaskSpan& span : sink_.spans()) {
    if (span.kind == SpanKind::kMarker) continue;
    // A product of the backward pass is told from other kernels of it.
    const bool backward = span.kind == SpanKind::kKernel &&
                          program_.role_of(span.rank).mark(span.task).phase ==
                              WorkPhase::kBackward;
    std::string name = program_.name(span.name);
    if (backward) name += name == "mlp_up" ? " dgrad" : " backward";
    auto& [count, time] = expected[name];
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
       "max(ts * 1000 + extract_arg(arg_set_id, 'debug.ps')) from slice "
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
  // All but the marker at the very beginning, which takes no time.
  const auto steps = std::count_if(
      path_.begin(), path_.end(),
      [](const PathStep& step) { return step.span.ended > Time{}; });
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
                                      fmt::to_string(steps))));
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
       {"steps", "compute", "waiting for", "comm tensor",
        "comm pipeline forward", "comm pipeline backward", "partners", "memory",
        "memory capacity", "memory: libraries", "memory: + weights",
        "memory: + activations", "compute busy"}) {
    streams.push_back({"node 1", "rank 3 (stage 1)", name});
  }
  EXPECT_EQ(answers.tables[0], streams);
  EXPECT_THAT(answers.tables[1],
              ElementsAre(ElementsAre("pipeline"), ElementsAre("critical path"),
                          ElementsAre("node 0"), ElementsAre("node 1"),
                          ElementsAre("network")));
}

TEST_F(TimelineTest, OpsNestInLayersInPasses) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select distinct p.name, l.name from slice o join slice l on l.id = "
       "o.parent_id join slice p on p.id = l.parent_id where o.name glob "
       "'mlp_up*' and p.name glob '* mb 1' order by 1, 2",
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
      ElementsAre(
          ElementsAre("adam", "null", "null", "null", "null", "null"),
          ElementsAre("mlp_up", "1000", "500", "1000", "2", "BF16"),
          ElementsAre("mlp_up dgrad", "1000", "500", "1000", "2", "BF16"),
          ElementsAre("norm", "null", "null", "null", "null", "null"),
          ElementsAre("norm backward", "null", "null", "null", "null",
                      "null")));
}

// What people look for first comes first: the shape, then how fast, then where
// it belongs, then picoseconds.
TEST_F(TimelineTest, ArgumentsLeadWithWhatPeopleLookFor) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select substr(a.key, 7) from args a join (select arg_set_id from slice "
       "where name = 'mlp_up' and category = 'kernel' limit 1) using "
       "(arg_set_id) where a.key glob 'debug.*' order by a.id"});
  std::vector<std::string> keys;
  for (const auto& row : answers.tables[0]) keys.push_back(row[0]);
  EXPECT_THAT(keys,
              ElementsAre("m", "n", "k", "batch", "dtype", "TFLOP/s", "GB/s",
                          "bound", "flops", "memory_bytes", "launch_ps", "rank",
                          "phase", "microbatch", "layer", "dur_ps", "ps"));
}

// The first thing one sees: each stage a row, its passes in the order of the
// schedule, named as in the papers.
TEST_F(TimelineTest, TheOverviewHasARowPerStageWithItsPasses) {
  TimelineOptions options;
  options.ranks = {RankId(3)};
  const TraceAnswers answers = WriteAndAsk(
      options,
      {"select t.name, group_concat(s.name, ' ') from (select * from slice "
       "where category = 'pipeline' order by ts) s join track t on t.id = "
       "s.track_id join track p on p.id = t.parent_id where p.name = "
       "'pipeline' group by t.id order by t.name",
       // A pass is as long as from its first kernel to its last.
       "select sum(dur) from slice where category = 'pipeline' and name = 'F1'",
       "select count(*) from slice where category = 'pipeline' and "
       "(extract_arg(arg_set_id, 'debug.kernels_ps') > "
       "extract_arg(arg_set_id, 'debug.dur_ps') or "
       "extract_arg(arg_set_id, 'debug.rank') is null)",
       // One colour for each kind of pass, in the overview and on ranks.
       "select distinct substr(name, 1, 1), extract_arg(arg_set_id, "
       "'correlation_id') from slice where category in ('pipeline', 'pass') "
       "order by 1",
       // Passes and layers say where they belong.
       "select category, count(*) > 0, sum(extract_arg(arg_set_id, "
       "'debug.rank') is null), sum(extract_arg(arg_set_id, 'debug.phase') is "
       "null) from slice where category in ('pass', 'layer') group by 1 order "
       "by 1"});
  EXPECT_THAT(
      answers.tables[0],
      ElementsAre(ElementsAre("stage 0", "F0 F1 F2 B0 B1 B2 optimizer"),
                  ElementsAre("stage 1", "F0 F1 F2 B0 B1 B2 optimizer")));
  int64_t first_pass = 0;
  for (const RankId rank : OneRankPerRole(program_)) {
    Time from = Time::max(), to{};
    for (const TaskSpan& span : sink_.spans()) {
      const Mark& mark = program_.role_of(span.rank).mark(span.task);
      if (span.rank != rank || span.kind != SpanKind::kKernel ||
          mark.phase != WorkPhase::kForward || mark.micro_batch != 1) {
        continue;
      }
      from = std::min(from, span.started);
      to = std::max(to, span.ended);
    }
    first_pass += Floor(to) - Floor(from);
  }
  EXPECT_THAT(answers.tables[1],
              ElementsAre(ElementsAre(fmt::to_string(first_pass))));
  EXPECT_THAT(answers.tables[2], ElementsAre(ElementsAre("0")));
  EXPECT_THAT(
      answers.tables[3],
      ElementsAre(ElementsAre("B", "backward"), ElementsAre("F", "forward"),
                  ElementsAre("b", "backward"), ElementsAre("f", "forward"),
                  ElementsAre("o", "optimizer")));
  EXPECT_THAT(answers.tables[4],
              ElementsAre(ElementsAre("layer", "1", "0", "0"),
                          ElementsAre("pass", "1", "0", "0")));
}

// Slices of the path say whose they are.
TEST_F(TimelineTest, ThePathNamesRankAndPass) {
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select count(*) from slice where category = 'critical path' and not "
       "(name glob 'rank [0-3] [FB][0-2]: *' or name glob "
       "'rank [0-3] optimizer: adam' or name glob 'rank [0-3]: *')",
       "select count(*) > 3 from slice where category = 'critical path' and "
       "name glob 'rank [0-3] B[0-2]: mlp_up dgrad'"});
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("0")));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("1")));
}

// Waits of the compute stream are those of the breakdown, by cause; waits for
// partners stand apart from what is transferred.
TEST_F(TimelineTest, WaitsAreThoseOfTheBreakdown) {
  int64_t partners = 0;
  for (const TaskSpan& span : sink_.spans()) {
    if (span.kind == SpanKind::kMarker || span.stream == kCompute) continue;
    partners += Floor(span.started) - Floor(span.ready);
  }
  ASSERT_GT(partners, 0);
  SqlTable expected;
  for (const RankId rank : program_.ranks().ids()) {
    BreakdownSink sink(program_, rank);
    for (const TaskSpan& span : sink_.spans()) sink.Add(span);
    const StepBreakdown parts = sink.Finish(result_.end);
    Duration exposed{};
    for (const auto& stream : parts.exposed) exposed += stream.time;
    const auto row = [&](const char* cause, Duration time) {
      if (time == Duration(0)) return;
      expected.push_back({fmt::to_string(static_cast<int>(rank)), cause,
                          fmt::to_string(time.count())});
    };
    row("bubble", parts.bubble);
    row("exposed", exposed);
    row("late peer", parts.late_peer);
  }
  const TraceAnswers answers = WriteAndAsk(
      AllRanks(),
      {"select sum(s.dur) from slice s join track t on t.id = s.track_id join "
       "track p on p.id = t.parent_id where p.name = 'partners' and s.name "
       "glob 'wait for rank *'",
       "select extract_arg(arg_set_id, 'debug.rank'), extract_arg(arg_set_id, "
       "'debug.cause'), sum(extract_arg(arg_set_id, 'debug.dur_ps')) from "
       "slice where category = 'wait' group by 1, 2 order by 1, 2",
       // Who waits for the slow rank of its tensor group.
       "select distinct r.name from slice s join track t on t.id = s.track_id "
       "join track p on p.id = t.parent_id join track r on r.id = p.parent_id "
       "where t.name = 'tensor' and p.name = 'partners' and "
       "s.name = 'wait for rank 1'",
       // Rank 0 waits for its backward passes: stage 1 is in its forward ones.
       "select count(*) > 0 from slice s join track t on t.id = s.track_id "
       "join track r on r.id = t.parent_id where t.name = 'waiting for' and "
       "r.name = 'rank 0 (stage 0)' and s.name glob 'rank [23]: [FB][0-2]'",
       // Nothing waits on a communication track.
       "select count(*) from slice s join track t on t.id = s.track_id where "
       "t.name glob 'comm *' and s.name glob 'wait *'"});
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre(fmt::to_string(partners))));
  EXPECT_EQ(answers.tables[1], expected);
  EXPECT_THAT(answers.tables[2], ElementsAre(ElementsAre("rank 0 (stage 0)")));
  EXPECT_THAT(answers.tables[3], ElementsAre(ElementsAre("1")));
  EXPECT_THAT(answers.tables[4], ElementsAre(ElementsAre("0")));
}

}  // namespace
}  // namespace orrery
