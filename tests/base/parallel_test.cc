#include "base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace orrery {
namespace {

TEST(InParallel, DoesEveryItemOnceAndTellsWhatIsDone) {
  LimitProcessors(4);
  std::vector<int> times(100);
  double last = 0;
  InParallel(
      times.size(), [&](size_t i) { ++times[i]; },
      [&](double done) { last = std::max(last, done); });
  EXPECT_EQ(times, std::vector<int>(100, 1));
  EXPECT_EQ(last, 1);
}

// Four processors, two of eight items at a time would make sixteen threads if
// every call took all of them.
TEST(InParallel, CallsWithinOneAnotherShareTheProcessors) {
  LimitProcessors(4);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  InParallel(2, [&](size_t) {
    EXPECT_EQ(ProcessorsOfThread(), 2u);
    InParallel(8, [&](size_t) {
      int seen = most;
      const int now = ++running;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::yield();
      ++done;
      --running;
    });
  });
  EXPECT_EQ(done, 16);
  EXPECT_LE(most, 4);
  EXPECT_EQ(ProcessorsOfThread(), 4u);
}

// A thread that begins has all processors of the machine, whatever others were
// told.
TEST(InParallel, ALimitIsThatOfAThread) {
  LimitProcessors(1);
  size_t elsewhere = 0;
  std::thread([&] { elsewhere = ProcessorsOfThread(); }).join();
  EXPECT_EQ(elsewhere, std::max(1u, std::thread::hardware_concurrency()));
  EXPECT_EQ(ProcessorsOfThread(), 1u);
}

}  // namespace
}  // namespace orrery
