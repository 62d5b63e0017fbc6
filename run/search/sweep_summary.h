#pragma once
// SweepSummary: what is worth showing of many rows: the best, the Pareto front,
// an even sample for pictures, and how many points have which problem.
//
//   SweepSummary summary(study, 10);
//   for (const SweepRow& row : rows) summary.Add(row);
//
// Memory is that of the best, of the front, of the sample and of the kinds of
// problems, not of all rows.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/search.pb.h"
#include "run/search/study.h"
#include "run/search/sweep_row.h"

namespace orrery {

struct SweepProblem {
  int64_t count = 0;
  // The first.
  std::string example;
  int64_t point = 0;
};

class SweepSummary {
 public:
  static constexpr size_t kSample = 2048;
  static constexpr size_t kMostKinds = 100;

  // The study must outlive the summary.
  SweepSummary(const Study& study, int best) : study_(study), best_of_(best) {}

  void Add(const SweepRow& row);

  // By the first objective, then by point.
  const std::vector<SweepRow>& best() const { return best_; }
  // Rows that no other row beats in one objective without being beaten in
  // another; of equal ones the first. In the order of the points.
  const std::vector<SweepRow>& front() const { return front_; }
  // Kinds of problems: their words with N for each number in them. Those beyond
  // kMostKinds are together.
  const std::map<std::string, SweepProblem>& problems() const {
    return problems_;
  }
  int64_t rows() const { return rows_; }
  int64_t answered() const { return answered_; }

  // All of it, with rows that were simulated.
  pb::SweepResult ToProto(absl::Span<const SweepRow> simulated) const;

 private:
  // Smaller is better.
  double Value(const SweepRow& row, size_t objective) const;
  bool Beats(const SweepRow& a, const SweepRow& b) const;
  void AddProblem(const SweepRow& row);
  void AddToSample(const SweepRow& row);

  const Study& study_;
  int best_of_;
  std::vector<SweepRow> best_;
  std::vector<SweepRow> front_;
  // Every `stride_`-th answer.
  std::vector<SweepRow> sample_;
  int64_t stride_ = 1;
  std::map<std::string, SweepProblem> problems_;
  int64_t rows_ = 0;
  int64_t answered_ = 0;
};

}  // namespace orrery
