#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace orrery {
namespace {

thread_local size_t limit = 0;  // 0: all processors

}  // namespace

size_t ProcessorsOfThread() {
  return limit > 0 ? limit : std::max(1u, std::thread::hardware_concurrency());
}

void LimitProcessors(size_t count) { limit = count; }

void InParallel(size_t count, absl::FunctionRef<void(size_t)> work,
                const std::function<void(double done)>& tell) {
  std::atomic<size_t> next{0};
  std::mutex telling;
  size_t done = 0;
  const size_t before = limit;
  const size_t processors = ProcessorsOfThread();
  const size_t busy = std::max<size_t>(1, std::min(processors, count));
  const auto worker = [&] {
    limit = std::max<size_t>(1, processors / busy);
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      work(i);
      if (!tell) continue;
      const std::lock_guard lock(telling);
      tell(static_cast<double>(++done) / static_cast<double>(count));
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < busy; ++t) threads.emplace_back(worker);
  worker();
  limit = before;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace orrery
