#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace orrery {

void InParallel(size_t count, absl::FunctionRef<void(size_t)> work,
                const std::function<void(double done)>& tell) {
  std::atomic<size_t> next{0};
  std::mutex telling;
  size_t done = 0;
  const auto worker = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      work(i);
      if (!tell) continue;
      const std::lock_guard lock(telling);
      tell(static_cast<double>(++done) / static_cast<double>(count));
    }
  };
  std::vector<std::thread> threads;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t t = 1; t < std::min(processors, count); ++t) {
    threads.emplace_back(worker);
  }
  worker();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace orrery
