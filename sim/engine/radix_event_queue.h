#pragma once
// RadixEventQueue: an event queue (event_queue.h says what that promises)
// that compares no two events.
//
// It is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: "Faster algorithms for
// the shortest path problem", J. ACM 37, 1990) with digits of six bits: an
// event waits in the bucket named by the highest digit in which its time
// differs from the present, and by that digit's value; when its bucket is the
// next one, it moves to a lower digit or is due. That asks that nothing is
// scheduled in the past, which holds for any simulation. A moved event leaves
// its old entry behind, which is dropped when it comes up, or when such entries
// outnumber the others.
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "sim/engine/event_queue.h"

namespace orrery {

class RadixEventQueue {
 public:
  // An entry and a due time.
  static constexpr size_t kBytesPerEvent = 16 + 8;

  void Grow(EventPhase phase, size_t count);
  void Schedule(Event event, Time at) {
    DCHECK(at >= last_);
    Time& due = Due(event);
    if (due == kNotPending) {
      ++pending_;
    } else {
      if (due == at) return;
      ++stale_;
    }
    due = at;
    Insert({at, event});
    if (stale_ > pending_ + kStaleAllowance) DropStale();
  }
  void Cancel(Event event);
  bool empty() const { return pending_ == 0; }
  size_t size() const { return pending_; }
  Time PopInstant(std::vector<Event>& events);

 private:
  struct Entry {
    Time at;
    Event event;
  };
  static_assert(sizeof(Entry) + sizeof(Time) == kBytesPerEvent);
  // Before any time that can be scheduled.
  static constexpr Time kNotPending = Time::min();
  static constexpr size_t kStaleAllowance = 1024;

  Time& Due(Event event) {
    return due_[static_cast<size_t>(event.phase())][event.index()];
  }
  static uint64_t Bits(Time at) {
    return static_cast<uint64_t>(at.time_since_epoch().count());
  }
  std::vector<Entry>& Bucket(int level, int digit) {
    return buckets_[static_cast<size_t>(level * kDigits + digit)];
  }
  void Insert(const Entry& entry) {
    const uint64_t difference = Bits(entry.at) ^ Bits(last_);
    if (difference == 0) {
      present_.push_back(entry);
      return;
    }
    const int level =
        (static_cast<int>(std::bit_width(difference)) - 1) / kDigitBits;
    const auto digit =
        static_cast<int>(Bits(entry.at) >> level * kDigitBits & (kDigits - 1));
    Bucket(level, digit).push_back(entry);
    occupied_levels_ |= 1u << level;
    occupied_[static_cast<size_t>(level)] |= uint64_t{1} << digit;
  }
  // Takes `entry` out if it is still meant; tells whether it was.
  bool Claim(const Entry& entry) {
    Time& due = Due(entry.event);
    if (due != entry.at) {
      --stale_;
      return false;
    }
    due = kNotPending;
    --pending_;
    return true;
  }
  // Moves time to the earliest entry, and its instant's events to `events`.
  void Advance(std::vector<Event>& events);
  void DropStale();
  void DropStale(std::vector<Entry>& entries);

  static constexpr int kDigitBits = 6;
  static constexpr int kDigits = 1 << kDigitBits;
  static constexpr int kLevels = (64 + kDigitBits - 1) / kDigitBits;

  Time last_{};
  size_t pending_ = 0;
  size_t stale_ = 0;
  std::vector<Entry> present_;  // due at last_
  std::array<std::vector<Entry>, size_t{kLevels} * kDigits> buckets_;
  uint32_t occupied_levels_ = 0;
  std::array<uint64_t, kLevels> occupied_{};  // buckets of each level
  std::array<std::vector<Time>, kEventPhases> due_;
};

static_assert(EventQueue<RadixEventQueue>);

}  // namespace orrery
