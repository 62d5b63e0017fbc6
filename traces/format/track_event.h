#pragma once
// The parts of a timeline: tracks, and the names, arguments and arrows of the
// events on them. Plain values; PerfettoWriter hands out the ids.
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace orrery {

enum class TrackId : int32_t {};

// Texts known to a writer. Their numbers are the writer's own: intern once,
// keep.
enum class EventName : uint32_t {};
enum class EventCategory : uint32_t {};
enum class ArgumentKey : uint32_t {};
enum class ArgumentText : uint32_t {};

// An arrow from one event to another.
enum class ArrowId : uint64_t {};

struct TrackSpec {
  std::string name;
  std::optional<TrackId> parent = std::nullopt;
  std::string description = {};
  // May get more rows by AddLane, for slices that overlap without nesting.
  bool lanes = false;
};

enum class CounterUnit { kBytes, kGibibytes, kPercent, kCount };

struct CounterSpec {
  std::string name;
  std::optional<TrackId> parent = std::nullopt;
  CounterUnit unit = CounterUnit::kCount;
  // Counters with the same key under one parent share their scale.
  std::string scale_key = {};
  std::string description = {};
};

struct EventArgument {
  ArgumentKey key;
  std::variant<int64_t, double, ArgumentText> value;
};

struct EventDetails {
  std::optional<EventCategory> category = std::nullopt;
  absl::Span<const EventArgument> arguments = {};
  // More arguments that stand before the others, as an ArgumentBlock of the
  // writer's own keys and texts has them: for those that many events share.
  absl::string_view encoded = {};
  // Slices that have this in common have one colour in a viewer (since v51),
  // whatever their names are; empty: the name decides.
  absl::string_view correlation = {};
  // Arrows that leave this event, and arrows that arrive at it. At equal times
  // the event where an arrow leaves must be written first.
  absl::Span<const ArrowId> leaving = {};
  absl::Span<const ArrowId> arriving = {};
};

}  // namespace orrery
