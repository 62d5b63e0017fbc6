#pragma once
// PerfettoWriter: a timeline that the Perfetto UI opens.
//
// A trace is a tree of tracks with slices, instants and counter values on them,
// and arrows between slices. Siblings are drawn in the order in which they were
// added. Slices of a track nest: End() closes the innermost open one. Times on
// a track never go back; different tracks may be written in any order.
// Everything streams to the file, which appears whole at Finish() or not at
// all.
//
//   ASSIGN_OR_RETURN(PerfettoWriter writer, PerfettoWriter::Create(path));
//   const auto rank = writer.AddTrack({.name = "rank 0"});
//   const auto compute = writer.AddTrack({.name = "compute", .parent = rank});
//   const auto qkv = writer.Name("qkv");
//   const auto flops = writer.Key("flops");
//   writer.Slice(compute, start, end, qkv, {.arguments = {{flops, 1e12}}});
//   RETURN_IF_ERROR(writer.Finish());
//
// The format counts nanoseconds; instants (never durations) are rounded down,
// so equal instants stay equal, order and nesting survive and sums do not
// drift.
//
// Memory: a few blocks of 400 KB, the distinct texts, a few words per track.
#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "traces/format/argument_block.h"
#include "traces/format/packet_stream.h"
#include "traces/format/track_event.h"

namespace orrery {

class PerfettoWriter {
 public:
  static absl::StatusOr<PerfettoWriter> Create(const std::string& path);
  // Writes no file: after Finish() `file_bytes` is about what one would take.
  static PerfettoWriter ToNowhere();

  // A fact about the run, shown on the UI's overview page.
  void AddAttribute(const std::string& key, const std::string& value);
  void AddAttribute(const std::string& key, int64_t value);

  // From now on everything is below one track of this name. Viewers put tracks
  // without a parent into the order of their names, those of one into that in
  // which they were added.
  void Enclose(const std::string& name);
  // From now on what has no parent is below a track of this name: several runs
  // on one timeline.
  void BeginSection(const std::string& name);
  // Times of what is written from here on are counted from this instant.
  void SetOrigin(Time origin) { origin_ = origin; }

  TrackId AddTrack(const TrackSpec& spec);
  // One more row of a track. Requires: it was added with `lanes`.
  TrackId AddLane(TrackId track);
  TrackId AddCounter(const CounterSpec& spec);

  EventName Name(absl::string_view text);
  EventCategory Category(absl::string_view text);
  ArgumentKey Key(absl::string_view text);
  ArgumentText Text(absl::string_view text);
  ArrowId NewArrow() { return static_cast<ArrowId>(++last_arrow_); }

  void Begin(TrackId track, Time at, EventName name, const EventDetails& = {});
  // Requires: a slice is open on the track. An arrow may leave from here.
  void End(TrackId track, Time at, absl::Span<const ArrowId> leaving = {});
  // A slice with none in it: Begin() and End() in one.
  void Slice(TrackId track, Time from, Time to, EventName name,
             const EventDetails& details = {},
             absl::Span<const ArrowId> leaving_at_end = {});
  void Instant(TrackId track, Time at, EventName name,
               const EventDetails& = {});
  // Holds until the next value. Requires: `value` is a number.
  void Count(TrackId counter, Time at, double value);

  int64_t slices() const { return slices_; }
  int64_t arrows() const { return static_cast<int64_t>(last_arrow_); }
  // The first error in writing, if any; what follows it is dropped.
  const absl::Status& status() const { return stream_.status(); }
  int64_t raw_bytes() const { return stream_.raw_bytes(); }
  int64_t file_bytes() const { return stream_.file_bytes(); }

  // Requires: every slice has ended.
  absl::Status Finish();

 private:
  struct Track {
    std::optional<TrackId> parent;
    std::string name;
    int32_t order = 0;  // among its siblings
    int32_t children = 0;
    bool is_counter = false;
    bool lanes = false;
  };
  // What every event looks at, apart so that it stays close together.
  struct Progress {
    Time last{Duration(0)};
    std::vector<EventName> open = {};
  };
  using Interned = absl::flat_hash_map<std::string, uint32_t>;

  explicit PerfettoWriter(PacketStream stream);
  TrackId NewTrack(Track track, const std::string& description,
                   const CounterSpec* counter);
  void Describe(TrackId id, const std::string& description,
                const CounterSpec* counter);
  // In a field of InternedData.
  uint32_t Intern(Interned& table, int field, absl::string_view text);
  // Time moves on to `at` on a track.
  void Reach(TrackId track, Time at);
  void WriteEvent(TrackId track, Time at, uint64_t type,
                  std::optional<EventName> name, const EventDetails& details);

  PacketStream stream_;
  IdVector<TrackId, Track> tracks_;
  IdVector<TrackId, Progress> progress_;
  int32_t roots_ = 0;
  std::optional<TrackId> whole_;  // around all sections
  std::optional<TrackId> section_;
  Interned names_, categories_, keys_, texts_;
  Time origin_{};
  uint64_t last_arrow_ = 0;
  int64_t slices_ = 0;
  ArgumentBlock arguments_;  // of the event being written
};

}  // namespace orrery
