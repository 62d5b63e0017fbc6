#pragma once
// BlockQueue: points handed out in blocks to whoever is free, their rows taken
// back in order.
//
//   BlockQueue queue(begin, end, {.points = 512, .window = 64});
//   while (const auto block = queue.Take()) queue.Put(*block, rows);  //
//   threads while (...) for (const SweepRow& row : queue.Ready()) ... // one
//
// At most a window of blocks is taken beyond the first whose rows are missing,
// so that memory is bounded however unlike the blocks are. What comes out does
// not depend on who took what, or when. All of it may be called from any
// thread.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "run/search/sweep_row.h"

namespace orrery {

// The points [begin, end).
struct PointBlock {
  int64_t begin = 0;
  int64_t end = 0;
  friend auto operator<=>(const PointBlock&, const PointBlock&) = default;
};

class BlockQueue {
 public:
  struct Size {
    int64_t points = 1;  // of a block
    int64_t window = 1;  // blocks
  };
  BlockQueue(int64_t begin, int64_t end, Size size)
      : next_(begin), first_missing_(begin), end_(end), size_(size) {}

  // Waits while the window is full; nothing if none is left, or it was stopped.
  std::optional<PointBlock> Take();
  // The same without waiting.
  std::optional<PointBlock> TryTake();
  // Requires: the block was taken; a second time changes nothing.
  void Put(const PointBlock& block, std::vector<SweepRow> rows);
  // Those that follow on what was given out last; none if the next is missing.
  std::vector<SweepRow> Ready();
  // Until there are some, or all have been given out, or the time is over.
  void WaitForReady(std::chrono::milliseconds most);
  // All were given out.
  bool done() const;
  // Nobody gets another block.
  void Stop();

 private:
  std::optional<PointBlock> TakeLocked();
  bool CanTake() const;

  mutable std::mutex mutex_;
  std::condition_variable may_take_;
  std::condition_variable is_ready_;
  int64_t next_;           // to be taken
  int64_t first_missing_;  // given out up to here
  const int64_t end_;
  const Size size_;
  bool stopped_ = false;
  // Rows that came before their turn, by their first point.
  std::map<int64_t, std::vector<SweepRow>> early_;
};

}  // namespace orrery
