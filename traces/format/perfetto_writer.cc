#include "traces/format/perfetto_writer.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "proto/perfetto.pb.h"
#include "traces/format/wire.h"

namespace orrery {
namespace {

using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;

// All packets belong to one sequence; any non-zero number will do.
constexpr uint32_t kSequence = 1;

uint64_t UnsignedNanoseconds(Time at) {
  CHECK(at.time_since_epoch() >= Duration(0));
  return static_cast<uint64_t>(at.time_since_epoch().count() / 1000);
}

// What every event's packet says of them.
constexpr size_t kSequenceFields =
    wire::TagSize<TracePacket::kTrustedPacketSequenceIdFieldNumber,
                  wire::kVarint>() +
    wire::VarintSize(kSequence) +
    wire::TagSize<TracePacket::kSequenceFlagsFieldNumber, wire::kVarint>() +
    wire::VarintSize(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);

// Perfetto's number of a track. 0 means the whole trace there.
uint64_t Uuid(TrackId track) { return Index(track) + 1; }

void SetUnit(CounterUnit unit, perfetto::CounterDescriptor& descriptor) {
  using Descriptor = perfetto::CounterDescriptor;
  switch (unit) {
    case CounterUnit::kBytes:
      descriptor.set_unit(Descriptor::UNIT_SIZE_BYTES);
      return;
    case CounterUnit::kGibibytes:
      descriptor.set_unit_name("GiB");
      return;
    case CounterUnit::kCount:
      descriptor.set_unit(Descriptor::UNIT_COUNT);
      return;
    case CounterUnit::kPercent:
      descriptor.set_unit_name("%");
      return;
  }
}

}  // namespace

absl::StatusOr<PerfettoWriter> PerfettoWriter::Create(const std::string& path) {
  ASSIGN_OR_RETURN(PacketStream stream, PacketStream::Create(path));
  return PerfettoWriter(std::move(stream));
}

PerfettoWriter PerfettoWriter::ToNowhere() {
  return PerfettoWriter(PacketStream::ToNowhere());
}

PerfettoWriter::PerfettoWriter(PacketStream stream)
    : stream_(std::move(stream)) {
  TracePacket first;
  first.set_trusted_packet_sequence_id(kSequence);
  first.set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED |
                           TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  stream_.Add(first.SerializeAsString());
}

void PerfettoWriter::AddAttribute(const std::string& key,
                                  const std::string& value) {
  TracePacket packet;
  auto& attribute = *packet.mutable_trace_attributes()->add_attribute();
  attribute.set_key(key);
  attribute.set_string_value(value);
  stream_.Add(packet.SerializeAsString());
}

void PerfettoWriter::AddAttribute(const std::string& key, int64_t value) {
  TracePacket packet;
  auto& attribute = *packet.mutable_trace_attributes()->add_attribute();
  attribute.set_key(key);
  attribute.set_long_value(value);
  stream_.Add(packet.SerializeAsString());
}

void PerfettoWriter::Enclose(const std::string& name) {
  whole_ = AddTrack({.name = name});
}

void PerfettoWriter::BeginSection(const std::string& name) {
  section_.reset();
  section_ = AddTrack({.name = name});
}

TrackId PerfettoWriter::AddTrack(const TrackSpec& spec) {
  return NewTrack(
      {.parent = spec.parent, .name = spec.name, .lanes = spec.lanes},
      spec.description, nullptr);
}

TrackId PerfettoWriter::AddCounter(const CounterSpec& spec) {
  return NewTrack(
      {.parent = spec.parent, .name = spec.name, .is_counter = true},
      spec.description, &spec);
}

TrackId PerfettoWriter::AddLane(TrackId track) {
  CHECK(tracks_[track].lanes);
  // Drawn as one track because they have the same name, place and parent.
  Track lane = {.parent = tracks_[track].parent,
                .name = tracks_[track].name,
                .order = tracks_[track].order,
                .lanes = true};
  const TrackId id = tracks_.Add(std::move(lane));
  progress_.Add({});
  Describe(id, "", nullptr);
  return id;
}

TrackId PerfettoWriter::NewTrack(Track track, const std::string& description,
                                 const CounterSpec* counter) {
  if (!track.parent) track.parent = section_ ? section_ : whole_;
  track.order = track.parent ? tracks_[*track.parent].children++ : roots_++;
  const TrackId id = tracks_.Add(std::move(track));
  progress_.Add({});
  Describe(id, description, counter);
  return id;
}

void PerfettoWriter::Describe(TrackId id, const std::string& description,
                              const CounterSpec* counter) {
  const Track& track = tracks_[id];
  TracePacket packet;
  packet.set_trusted_packet_sequence_id(kSequence);
  TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
  descriptor.set_uuid(Uuid(id));
  descriptor.set_name(track.name);
  if (track.parent) descriptor.set_parent_uuid(Uuid(*track.parent));
  descriptor.set_child_ordering(TrackDescriptor::EXPLICIT);
  descriptor.set_sibling_order_rank(track.order);
  descriptor.set_sibling_merge_behavior(
      track.lanes ? TrackDescriptor::SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME
                  : TrackDescriptor::SIBLING_MERGE_BEHAVIOR_NONE);
  if (!description.empty()) descriptor.set_description(description);
  if (counter != nullptr) {
    SetUnit(counter->unit, *descriptor.mutable_counter());
    if (!counter->scale_key.empty()) {
      descriptor.mutable_counter()->set_y_axis_share_key(counter->scale_key);
    }
  }
  stream_.Add(packet.SerializeAsString());
}

uint32_t PerfettoWriter::Intern(Interned& table, int field,
                                absl::string_view text) {
  const auto found = table.find(text);
  if (found != table.end()) return found->second;
  const auto number = static_cast<uint32_t>(table.size() + 1);
  const auto entry = table.emplace(std::string(text), number).first;
  TracePacket packet;
  packet.set_trusted_packet_sequence_id(kSequence);
  packet.set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  perfetto::InternedData& data = *packet.mutable_interned_data();
  auto& interned =
      static_cast<perfetto::InternedText&>(*data.GetReflection()->AddMessage(
          &data, data.GetDescriptor()->FindFieldByNumber(field)));
  interned.set_iid(number);
  interned.set_text(entry->first);
  stream_.Add(packet.SerializeAsString());
  return number;
}

EventName PerfettoWriter::Name(absl::string_view text) {
  return static_cast<EventName>(
      Intern(names_, perfetto::InternedData::kEventNamesFieldNumber, text));
}

EventCategory PerfettoWriter::Category(absl::string_view text) {
  return static_cast<EventCategory>(Intern(
      categories_, perfetto::InternedData::kEventCategoriesFieldNumber, text));
}

ArgumentKey PerfettoWriter::Key(absl::string_view text) {
  return static_cast<ArgumentKey>(Intern(
      keys_, perfetto::InternedData::kDebugAnnotationNamesFieldNumber, text));
}

ArgumentText PerfettoWriter::Text(absl::string_view text) {
  return static_cast<ArgumentText>(Intern(
      texts_, perfetto::InternedData::kDebugAnnotationStringValuesFieldNumber,
      text));
}

void PerfettoWriter::Reach(TrackId track, Time at) {
  const Time real = origin_ + at.time_since_epoch();
  Time& last = progress_[track].last;
  CHECK(real >= last) << "time goes back on track '" << tracks_[track].name
                      << "'";
  last = real;
}

void PerfettoWriter::WriteEvent(TrackId track, Time at, uint64_t type,
                                std::optional<EventName> name,
                                const EventDetails& details) {
  arguments_.Clear();
  for (const EventArgument& argument : details.arguments) {
    arguments_.Add(argument);
  }
  // All sizes are known before the first byte is written, so that everything is
  // written once and where it stays.
  constexpr size_t kLongestField = wire::kLongestTag + wire::kLongestVarint;
  char head[4 * kLongestField];
  char* head_end =
      wire::PutVarintField<TrackEvent::kTypeFieldNumber>(type, head);
  head_end = wire::PutVarintField<TrackEvent::kTrackUuidFieldNumber>(
      Uuid(track), head_end);
  if (name) {
    head_end = wire::PutVarintField<TrackEvent::kNameIidFieldNumber>(
        static_cast<uint64_t>(*name), head_end);
  }
  if (details.category) {
    head_end = wire::PutVarintField<TrackEvent::kCategoryIidsFieldNumber>(
        static_cast<uint64_t>(*details.category), head_end);
  }
  const absl::string_view front(head, static_cast<size_t>(head_end - head));
  const absl::string_view own = arguments_.bytes();
  constexpr size_t kArrow =
      wire::TagSize<TrackEvent::kFlowIdsFieldNumber, wire::kFixed64>() +
      sizeof(uint64_t);
  static_assert(kArrow ==
                sizeof(uint64_t) +
                    wire::TagSize<TrackEvent::kTerminatingFlowIdsFieldNumber,
                                  wire::kFixed64>());
  constexpr int kCorrelation = TrackEvent::kCorrelationIdStrFieldNumber;
  const size_t correlation = details.correlation.size();
  const size_t event =
      (correlation == 0 ? 0
                        : wire::TagSize<kCorrelation, wire::kBytes>() +
                              wire::VarintSize(correlation) + correlation) +
      front.size() + details.encoded.size() + own.size() +
      (details.leaving.size() + details.arriving.size()) * kArrow;
  const uint64_t nanoseconds =
      UnsignedNanoseconds(origin_ + at.time_since_epoch());
  const size_t packet =
      wire::TagSize<TracePacket::kTimestampFieldNumber, wire::kVarint>() +
      wire::VarintSize(nanoseconds) + kSequenceFields +
      wire::TagSize<TracePacket::kTrackEventFieldNumber, wire::kBytes>() +
      wire::VarintSize(event) + event;

  char* out = stream_.Room(packet + kLongestField);
  out = wire::PutBytesHead<perfetto::Trace::kPacketFieldNumber>(packet, out);
  out = wire::PutVarintField<TracePacket::kTimestampFieldNumber>(nanoseconds,
                                                                 out);
  out = wire::PutVarintField<TracePacket::kTrustedPacketSequenceIdFieldNumber>(
      kSequence, out);
  out = wire::PutVarintField<TracePacket::kSequenceFlagsFieldNumber>(
      TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, out);
  out = wire::PutBytesHead<TracePacket::kTrackEventFieldNumber>(event, out);
  out = wire::PutRaw(front, out);
  out = wire::PutRaw(details.encoded, out);
  out = wire::PutRaw(own, out);
  for (const ArrowId arrow : details.leaving) {
    out = wire::PutFixedField<TrackEvent::kFlowIdsFieldNumber>(
        static_cast<uint64_t>(arrow), out);
  }
  for (const ArrowId arrow : details.arriving) {
    out = wire::PutFixedField<TrackEvent::kTerminatingFlowIdsFieldNumber>(
        static_cast<uint64_t>(arrow), out);
  }
  if (correlation > 0) {
    out = wire::PutBytesHead<kCorrelation>(correlation, out);
    out = wire::PutRaw(details.correlation, out);
  }
  stream_.Took(out);
}

void PerfettoWriter::Begin(TrackId track, Time at, EventName name,
                           const EventDetails& details) {
  DCHECK(!tracks_[track].is_counter);
  Reach(track, at);
  progress_[track].open.push_back(name);
  ++slices_;
  WriteEvent(track, at, TrackEvent::TYPE_SLICE_BEGIN, name, details);
}

void PerfettoWriter::End(TrackId track, Time at,
                         absl::Span<const ArrowId> leaving) {
  Reach(track, at);
  auto& open = progress_[track].open;
  CHECK(!open.empty()) << "nothing to end on '" << tracks_[track].name << "'";
  // The name is repeated so that a viewer can notice a wrong nesting.
  WriteEvent(track, at, TrackEvent::TYPE_SLICE_END, open.back(),
             {.leaving = leaving});
  open.pop_back();
}

void PerfettoWriter::Slice(TrackId track, Time from, Time to, EventName name,
                           const EventDetails& details,
                           absl::Span<const ArrowId> leaving_at_end) {
  DCHECK(!tracks_[track].is_counter);
  Reach(track, from);
  Reach(track, to);
  ++slices_;
  WriteEvent(track, from, TrackEvent::TYPE_SLICE_BEGIN, name, details);
  WriteEvent(track, to, TrackEvent::TYPE_SLICE_END, name,
             {.leaving = leaving_at_end});
}

void PerfettoWriter::Instant(TrackId track, Time at, EventName name,
                             const EventDetails& details) {
  Reach(track, at);
  WriteEvent(track, at, TrackEvent::TYPE_INSTANT, name, details);
}

void PerfettoWriter::Count(TrackId counter, Time at, double value) {
  CHECK(tracks_[counter].is_counter && std::isfinite(value));
  Reach(counter, at);
  constexpr int kField = TrackEvent::kDoubleCounterValueFieldNumber;
  char number[wire::kLongestTag + sizeof value];
  const char* const end = wire::PutFixedField<kField>(value, number);
  WriteEvent(counter, at, TrackEvent::TYPE_COUNTER, std::nullopt,
             {.encoded = {number, static_cast<size_t>(end - number)}});
}

absl::Status PerfettoWriter::Finish() {
  for (const TrackId track : tracks_.ids()) {
    CHECK(progress_[track].open.empty())
        << "open slices on track '" << tracks_[track].name << "'";
  }
  return stream_.Finish();
}

}  // namespace orrery
