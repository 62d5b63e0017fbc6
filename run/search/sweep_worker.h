#pragma once
// SweepWorker: points of a study, worked out one after the other.
//
//   SweepWorker worker(study, catalog);
//   for (int64_t p = begin; p < end; ++p) worker.Row(p, study.method());
//
// A row does not depend on the rows before it. Points that follow each other
// and vary only the training plan share models, machines and what kernels cost;
// each thread has a worker of its own.
#include <cstdint>
#include <memory>

#include "catalog/catalog.h"
#include "run/search/study.h"
#include "run/search/sweep_row.h"

namespace orrery {

class SweepWorker {
 public:
  // The study and the catalogue must outlive the worker.
  SweepWorker(const Study& study, const Catalog& catalog);
  ~SweepWorker();

  SweepRow Row(int64_t point, pb::Study::Method method);

 private:
  class Bench;
  std::unique_ptr<Bench> bench_;
};

}  // namespace orrery
