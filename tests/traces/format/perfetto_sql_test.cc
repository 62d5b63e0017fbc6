// What the writer writes, as Perfetto reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "proto/perfetto.pb.h"
#include "tests/status_matchers.h"
#include "tests/traces/trace_processor.h"
#include "traces/format/packet_stream.h"
#include "traces/format/perfetto_writer.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Time At(int64_t nanoseconds) { return Time(Duration(nanoseconds * 1000)); }

class PerfettoSql : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  }
  ~PerfettoSql() override { std::filesystem::remove(path_); }
  PerfettoWriter Open() { return PerfettoWriter::Create(path_).value(); }

  const std::string path_ =
      testing::TempDir() + "/orrery_perfetto_sql_" +
      testing::UnitTest::GetInstance()->current_test_info()->name() +
      ".pftrace";
};

TEST_F(PerfettoSql, SlicesNestAndKeepTheirTimesAndArguments) {
  PerfettoWriter writer = Open();
  const TrackId rank = writer.AddTrack({.name = "rank 0"});
  const TrackId compute = writer.AddTrack({.name = "compute", .parent = rank});
  const std::array<EventArgument, 3> arguments = {
      {{writer.Key("bytes"), int64_t{1} << 40},
       {writer.Key("share"), 0.25},
       {writer.Key("limit"), writer.Text("HBM")}}};
  const auto layer = writer.Name("layer"), op = writer.Name("op");
  writer.Begin(compute, At(10), layer);
  writer.Begin(compute, At(10), op,
               {.category = writer.Category("kernel"), .arguments = arguments});
  writer.End(compute, At(15));
  writer.Begin(compute, At(15), op);
  writer.End(compute, At(30));
  writer.End(compute, At(30));
  // The next begins where the last ended, and one has no length.
  writer.Begin(compute, At(30), layer);
  writer.Begin(compute, At(30), op);
  writer.End(compute, At(30));
  writer.End(compute, At(31));
  ASSERT_OK(writer.Finish());
  const TraceAnswers answers =
      Ask(path_, {"select name, ts, dur, depth from slice order by ts, id",
                  "select category, extract_arg(arg_set_id, 'debug.bytes'), "
                  "extract_arg(arg_set_id, 'debug.share'), "
                  "extract_arg(arg_set_id, 'debug.limit') from slice "
                  "where category is not null"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre("layer", "10", "20", "0"),
                          ElementsAre("op", "10", "5", "1"),
                          ElementsAre("op", "15", "15", "1"),
                          ElementsAre("layer", "30", "1", "0"),
                          ElementsAre("op", "30", "0", "1")));
  EXPECT_THAT(
      answers.tables[1],
      ElementsAre(ElementsAre("kernel", "1099511627776", "0.25", "HBM")));
}

TEST_F(PerfettoSql, TracksFormTheTreeInTheOrderGiven) {
  PerfettoWriter writer = Open();
  const auto name = writer.Name("x");
  const TrackId root =
      writer.AddTrack({.name = "cluster", .description = "two ranks"});
  for (const char* child : {"zeta", "alpha"}) {
    const TrackId track = writer.AddTrack({.name = child, .parent = root});
    writer.Instant(track, At(1), name);
  }
  ASSERT_OK(writer.Finish());
  const TraceAnswers answers = Ask(
      path_,
      {"select t.name, p.name, "
       "extract_arg(t.source_arg_set_id, 'sibling_order_rank') from track t "
       "join track p on p.id = t.parent_id order by 3",
       "select extract_arg(source_arg_set_id, 'child_ordering'), "
       "extract_arg(source_arg_set_id, 'description') from track "
       "where name = 'cluster'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre("zeta", "cluster", "0"),
                          ElementsAre("alpha", "cluster", "1")));
  EXPECT_THAT(answers.tables[1],
              ElementsAre(ElementsAre("explicit", "two ranks")));
}

TEST_F(PerfettoSql, LanesHoldSlicesThatOverlap) {
  PerfettoWriter writer = Open();
  const auto name = writer.Name("transfer");
  const TrackId first = writer.AddTrack({.name = "link", .lanes = true});
  const TrackId second = writer.AddLane(first);
  writer.Begin(first, At(0), name);
  writer.Begin(second, At(5), name);
  writer.End(first, At(10));
  writer.End(second, At(20));
  ASSERT_OK(writer.Finish());
  const TraceAnswers answers =
      Ask(path_, {"select ts, dur, depth from slice order by ts",
                  "select count(distinct track_id), count(distinct t.name) "
                  "from slice join track t on t.id = track_id"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("0", "10", "0"),
                                             ElementsAre("5", "15", "0")));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("2", "1")));
}

// An arrow may leave from where a slice begins or from where it ends; a receive
// that starts in the same nanosecond is written after its send.
TEST_F(PerfettoSql, ArrowsJoinTheirSlices) {
  PerfettoWriter writer = Open();
  const TrackId a = writer.AddTrack({.name = "a"});
  const TrackId b = writer.AddTrack({.name = "b"});
  const std::array<ArrowId, 2> arrows = {writer.NewArrow(), writer.NewArrow()};
  const auto from_begin = absl::MakeConstSpan(arrows).subspan(0, 1);
  const auto from_end = absl::MakeConstSpan(arrows).subspan(1, 1);
  writer.Begin(a, At(10), writer.Name("send"), {.leaving = from_begin});
  writer.Begin(b, At(10), writer.Name("receive"), {.arriving = from_begin});
  writer.End(b, At(15));
  writer.End(a, At(20), from_end);
  writer.Begin(b, At(20), writer.Name("use"), {.arriving = from_end});
  writer.End(b, At(30));
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(writer.arrows(), 2);
  const TraceAnswers answers =
      Ask(path_, {"select s.name, t.name from flow "
                  "join slice s on s.id = slice_out "
                  "join slice t on t.id = slice_in order by t.ts"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("send", "receive"),
                                             ElementsAre("send", "use")));
}

TEST_F(PerfettoSql, CountersKeepTheirUnitsAndValues) {
  PerfettoWriter writer = Open();
  const TrackId memory =
      writer.AddCounter({.name = "memory", .unit = CounterUnit::kBytes});
  const TrackId load =
      writer.AddCounter({.name = "load", .unit = CounterUnit::kPercent});
  writer.Count(memory, At(1), 80e9);
  writer.Count(memory, At(5), 3);
  writer.Count(memory, At(9), 0);
  writer.Count(load, At(2), 62.5);
  ASSERT_OK(writer.Finish());
  const TraceAnswers answers =
      Ask(path_, {"select t.name, t.unit, c.ts, c.value from counter c "
                  "join counter_track t on t.id = c.track_id order by ts"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre("memory", "bytes", "1", "80000000000"),
                          ElementsAre("load", "%", "2", "62.5"),
                          ElementsAre("memory", "bytes", "5", "3"),
                          ElementsAre("memory", "bytes", "9", "0")));
}

TEST_F(PerfettoSql, AttributesOfTheRunAreMetadata) {
  PerfettoWriter writer = Open();
  writer.AddAttribute("orrery.scenario", "quickstart");
  writer.AddAttribute("orrery.seed", int64_t{42});
  ASSERT_OK(writer.Finish());
  const TraceAnswers answers =
      Ask(path_, {"select name, coalesce(str_value, int_value) from metadata "
                  "where name glob 'trace_attribute.*' order by 1"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(
      answers.tables[0],
      ElementsAre(ElementsAre("trace_attribute.orrery.scenario", "quickstart"),
                  ElementsAre("trace_attribute.orrery.seed", "42")));
}

// The block of 400 KB is crossed several times, and names are interned long
// before the events that use them.
TEST_F(PerfettoSql, NothingIsLostAcrossBlocks) {
  constexpr int kSlices = 60'000;
  PerfettoWriter writer = Open();
  std::vector<TrackId> tracks;
  for (int i = 0; i < 10; ++i) {
    tracks.push_back(writer.AddTrack({.name = fmt::format("track {}", i)}));
  }
  std::vector<EventName> names;
  for (int i = 0; i < 50; ++i)
    names.push_back(writer.Name(fmt::format("op {}", i)));
  int64_t total = 0;
  for (int i = 0; i < kSlices; ++i) {
    const TrackId track = tracks[static_cast<size_t>(i % 10)];
    writer.Begin(track, At(i * 10), names[static_cast<size_t>(i % 50)]);
    writer.End(track, At(i * 10 + i % 7));
    total += i % 7;
  }
  ASSERT_OK(writer.Finish());
  const TraceAnswers answers = Ask(
      path_, {"select count(*), sum(dur), count(distinct name) from slice"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre(fmt::to_string(kSlices),
                                      fmt::to_string(total), "50")));
}

// The rules themselves can fail. A slice whose name was never sent, on a track
// below one that does not exist, and another slice without an end.
TEST_F(PerfettoSql, ABrokenTraceIsNoticed) {
  PacketStream stream = PacketStream::Create(path_).value();
  perfetto::TracePacket packet;
  packet.set_trusted_packet_sequence_id(1);
  packet.set_sequence_flags(3);
  packet.mutable_track_descriptor()->set_uuid(1);
  packet.mutable_track_descriptor()->set_name("orphan");
  packet.mutable_track_descriptor()->set_parent_uuid(77);
  stream.Add(packet.SerializeAsString());
  packet.mutable_track_descriptor()->set_uuid(2);
  packet.mutable_track_descriptor()->set_name("root");
  packet.mutable_track_descriptor()->clear_parent_uuid();
  stream.Add(packet.SerializeAsString());
  packet.clear_track_descriptor();
  packet.set_sequence_flags(2);
  packet.set_timestamp(10);
  for (const uint64_t track : {1, 2}) {
    packet.mutable_track_event()->set_type(
        perfetto::TrackEvent::TYPE_SLICE_BEGIN);
    packet.mutable_track_event()->set_track_uuid(track);
    packet.mutable_track_event()->set_name_iid(5);
    stream.Add(packet.SerializeAsString());
  }
  ASSERT_OK(stream.Finish());
  EXPECT_THAT(Ask(path_, {}).problems,
              ElementsAre(HasSubstr("track_hierarchy_missing_uuid"),
                          HasSubstr("a slice never ends"),
                          HasSubstr("a slice has no name")));
}

}  // namespace
}  // namespace orrery
