#include "run/search/block_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace orrery {

bool BlockQueue::CanTake() const {
  return !stopped_ && next_ < end_ &&
         next_ < first_missing_ + size_.window * size_.points;
}

std::optional<PointBlock> BlockQueue::TakeLocked() {
  if (!CanTake()) return std::nullopt;
  const PointBlock block{next_, std::min(end_, next_ + size_.points)};
  next_ = block.end;
  return block;
}

std::optional<PointBlock> BlockQueue::Take() {
  std::unique_lock lock(mutex_);
  may_take_.wait(lock, [&] { return CanTake() || stopped_ || next_ == end_; });
  return TakeLocked();
}

std::optional<PointBlock> BlockQueue::TryTake() {
  const std::lock_guard lock(mutex_);
  return TakeLocked();
}

void BlockQueue::Put(const PointBlock& block, std::vector<SweepRow> rows) {
  const std::lock_guard lock(mutex_);
  if (block.begin < first_missing_) return;
  early_.try_emplace(block.begin, std::move(rows));
  is_ready_.notify_all();
}

std::vector<SweepRow> BlockQueue::Ready() {
  const std::lock_guard lock(mutex_);
  std::vector<SweepRow> rows;
  for (auto it = early_.begin();
       it != early_.end() && it->first == first_missing_;
       it = early_.erase(it)) {
    first_missing_ += static_cast<int64_t>(it->second.size());
    rows.insert(rows.end(), std::make_move_iterator(it->second.begin()),
                std::make_move_iterator(it->second.end()));
  }
  if (!rows.empty()) may_take_.notify_all();
  return rows;
}

void BlockQueue::WaitForReady(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  is_ready_.wait_for(lock, most, [&] {
    return first_missing_ == end_ ||
           (!early_.empty() && early_.begin()->first == first_missing_);
  });
}

bool BlockQueue::done() const {
  const std::lock_guard lock(mutex_);
  return first_missing_ == end_;
}

void BlockQueue::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  may_take_.notify_all();
}

}  // namespace orrery
