#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace orrery {

void InParallel(size_t count, absl::FunctionRef<void(size_t)> work) {
  std::atomic<size_t> next{0};
  const auto worker = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) work(i);
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
