#include "traces/format/perfetto_writer.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/overload.h"
#include "base/status.h"
#include "proto/perfetto.pb.h"
#include "traces/format/wire.h"

namespace orrery {
namespace {

using perfetto::DebugAnnotation;
using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;

// All packets belong to one sequence; any non-zero number will do.
constexpr uint32_t kSequence = 1;

uint64_t Nanoseconds(Time at) {
  CHECK(at.time_since_epoch() >= Duration(0));
  return static_cast<uint64_t>(at.time_since_epoch().count() / 1000);
}

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
  Describe(id, "", nullptr);
  return id;
}

TrackId PerfettoWriter::NewTrack(Track track, const std::string& description,
                                 const CounterSpec* counter) {
  track.order = track.parent ? tracks_[*track.parent].children++ : roots_++;
  const TrackId id = tracks_.Add(std::move(track));
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
  perfetto::InternedText interned;
  interned.set_iid(number);
  interned.set_text(entry->first);
  part_.clear();
  wire::AppendBytesField(field, interned.SerializeAsString(), part_);
  packet_.clear();
  wire::AppendVarintField(TracePacket::kTrustedPacketSequenceIdFieldNumber,
                          kSequence, packet_);
  wire::AppendVarintField(TracePacket::kSequenceFlagsFieldNumber,
                          TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, packet_);
  wire::AppendBytesField(TracePacket::kInternedDataFieldNumber, part_, packet_);
  stream_.Add(packet_);
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

void PerfettoWriter::StartEvent(TrackId track, Time at, int type) {
  Track& state = tracks_[track];
  const Time real = origin_ + at.time_since_epoch();
  CHECK(real >= state.last) << "time goes back on track '" << state.name << "'";
  state.last = real;
  event_.clear();
  wire::AppendVarintField(TrackEvent::kTypeFieldNumber,
                          static_cast<uint64_t>(type), event_);
  wire::AppendVarintField(TrackEvent::kTrackUuidFieldNumber, Uuid(track),
                          event_);
}

void PerfettoWriter::AddDetails(const EventDetails& details) {
  if (details.category) {
    wire::AppendVarintField(TrackEvent::kCategoryIidsFieldNumber,
                            static_cast<uint64_t>(*details.category), event_);
  }
  event_.append(details.encoded.data(), details.encoded.size());
  AddArguments(details.arguments, event_);
  AddArrows(details.leaving, TrackEvent::kFlowIdsFieldNumber);
  AddArrows(details.arriving, TrackEvent::kTerminatingFlowIdsFieldNumber);
}

std::string PerfettoWriter::Encode(absl::Span<const EventArgument> arguments) {
  std::string out;
  AddArguments(arguments, out);
  return out;
}

void PerfettoWriter::AddArguments(absl::Span<const EventArgument> arguments,
                                  std::string& out) {
  for (const EventArgument& argument : arguments) {
    part_.clear();
    wire::AppendVarintField(DebugAnnotation::kNameIidFieldNumber,
                            static_cast<uint64_t>(argument.key), part_);
    std::visit(Overload{[&](int64_t value) {
                          wire::AppendVarintField(
                              DebugAnnotation::kIntValueFieldNumber,
                              static_cast<uint64_t>(value), part_);
                        },
                        [&](double value) {
                          wire::AppendFixedField(
                              DebugAnnotation::kDoubleValueFieldNumber, value,
                              part_);
                        },
                        [&](ArgumentText value) {
                          wire::AppendVarintField(
                              DebugAnnotation::kStringValueIidFieldNumber,
                              static_cast<uint64_t>(value), part_);
                        }},
               argument.value);
    wire::AppendBytesField(TrackEvent::kDebugAnnotationsFieldNumber, part_,
                           out);
  }
}

void PerfettoWriter::AddArrows(absl::Span<const ArrowId> arrows, int field) {
  for (const ArrowId arrow : arrows) {
    wire::AppendFixedField(field, static_cast<uint64_t>(arrow), event_);
  }
}

void PerfettoWriter::FinishEvent(Time at) {
  packet_.clear();
  wire::AppendVarintField(TracePacket::kTimestampFieldNumber,
                          Nanoseconds(origin_ + at.time_since_epoch()),
                          packet_);
  wire::AppendVarintField(TracePacket::kTrustedPacketSequenceIdFieldNumber,
                          kSequence, packet_);
  wire::AppendVarintField(TracePacket::kSequenceFlagsFieldNumber,
                          TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, packet_);
  wire::AppendBytesField(TracePacket::kTrackEventFieldNumber, event_, packet_);
  stream_.Add(packet_);
}

void PerfettoWriter::Begin(TrackId track, Time at, EventName name,
                           const EventDetails& details) {
  StartEvent(track, at, TrackEvent::TYPE_SLICE_BEGIN);
  DCHECK(!tracks_[track].is_counter);
  tracks_[track].open.push_back(name);
  ++slices_;
  wire::AppendVarintField(TrackEvent::kNameIidFieldNumber,
                          static_cast<uint64_t>(name), event_);
  AddDetails(details);
  FinishEvent(at);
}

void PerfettoWriter::End(TrackId track, Time at,
                         absl::Span<const ArrowId> leaving) {
  StartEvent(track, at, TrackEvent::TYPE_SLICE_END);
  auto& open = tracks_[track].open;
  CHECK(!open.empty()) << "nothing to end on '" << tracks_[track].name << "'";
  // The name is repeated so that a viewer can notice a wrong nesting.
  wire::AppendVarintField(TrackEvent::kNameIidFieldNumber,
                          static_cast<uint64_t>(open.back()), event_);
  open.pop_back();
  AddArrows(leaving, TrackEvent::kFlowIdsFieldNumber);
  FinishEvent(at);
}

void PerfettoWriter::Instant(TrackId track, Time at, EventName name,
                             const EventDetails& details) {
  StartEvent(track, at, TrackEvent::TYPE_INSTANT);
  wire::AppendVarintField(TrackEvent::kNameIidFieldNumber,
                          static_cast<uint64_t>(name), event_);
  AddDetails(details);
  FinishEvent(at);
}

void PerfettoWriter::Count(TrackId counter, Time at, double value) {
  StartEvent(counter, at, TrackEvent::TYPE_COUNTER);
  CHECK(tracks_[counter].is_counter && std::isfinite(value));
  wire::AppendFixedField(TrackEvent::kDoubleCounterValueFieldNumber, value,
                         event_);
  FinishEvent(at);
}

absl::Status PerfettoWriter::Finish() {
  for (const Track& track : tracks_) {
    CHECK(track.open.empty()) << "open slices on track '" << track.name << "'";
  }
  return stream_.Finish();
}

}  // namespace orrery
