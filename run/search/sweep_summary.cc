#include "run/search/sweep_summary.h"

#include <algorithm>
#include <utility>

namespace orrery {

double SweepSummary::Value(const SweepRow& row, size_t objective) const {
  const double value = row.columns[objective];
  return study_.objectives()[objective].maximize ? -value : value;
}

bool SweepSummary::Beats(const SweepRow& a, const SweepRow& b) const {
  bool better = false;
  for (size_t i = 0; i < study_.objectives().size(); ++i) {
    if (Value(a, i) > Value(b, i)) return false;
    better |= Value(a, i) < Value(b, i);
  }
  return better || a.point < b.point;
}

void SweepSummary::Add(const SweepRow& row) {
  ++rows_;
  if (!row.problem.empty()) {
    ++problems_[row.problem.substr(0, row.problem.find(':'))];
    return;
  }
  ++answered_;
  const auto before = [&](const SweepRow& a, const SweepRow& b) {
    return std::pair(Value(a, 0), a.point) < std::pair(Value(b, 0), b.point);
  };
  if (best_.size() < static_cast<size_t>(best_of_) ||
      before(row, best_.back())) {
    best_.insert(std::upper_bound(best_.begin(), best_.end(), row, before),
                 row);
    if (best_.size() > static_cast<size_t>(best_of_)) best_.pop_back();
  }
  const auto beats_row = [&](const SweepRow& other) {
    return Beats(other, row);
  };
  if (std::any_of(front_.begin(), front_.end(), beats_row)) return;
  std::erase_if(front_,
                [&](const SweepRow& other) { return Beats(row, other); });
  const auto place = std::upper_bound(
      front_.begin(), front_.end(), row,
      [](const SweepRow& a, const SweepRow& b) { return a.point < b.point; });
  front_.insert(place, row);
}

}  // namespace orrery
