#include "sim/engine/radix_event_queue.h"

#include <algorithm>

namespace orrery {

void RadixEventQueue::Grow(EventPhase phase, size_t count) {
  CHECK(count <= size_t{Event::kMaxIndex} + 1) << count << " events";
  std::vector<Time>& due = due_[static_cast<size_t>(phase)];
  if (count > due.size()) due.resize(count, kNotPending);
}

void RadixEventQueue::Cancel(Event event) {
  Time& due = Due(event);
  if (due == kNotPending) return;
  due = kNotPending;
  --pending_;
  ++stale_;
}

Time RadixEventQueue::PopInstant(std::vector<Event>& events) {
  CHECK(!empty());
  events.clear();
  tail_ = nullptr;
  if (!present_.empty()) {
    for (const Entry& entry : present_) Claim(entry, events);
    present_.clear();
  }
  while (events.empty()) Advance(events);
  if (events.size() > 1 && !std::is_sorted(events.begin(), events.end())) {
    std::sort(events.begin(), events.end());
  }
  return last_;
}

void RadixEventQueue::Advance(std::vector<Event>& events) {
  CHECK_NE(occupied_levels_, 0u);
  // Lower levels are nearer to the present, and so are lower digits.
  const int level = std::countr_zero(occupied_levels_);
  uint64_t& occupied = occupied_[static_cast<size_t>(level)];
  std::vector<Entry>& bucket = Bucket(level, std::countr_zero(occupied));
  occupied &= occupied - 1;
  if (occupied == 0) occupied_levels_ &= occupied_levels_ - 1;
  last_ = bucket.front().at;
  for (const Entry& entry : bucket) last_ = std::min(last_, entry.at);
  // The bucket agrees in this digit, so what is not due goes to lower levels.
  for (const Entry& entry : bucket) {
    if (entry.at != last_) {
      Insert(entry);
    } else {
      Claim(entry, events);
    }
  }
  bucket.clear();
}

void RadixEventQueue::DropStale(std::vector<Entry>& entries) {
  std::vector<Entry> left;
  for (const Entry& entry : entries) {
    entry.ForEach([&](Event event) {
      if (Due(event) == entry.at) left.push_back({entry.at, event});
    });
  }
  // An event that was moved away and back has two entries that look right.
  std::sort(left.begin(), left.end(),
            [](const Entry& a, const Entry& b) { return a.first < b.first; });
  const auto same = [](const Entry& a, const Entry& b) {
    return a.first == b.first;
  };
  left.erase(std::unique(left.begin(), left.end(), same), left.end());
  entries.swap(left);
}

void RadixEventQueue::DropStale() {
  tail_ = nullptr;
  DropStale(present_);
  for (int level = 0; level < kLevels; ++level) {
    uint64_t& occupied = occupied_[static_cast<size_t>(level)];
    for (uint64_t rest = occupied; rest != 0; rest &= rest - 1) {
      const int digit = std::countr_zero(rest);
      DropStale(Bucket(level, digit));
      if (Bucket(level, digit).empty()) occupied &= ~(uint64_t{1} << digit);
    }
    if (occupied == 0) occupied_levels_ &= ~(1u << level);
  }
  stale_ = 0;
}

}  // namespace orrery
