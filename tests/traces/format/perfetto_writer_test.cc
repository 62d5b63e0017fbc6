#include "traces/format/perfetto_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "tests/status_matchers.h"
#include "tests/traces/read_trace.h"

namespace orrery {
namespace {

using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;
using testing::ElementsAre;
using testing::HasSubstr;

Time At(int64_t picoseconds) { return Time(Duration(picoseconds)); }

bool HasNamelessFiles(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

// A path in a folder of its own, so that leftovers show.
class PerfettoWriterTest : public testing::Test {
 protected:
  PerfettoWriterTest() { std::filesystem::create_directories(folder_); }
  ~PerfettoWriterTest() override { std::filesystem::remove_all(folder_); }
  PerfettoWriter Open() { return PerfettoWriter::Create(path_).value(); }
  std::vector<TrackEvent> Events() const {
    std::vector<TrackEvent> events;
    for (const TracePacket& packet : ReadTrace(path_)) {
      if (packet.has_track_event()) events.push_back(packet.track_event());
    }
    return events;
  }
  std::vector<uint64_t> Times() const {
    std::vector<uint64_t> times;
    for (const TracePacket& packet : ReadTrace(path_)) {
      if (packet.has_track_event()) times.push_back(packet.timestamp());
    }
    return times;
  }
  int Entries() const {
    return static_cast<int>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::string folder_ =
      testing::TempDir() + "/orrery_perfetto_writer_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/run.pftrace";
};

TEST_F(PerfettoWriterTest, InstantsAreRoundedDownToNanoseconds) {
  PerfettoWriter writer = Open();
  const TrackId track = writer.AddTrack({.name = "compute"});
  writer.Begin(track, At(1999), writer.Name("a"));
  writer.End(track, At(2000));
  writer.Begin(track, At(2000), writer.Name("b"));
  writer.End(track, At(2001));
  ASSERT_OK(writer.Finish());
  EXPECT_THAT(Times(), ElementsAre(1, 2, 2, 2));
}

// What is written after a new origin is that much later; what was there stays.
TEST_F(PerfettoWriterTest, AnOriginShiftsWhatFollows) {
  PerfettoWriter writer = Open();
  const TrackId first = writer.AddTrack({.name = "prefill"});
  writer.Begin(first, At(1000), writer.Name("a"));
  writer.End(first, At(3000));
  writer.SetOrigin(At(5000));
  const TrackId second = writer.AddTrack({.name = "decode"});
  writer.Begin(second, At(0), writer.Name("b"));
  writer.End(second, At(2000));
  writer.SetOrigin(Time{});
  writer.Begin(first, At(4000), writer.Name("c"));
  writer.End(first, At(4000));
  ASSERT_OK(writer.Finish());
  EXPECT_THAT(Times(), ElementsAre(1, 3, 5, 7, 4, 4));
}

TEST_F(PerfettoWriterTest, AnEndCarriesTheNameOfTheSliceItCloses) {
  PerfettoWriter writer = Open();
  const TrackId track = writer.AddTrack({.name = "compute"});
  const auto outer = writer.Name("outer"), inner = writer.Name("inner");
  writer.Begin(track, At(0), outer);
  writer.Begin(track, At(0), inner);
  writer.End(track, At(5000));
  writer.End(track, At(5000));
  ASSERT_OK(writer.Finish());
  std::vector<uint64_t> names;
  for (const TrackEvent& event : Events()) names.push_back(event.name_iid());
  EXPECT_THAT(names, ElementsAre(1, 2, 2, 1));
  EXPECT_EQ(writer.slices(), 2);
}

TEST_F(PerfettoWriterTest, ATextIsWrittenOnceAndBeforeItsFirstUse) {
  PerfettoWriter writer = Open();
  const TrackId track = writer.AddTrack({.name = "compute"});
  for (int i = 0; i < 3; ++i) {
    writer.Instant(track, At(i), writer.Name("again"));
  }
  ASSERT_OK(writer.Finish());
  int texts = 0, events = 0;
  for (const TracePacket& packet : ReadTrace(path_)) {
    for (const auto& text : packet.interned_data().event_names()) {
      EXPECT_EQ(text.text(), "again");
      EXPECT_EQ(text.iid(), 1u);
      EXPECT_EQ(events, 0);
      ++texts;
    }
    events += packet.has_track_event();
  }
  EXPECT_EQ(texts, 1);
  EXPECT_EQ(events, 3);
}

TEST_F(PerfettoWriterTest, TheFirstPacketClearsTheSequence) {
  PerfettoWriter writer = Open();
  ASSERT_OK(writer.Finish());
  const auto packets = ReadTrace(path_);
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].sequence_flags(), 3u);
  EXPECT_NE(packets[0].trusted_packet_sequence_id(), 0u);
}

TEST_F(PerfettoWriterTest, ArgumentsKeepTheirTypesAndValues) {
  PerfettoWriter writer = Open();
  const TrackId track = writer.AddTrack({.name = "compute"});
  const std::array<EventArgument, 3> arguments = {
      {{writer.Key("bytes"), int64_t{-7}},
       {writer.Key("share"), 0.25},
       {writer.Key("algorithm"), writer.Text("ring")}}};
  writer.Instant(track, At(0), writer.Name("x"), {.arguments = arguments});
  ASSERT_OK(writer.Finish());
  const auto events = Events();
  ASSERT_EQ(events.size(), 1u);
  ASSERT_EQ(events[0].debug_annotations_size(), 3);
  EXPECT_EQ(events[0].debug_annotations(0).int_value(), -7);
  EXPECT_EQ(events[0].debug_annotations(1).double_value(), 0.25);
  EXPECT_EQ(events[0].debug_annotations(2).string_value_iid(), 1u);
}

// Events are encoded by hand; what the schema makes of them is as long as what
// was written, so that no byte is unknown to it or written in a longer way than
// needed, whatever the values.
TEST_F(PerfettoWriterTest, EveryByteIsOneOfTheSchema) {
  PerfettoWriter writer = Open();
  const TrackId track = writer.AddTrack({.name = "compute"});
  const TrackId counter = writer.AddCounter({.name = "load"});
  const auto key = writer.Key("number");
  std::vector<int64_t> numbers = {0, -1};
  for (int bit = 0; bit < 63; ++bit) {
    numbers.push_back(int64_t{1} << bit);
    numbers.push_back((int64_t{1} << bit) - 1);
  }
  int64_t at = 0;
  ArgumentBlock block;
  std::vector<ArrowId> arrows;
  for (const int64_t number : numbers) {
    block.Add(key, number);
    block.Add(writer.Key(std::to_string(number)), static_cast<double>(number));
    block.Add(key, writer.Text(std::to_string(number)));
    arrows.push_back(writer.NewArrow());
    const std::array<EventArgument, 1> own = {{{key, number}}};
    writer.Slice(track, At(at), At(at + 5000), writer.Name("a"),
                 {.category = writer.Category("c"),
                  .arguments = own,
                  .encoded = block.bytes(),
                  .correlation = "kind",
                  .arriving = arrows},
                 arrows);
    writer.Count(counter, At(at), static_cast<double>(number));
    at += 1'000'000'000'000 + number % 1'000'000;
  }
  ASSERT_OK(writer.Finish());
  int64_t bytes = 0;
  size_t slices = 0;
  for (const TracePacket& packet : ReadTrace(path_)) {
    // With the tag and the length of the frame around it.
    const auto size = static_cast<int64_t>(packet.ByteSizeLong());
    bytes += 1 + (size < 128 ? 1 : size < 16384 ? 2 : 3) + size;
    const TrackEvent& event = packet.track_event();
    EXPECT_TRUE(TrackEvent::GetReflection()->GetUnknownFields(event).empty());
    if (event.type() != TrackEvent::TYPE_SLICE_BEGIN) continue;
    EXPECT_EQ(event.correlation_id_str(), "kind");
    const auto& arguments = event.debug_annotations();
    ASSERT_EQ(static_cast<size_t>(arguments.size()), 3 * (slices + 1) + 1);
    for (size_t i = 0; i <= slices; ++i) {
      const int first = static_cast<int>(3 * i);
      EXPECT_EQ(arguments[first].int_value(), numbers[i]);
      EXPECT_EQ(arguments[first + 1].double_value(),
                static_cast<double>(numbers[i]));
    }
    EXPECT_EQ(arguments[arguments.size() - 1].int_value(), numbers[slices]);
    EXPECT_EQ(static_cast<size_t>(event.terminating_flow_ids_size()),
              slices + 1);
    ++slices;
  }
  EXPECT_EQ(slices, numbers.size());
  EXPECT_EQ(bytes, writer.raw_bytes());
}

TEST_F(PerfettoWriterTest, SiblingsAreRankedInTheOrderOfTheirBirth) {
  PerfettoWriter writer = Open();
  const TrackId root = writer.AddTrack({.name = "cluster"});
  const TrackId links =
      writer.AddTrack({.name = "links", .parent = root, .lanes = true});
  writer.AddCounter({.name = "load", .parent = root});
  writer.AddLane(links);
  ASSERT_OK(writer.Finish());
  std::map<uint64_t, TrackDescriptor> tracks;  // the last word on each
  for (const TracePacket& packet : ReadTrace(path_)) {
    if (!packet.has_track_descriptor()) continue;
    tracks[packet.track_descriptor().uuid()] = packet.track_descriptor();
  }
  ASSERT_EQ(tracks.size(), 4u);
  EXPECT_EQ(tracks[2].sibling_order_rank(), 0);
  EXPECT_EQ(tracks[3].sibling_order_rank(), 1);
  // The lane stands where its track stands and merges with it by name.
  EXPECT_EQ(tracks[4].sibling_order_rank(), 0);
  EXPECT_EQ(tracks[4].name(), "links");
  EXPECT_EQ(tracks[4].parent_uuid(), 1u);
  EXPECT_EQ(tracks[2].sibling_merge_behavior(),
            TrackDescriptor::SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME);
  EXPECT_EQ(tracks[3].sibling_merge_behavior(),
            TrackDescriptor::SIBLING_MERGE_BEHAVIOR_NONE);
}

TEST_F(PerfettoWriterTest, BlocksStayUnderTheLimitOfTheViewers) {
  PerfettoWriter writer = Open();
  const TrackId track = writer.AddTrack({.name = "compute"});
  const auto name = writer.Name("op");
  for (int i = 0; i < 50'000; ++i) {
    writer.Begin(track, At(i * 1000), name);
    writer.End(track, At(i * 1000 + 500));
  }
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(Events().size(), 100'000u);
  std::ifstream file(path_, std::ios::binary);
  perfetto::Trace outer;
  ASSERT_TRUE(outer.ParseFromIstream(&file));
  EXPECT_GT(outer.packet_size(), 2);
  for (const TracePacket& block : outer.packet()) {
    EXPECT_LT(Inflate(block.compressed_packets()).size(), 512u << 10);
  }
}

TEST_F(PerfettoWriterTest, TheFileAppearsOnlyWhenFinished) {
  {
    PerfettoWriter writer = Open();
    writer.AddTrack({.name = "compute"});
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  EXPECT_EQ(Entries(), 0);
  PerfettoWriter writer = Open();
  ASSERT_OK(writer.Finish());
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(Entries(), 1);
}

// A process that has written several blocks and is stopped as by Ctrl-C.
TEST_F(PerfettoWriterTest, AnInterruptLeavesNothingBehind) {
  // A folder whose file system has nameless files, as most have.
  const std::string folder =
      std::filesystem::path(HasNamelessFiles(folder_) ? folder_ : "/dev/shm") /
      fmt::format("orrery_interrupt_{}", getpid());
  ASSERT_TRUE(std::filesystem::create_directories(folder));
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      PerfettoWriter writer =
          PerfettoWriter::Create(folder + "/run.pftrace").value();
      const TrackId track = writer.AddTrack({.name = "compute"});
      for (int i = 0; i < 100'000; ++i) {
        writer.Begin(track, At(i * 2000), writer.Name("op"));
        writer.End(track, At(i * 2000 + 1000));
      }
      const bool written = write(ready[1], "x", 1) == 1;
      while (written) pause();
      _exit(1);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    ASSERT_EQ(kill(pid, signal), 0);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << "signal " << signal;
    close(ready[0]);
    close(ready[1]);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(PerfettoWriterTest, UnwritablePathsAreRefusedAtOnce) {
  EXPECT_THAT(PerfettoWriter::Create(folder_ + "/none/run.pftrace"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot write")));
  EXPECT_THAT(PerfettoWriter::Create(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("it is a directory")));
  EXPECT_EQ(Entries(), 0);
}

// /dev/full accepts an open and refuses every byte.
TEST_F(PerfettoWriterTest, AFullDiskIsReportedAndEndsTheWriting) {
  auto writer = PerfettoWriter::Create("/dev/full");
  ASSERT_OK(writer.status());
  const TrackId track = writer->AddTrack({.name = "compute"});
  const auto name = writer->Name("op");
  EXPECT_OK(writer->status());
  // Blocks are written beside; a few may be on their way before the first error
  // is known, each of some 15'000 events.
  for (int i = 0; i < 600'000 && writer->status().ok(); ++i) {
    writer->Instant(track, At(i), name);
  }
  EXPECT_THAT(writer->status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("No space left")));
  EXPECT_THAT(writer->Finish(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("/dev/full")));
}

TEST_F(PerfettoWriterTest, TheSameCallsGiveTheSameBytes) {
  const auto write = [&](const std::string& path) {
    auto writer = PerfettoWriter::Create(path);
    const TrackId track = writer->AddTrack({.name = "compute"});
    for (int i = 0; i < 10'000; ++i) {
      writer->Instant(track, At(i), writer->Name(std::to_string(i % 37)));
    }
    EXPECT_OK(writer->Finish());
    std::ifstream file(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_EQ(write(path_), write(folder_ + "/twin.pftrace"));
}

}  // namespace
}  // namespace orrery
