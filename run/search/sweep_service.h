#pragma once
// SweepService: threads that work out what they are told to, in any order.
//
//   SweepService service(study, catalog, threads);
//   service.Add(work);
//   while (const auto done = service.Done()) ...
//
// For one caller; what was told and is not begun when it ends is left undone.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "catalog/catalog.h"
#include "run/search/study.h"
#include "run/search/sweep_letters.h"
#include "run/search/sweep_worker.h"

namespace orrery {

// The rows of a piece of work, on this thread.
std::vector<SweepRow> WorkOut(const WorkLetter& work, SweepWorker& worker);

class SweepService {
 public:
  // The study and the catalogue must outlive the service.
  SweepService(const Study& study, const Catalog& catalog, int threads);
  ~SweepService();

  void Add(const WorkLetter& work);
  // One that is done; nothing if there is none.
  std::optional<RowsLetter> Done();
  // Until something is done, or the time is over.
  void Wait(std::chrono::milliseconds most);

 private:
  void Work(const Study& study, const Catalog& catalog);

  std::mutex mutex_;
  std::condition_variable told_;
  std::condition_variable has_done_;
  std::deque<WorkLetter> todo_;
  std::deque<RowsLetter> done_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace orrery
