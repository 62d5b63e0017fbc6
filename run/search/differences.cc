#include "run/search/differences.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace orrery {

std::vector<pb::Difference> Differences(const pb::Report& first,
                                        const pb::Report& second) {
  std::vector<pb::Difference> differences;
  const auto& type = *pb::Report::Breakdown::descriptor();
  const auto& reflection = *first.breakdown().GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const double a = reflection.GetDouble(first.breakdown(), type.field(i));
    const double b = reflection.GetDouble(second.breakdown(), type.field(i));
    if (a == b) continue;
    pb::Difference& difference = differences.emplace_back();
    difference.set_term(type.field(i)->name());
    difference.set_first_s(a);
    difference.set_second_s(b);
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const pb::Difference& a, const pb::Difference& b) {
                     return std::abs(a.first_s() - a.second_s()) >
                            std::abs(b.first_s() - b.second_s());
                   });
  return differences;
}

void CompareBest(pb::Tuning& tuning) {
  int last = 0;
  bool changed = false;
  for (const pb::Tuning::Plan& plan : tuning.plans()) {
    changed |= plan.estimated_rank() < last;
    last = plan.estimated_rank();
  }
  tuning.set_order_changed(changed);
  if (tuning.plans().empty()) return;
  const pb::Report& best = tuning.plans(0).report();
  if (tuning.has_said()) {
    for (auto& each : Differences(best, tuning.said().report())) {
      *tuning.add_against_said() = std::move(each);
    }
  }
  if (tuning.plans_size() < 2) return;
  for (auto& each : Differences(best, tuning.plans(1).report())) {
    *tuning.add_against_second() = std::move(each);
  }
}

}  // namespace orrery
