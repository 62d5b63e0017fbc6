#pragma once
// SweepSummary: what is worth showing of many rows: the best, the Pareto front,
// and how many points have which problem.
//
//   SweepSummary summary(study, 10);
//   for (const SweepRow& row : rows) summary.Add(row);
//
// Memory is that of the best and of the front, not of all rows.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/search/study.h"
#include "run/search/sweep.h"

namespace orrery {

class SweepSummary {
 public:
  // The study must outlive the summary.
  SweepSummary(const Study& study, int best) : study_(study), best_of_(best) {}

  void Add(const SweepRow& row);

  // By the first objective, then by point.
  const std::vector<SweepRow>& best() const { return best_; }
  // Rows that no other row beats in one objective without being beaten in
  // another; of equal ones the first. In the order of the points.
  const std::vector<SweepRow>& front() const { return front_; }
  // Kinds of problems, with how many points have them.
  const std::map<std::string, int64_t>& problems() const { return problems_; }
  int64_t rows() const { return rows_; }
  int64_t answered() const { return answered_; }

 private:
  // The objective's value, turned so that less is better.
  double Value(const SweepRow& row, size_t objective) const;
  // In no objective worse, and the rows are not the same in all.
  bool Beats(const SweepRow& a, const SweepRow& b) const;

  const Study& study_;
  int best_of_;
  std::vector<SweepRow> best_;
  std::vector<SweepRow> front_;
  std::map<std::string, int64_t> problems_;
  int64_t rows_ = 0;
  int64_t answered_ = 0;
};

}  // namespace orrery
