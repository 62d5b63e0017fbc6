#include "accuracy/table/accuracy_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

bool Meets(double value, const std::optional<double>& bar) {
  return !bar.has_value() || value <= *bar;
}

// Fewer rows have no order worth the name.
constexpr size_t kFewestRanked = 5;

bool Belongs(const std::vector<GroupKey>& groups, const GroupKey& key) {
  return std::find(groups.begin(), groups.end(), key) != groups.end();
}

void RankRows(const std::vector<AccuracyRow>& rows, AccuracyGroup& group) {
  struct Times {
    std::vector<double> measured;
    std::vector<double> predicted;
  };
  std::map<std::string, Times> sets;
  for (const AccuracyRow& row : rows) {
    if (row.choice_set.empty() || !Belongs(row.groups, group.key)) continue;
    sets[row.choice_set].measured.push_back(row.measured);
    sets[row.choice_set].predicted.push_back(row.predicted);
  }
  double sum = 0;
  for (const auto& [name, times] : sets) {
    const size_t count = times.measured.size();
    if (count < kFewestRanked) continue;
    sum += static_cast<double>(count) *
           RankCorrelation(times.measured, times.predicted);
    group.ranked_rows += static_cast<int>(count);
  }
  if (group.ranked_rows > 0) group.rank_correlation = sum / group.ranked_rows;
}

void CountFits(const std::vector<AccuracyFit>& fits, AccuracyGroup& group) {
  for (const AccuracyFit& fit : fits) {
    if (!Belongs(fit.groups, group.key)) continue;
    FitCounts& counts = group.fit ? *group.fit : group.fit.emplace();
    ++(fit.fits ? (fit.finished ? counts.fits_and_did : counts.fits_but_did_not)
                : (fit.finished ? counts.does_not_but_did
                                : counts.does_not_and_did_not));
  }
}

}  // namespace

std::string_view Name(Suite suite) {
  switch (suite) {
    case Suite::kCollectives:
      return "collectives";
    case Suite::kKernels:
      return "kernels";
    case Suite::kTraining:
      return "training";
    case Suite::kCost:
      return "cost";
    case Suite::kInference:
      return "inference";
  }
  CHECK(false) << "no such suite";
  return {};
}

bool AccuracyGroup::met() const {
  return Meets(errors.median, bars.median) && Meets(errors.mean, bars.mean) &&
         Meets(errors.worst, bars.worst);
}

AccuracyTable::AccuracyTable(Parts parts)
    : suite_(parts.suite),
      origin_(std::move(parts.origin)),
      rows_(std::move(parts.rows)) {
  std::map<GroupKey, std::vector<RowError>> errors;
  for (const AccuracyRow& row : rows_) {
    for (const GroupKey& key : row.groups) {
      errors[key].push_back({row.error(), row.fitted});
    }
  }
  std::map<GroupKey, int> refused;
  for (AccuracyRefusal& refusal : parts.refused) {
    for (const GroupKey& key : refusal.groups) ++refused[key];
    refused_.push_back(std::move(refusal.row));
  }
  // Some were refused when they were read, others when they were predicted.
  std::stable_sort(
      refused_.begin(), refused_.end(),
      [](const RefusedRow& a, const RefusedRow& b) { return a.line < b.line; });
  for (const auto& [key, of_group] : errors) {
    groups_.push_back({.key = key,
                       .errors = Summarise(of_group),
                       .refused = refused[key],
                       .bars = parts.bars[key]});
    RankRows(rows_, groups_.back());
    CountFits(parts.fits, groups_.back());
  }
}

bool AccuracyTable::met() const {
  return !rows_.empty() &&
         std::all_of(groups_.begin(), groups_.end(),
                     [](const AccuracyGroup& group) { return group.met(); });
}

}  // namespace orrery
