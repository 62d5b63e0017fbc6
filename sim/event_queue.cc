#include "sim/event_queue.h"

#include <algorithm>

namespace orrery {

void EventQueue::Grow(EventPhase phase, size_t count) {
  CHECK(count <= size_t{Event::kMaxIndex} + 1) << count << " events";
  std::vector<Time>& due = due_[static_cast<size_t>(phase)];
  if (count > due.size()) due.resize(count, kNotPending);
}

void EventQueue::Cancel(Event event) {
  Time& due = Due(event);
  if (due == kNotPending) return;
  due = kNotPending;
  --pending_;
  ++stale_;
}

Time EventQueue::PopInstant(std::vector<Event>& events) {
  CHECK(!empty());
  events.clear();
  while (true) {
    std::vector<Entry>& present = buckets_[0];
    for (const Entry& entry : present) {
      if (Claim(entry)) events.push_back(entry.event);
    }
    present.clear();
    if (!events.empty()) break;
    Advance();
  }
  if (events.size() > 1 && !std::is_sorted(events.begin(), events.end())) {
    std::sort(events.begin(), events.end());
  }
  return last_;
}

// Moves time to the earliest entry of the lowest bucket. All of that bucket
// agrees with it in the bit that told the bucket from the present, so every
// entry goes down.
void EventQueue::Advance() {
  CHECK_NE(occupied_, 0u);
  const int lowest = std::countr_zero(occupied_);
  occupied_ &= occupied_ - 1;
  std::vector<Entry>& bucket = buckets_[static_cast<size_t>(lowest) + 1];
  last_ = std::min_element(
              bucket.begin(), bucket.end(),
              [](const Entry& a, const Entry& b) { return a.at < b.at; })
              ->at;
  for (const Entry& entry : bucket) Insert(entry);
  bucket.clear();
}

void EventQueue::DropStale() {
  // Two equal entries of one event may both look right after it was moved away
  // and back; keep one.
  occupied_ = 0;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    std::vector<Entry>& bucket = buckets_[b];
    std::erase_if(bucket, [&](const Entry& e) { return Due(e.event) != e.at; });
    std::sort(
        bucket.begin(), bucket.end(),
        [](const Entry& a, const Entry& b2) { return a.event < b2.event; });
    bucket.erase(std::unique(bucket.begin(), bucket.end(),
                             [](const Entry& a, const Entry& b2) {
                               return a.event == b2.event;
                             }),
                 bucket.end());
    if (b > 0 && !bucket.empty()) occupied_ |= uint64_t{1} << (b - 1);
  }
  stale_ = 0;
}

}  // namespace orrery
