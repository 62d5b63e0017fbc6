#pragma once
// Sweep: the points of a study, worked out.
//
//   const Sweep sweep(study, catalog);
//   for (const SweepRow& row : sweep.Rows(0, 1000)) ...
//
// Rows come in the order of the points, whatever the number of threads. What
// varies only the training plan shares models, machines and what kernels cost.
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "run/search/study.h"

namespace orrery {

struct SweepRow {
  int64_t point = 0;
  // Of each axis.
  std::vector<std::string> values;
  // Why there is no answer, "does not fit into memory"; empty if there is one.
  // What stands before the first ':' is the kind of problem.
  std::string problem;
  // Of each column of the study; none if there is a problem.
  std::vector<double> columns;
};

class Sweep {
 public:
  // The study and the catalogue must outlive the sweep.
  Sweep(const Study& study, const Catalog& catalog)
      : study_(study), catalog_(catalog) {}

  // Of the points [begin, end), by the study's method.
  std::vector<SweepRow> Rows(int64_t begin, int64_t end) const;
  // One point again, simulated.
  SweepRow Simulated(int64_t point) const;

 private:
  const Study& study_;
  const Catalog& catalog_;
};

// PATH=VALUE of everything that makes the row's point.
std::vector<std::string> SettingsOf(const Study& study, const SweepRow& row);

}  // namespace orrery
