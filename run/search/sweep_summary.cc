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

void SweepSummary::AddProblem(const SweepRow& row) {
  const std::string& problem = row.problem;
  // "48 sequences", "64 sequences": one kind, "N sequences".
  std::string kind;
  for (const char c : problem) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) {
      kind += c;
    } else if (kind.empty() || kind.back() != 'N') {
      kind += 'N';
    }
  }
  auto place = problems_.find(kind);
  if (place == problems_.end()) {
    if (problems_.size() >= kMostKinds) kind = "of other kinds";
    place =
        problems_.try_emplace(kind, SweepProblem{0, problem, row.point}).first;
  }
  ++place->second.count;
}

void SweepSummary::AddToSample(const SweepRow& row) {
  if (answered_ % stride_ != 0) return;
  sample_.push_back(row);
  if (sample_.size() <= kSample) return;
  size_t kept = 0;
  for (size_t i = 0; i < sample_.size(); i += 2) {
    if (kept != i) sample_[kept] = std::move(sample_[i]);
    ++kept;
  }
  sample_.resize(kept);
  stride_ *= 2;
}

void SweepSummary::Add(const SweepRow& row) {
  ++rows_;
  if (!row.problem.empty()) {
    AddProblem(row);
    return;
  }
  AddToSample(row);
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

namespace {

pb::SweepResult::Point ToPoint(const SweepRow& row) {
  pb::SweepResult::Point point;
  point.set_point(row.point);
  for (const std::string& value : row.values) point.add_values(value);
  for (const double value : row.columns) point.add_columns(value);
  if (!row.problem.empty()) {
    point.set_problem(row.problem);
    return point;
  }
  point.set_trust(row.trust);
  if (row.trust_error) point.set_trust_error(*row.trust_error);
  return point;
}

}  // namespace

pb::SweepResult SweepSummary::ToProto(
    absl::Span<const SweepRow> simulated) const {
  pb::SweepResult result;
  result.set_study(study_.name());
  result.set_points(rows_);
  result.set_answered(answered_);
  for (const auto& [kind, problem] : problems_) {
    pb::SweepResult::Problem& each = *result.add_problems();
    each.set_kind(kind);
    each.set_count(problem.count);
    each.set_example(problem.example);
  }
  for (const StudyAxis& axis : study_.axes()) result.add_axes(axis.name);
  for (size_t i = 0; i < study_.columns().size(); ++i) {
    pb::SweepResult::Column& column = *result.add_columns();
    column.set_name(study_.columns()[i].name);
    if (i >= study_.objectives().size()) continue;
    column.set_objective(true);
    column.set_maximize(study_.objectives()[i].maximize);
  }
  for (const SweepRow& row : best_) *result.add_best() = ToPoint(row);
  for (const SweepRow& row : front_) *result.add_front() = ToPoint(row);
  for (const SweepRow& row : simulated) *result.add_simulated() = ToPoint(row);
  for (const SweepRow& row : sample_) *result.add_sample() = ToPoint(row);
  result.set_stride(stride_);
  return result;
}

}  // namespace orrery
