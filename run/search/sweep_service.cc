#include "run/search/sweep_service.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"

namespace orrery {

std::vector<SweepRow> WorkOut(const WorkLetter& work, SweepWorker& worker) {
  const int64_t count = work.block.end - work.block.begin;
  std::vector<SweepRow> rows;
  rows.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(worker.Row(work.first + i, work.method));
  }
  return rows;
}

SweepService::SweepService(const Study& study, const Catalog& catalog,
                           int threads) {
  // A point may search plans, on threads of its own.
  const size_t processors = std::max<size_t>(
      1, ProcessorsOfThread() / static_cast<size_t>(std::max(1, threads)));
  for (int t = 0; t < threads; ++t) {
    threads_.emplace_back([&study, &catalog, processors, this] {
      LimitProcessors(processors);
      Work(study, catalog);
    });
  }
}

SweepService::~SweepService() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    told_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void SweepService::Work(const Study& study, const Catalog& catalog) {
  SweepWorker worker(study, catalog);
  std::unique_lock lock(mutex_);
  for (;;) {
    told_.wait(lock, [&] { return over_ || !todo_.empty(); });
    if (over_) return;
    const WorkLetter work = todo_.front();
    todo_.pop_front();
    lock.unlock();
    std::vector<SweepRow> rows = WorkOut(work, worker);
    lock.lock();
    done_.push_back({work.block, std::move(rows)});
    has_done_.notify_all();
  }
}

void SweepService::Add(const WorkLetter& work) {
  const std::lock_guard lock(mutex_);
  todo_.push_back(work);
  told_.notify_one();
}

std::optional<RowsLetter> SweepService::Done() {
  const std::lock_guard lock(mutex_);
  if (done_.empty()) return std::nullopt;
  RowsLetter letter = std::move(done_.front());
  done_.pop_front();
  return letter;
}

void SweepService::Wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  has_done_.wait_for(lock, most, [&] { return !done_.empty(); });
}

}  // namespace orrery
