#include "accuracy/accuracy_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

bool Meets(double value, const std::optional<double>& bar) {
  return !bar.has_value() || value <= *bar;
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
  }
}

bool AccuracyTable::met() const {
  return !rows_.empty() && std::all_of(groups_.begin(), groups_.end(),
                                       [](const AccuracyGroup& group) {
                                         return !group.bars.decides ||
                                                group.met();
                                       });
}

}  // namespace orrery
