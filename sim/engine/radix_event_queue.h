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
//
// Ranks in step schedule events for the same time one after the other, with
// indices as far apart as each other: these are one entry, which moves at once.
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
  // An entry, if it has one of its own, and a due time.
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
    if (tail_ != nullptr && tail_->back().at == at &&
        tail_->back().Append(event)) {
      return;
    }
    tail_ = &Insert({at, event});
    if (stale_ > pending_ + kStaleAllowance) DropStale();
  }
  void Cancel(Event event);
  bool empty() const { return pending_ == 0; }
  size_t size() const { return pending_; }
  Time PopInstant(std::vector<Event>& events);

 private:
  // `count` events, `gap` indices from one to the next.
  struct Entry {
    Time at;
    Event first;
    uint16_t count = 1;
    uint16_t gap = 0;

    bool Append(Event event) {
      constexpr uint32_t kMost = 0xffff;
      const uint32_t from_first = event - first;
      if (count == 1) {
        // Also not if it comes before.
        if (from_first > kMost || event.phase() != first.phase()) return false;
        gap = static_cast<uint16_t>(from_first);
      } else if (from_first != uint32_t{count} * gap || count == kMost) {
        return false;
      }
      ++count;
      return true;
    }
    template <class Visit>
    void ForEach(Visit visit) const {
      Event event = first;
      for (uint32_t left = count; left > 0; --left, event = event + gap) {
        visit(event);
      }
    }
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
  // Where it went.
  std::vector<Entry>& Insert(const Entry& entry) {
    const uint64_t difference = Bits(entry.at) ^ Bits(last_);
    if (difference == 0) {
      present_.push_back(entry);
      return present_;
    }
    const int level =
        (static_cast<int>(std::bit_width(difference)) - 1) / kDigitBits;
    const auto digit =
        static_cast<int>(Bits(entry.at) >> level * kDigitBits & (kDigits - 1));
    occupied_levels_ |= 1u << level;
    occupied_[static_cast<size_t>(level)] |= uint64_t{1} << digit;
    std::vector<Entry>& bucket = Bucket(level, digit);
    bucket.push_back(entry);
    return bucket;
  }
  // Takes the events of `entry` out that are still meant.
  void Claim(const Entry& entry, std::vector<Event>& events) {
    entry.ForEach([&](Event event) {
      Time& due = Due(event);
      if (due != entry.at) {
        --stale_;
        return;
      }
      due = kNotPending;
      --pending_;
      events.push_back(event);
    });
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
  // What was scheduled last is the last entry of this; null if time has moved
  // on since.
  std::vector<Entry>* tail_ = nullptr;
  std::array<std::vector<Entry>, size_t{kLevels} * kDigits> buckets_;
  uint32_t occupied_levels_ = 0;
  std::array<uint64_t, kLevels> occupied_{};  // buckets of each level
  std::array<std::vector<Time>, kEventPhases> due_;
};

static_assert(EventQueue<RadixEventQueue>);

}  // namespace orrery
