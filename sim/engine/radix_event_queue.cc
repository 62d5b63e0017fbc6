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
  if (!present_.empty()) {
    for (const Entry& entry : present_) {
      if (Claim(entry)) events.push_back(entry.event);
    }
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
    } else if (Claim(entry)) {
      events.push_back(entry.event);
    }
  }
  bucket.clear();
}

void RadixEventQueue::DropStale(std::vector<Entry>& entries) {
  std::erase_if(entries, [&](const Entry& e) { return Due(e.event) != e.at; });
  // An event that was moved away and back has two entries that look right.
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.event < b.event; });
  const auto same = [](const Entry& a, const Entry& b) {
    return a.event == b.event;
  };
  entries.erase(std::unique(entries.begin(), entries.end(), same),
                entries.end());
}

void RadixEventQueue::DropStale() {
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
