#include "run/search/plan_search.h"

#include <absl/types/span.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analytic/step/step_estimate.h"
#include "base/parallel.h"
#include "base/status.h"
#include "catalog/defaults.h"
#include "run/report.h"

namespace orrery {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Makes plans of choices, and says what they take.
class PlanReader {
 public:
  static absl::StatusOr<PlanReader> Create(const ResolvedScenario& scenario,
                                           const pb::Training& given) {
    ASSIGN_OR_RETURN(StepEstimator estimator,
                     StepEstimator::Create(scenario.model, scenario.system,
                                           scenario.kernels));
    return PlanReader(scenario, given, std::move(estimator));
  }

  // Nothing if a rule of plans is broken.
  std::optional<TrainingPlan> PlanOf(const PlanChoice& choice) const {
    pb::Training proto = WithChoice(given_, choice);
    FillTrainingDefaults(scenario_.proto, &proto);
    auto plan = TrainingPlan::FromProto(
        proto, scenario_.model, scenario_.system,
        scenario_.training()->framework(), scenario_.training()->variation());
    if (!plan.ok()) return std::nullopt;
    return *std::move(plan);
  }
  StepEstimator& estimator() { return estimator_; }

 private:
  PlanReader(const ResolvedScenario& scenario, const pb::Training& given,
             StepEstimator estimator)
      : scenario_(scenario), given_(given), estimator_(std::move(estimator)) {}

  const ResolvedScenario& scenario_;
  const pb::Training& given_;
  StepEstimator estimator_;
};

bool Faster(const FoundPlan& a, const FoundPlan& b) {
  return std::pair(a.step_s, a.choice) < std::pair(b.step_s, b.choice);
}

}  // namespace

PlanCounts& PlanCounts::operator+=(const PlanCounts& other) {
  considered += other.considered;
  estimated += other.estimated;
  illegal += other.illegal;
  too_large += other.too_large;
  pruned += other.pruned;
  return *this;
}

PlanSearch::PlanSearch(const ResolvedScenario& scenario, pb::Training given,
                       PlanSearchOptions options)
    : scenario_(scenario),
      given_(std::move(given)),
      options_(std::move(options)),
      space_(scenario.proto, scenario.model, scenario.system.chips(),
             options_.kept),
      capacity_(PlannedCapacity(scenario.system)) {}

absl::StatusOr<PlanSearch> PlanSearch::Create(const ResolvedScenario& scenario,
                                              pb::Training given,
                                              PlanSearchOptions options) {
  PlanSearch search(scenario, std::move(given), std::move(options));
  search.groups_.resize(search.space_.kernels().size());
  std::vector<absl::Status> errors(search.groups_.size());
  InParallel(search.groups_.size(), [&](size_t i) {
    errors[i] =
        search.FindFloor(search.space_.kernels()[i], &search.groups_[i]);
  });
  for (const absl::Status& error : errors) RETURN_IF_ERROR(error);
  std::sort(search.groups_.begin(), search.groups_.end(),
            [](const Group& a, const Group& b) {
              return std::pair(a.floor_s, a.kernels) <
                     std::pair(b.floor_s, b.kernels);
            });
  return search;
}

// Kernels depend on the group and on how context and tokens travel.
absl::Status PlanSearch::FindFloor(const KernelChoice& kernels,
                                   Group* group) const {
  *group = {kernels, kNever};
  ASSIGN_OR_RETURN(PlanReader reader, PlanReader::Create(scenario_, given_));
  using Methods =
      std::pair<pb::Training::ContextMethod, pb::Training::DispatchMethod>;
  std::vector<Methods> seen;
  space_.ForEach(kernels, [&](PlanChoice choice) {
    const Methods methods(choice.context_method, choice.dispatch);
    if (std::find(seen.begin(), seen.end(), methods) != seen.end()) return;
    choice.recompute = RecomputeChoice::kNone;
    const std::optional<TrainingPlan> plan = reader.PlanOf(choice);
    if (!plan) return;
    seen.push_back(methods);
    group->floor_s =
        std::min(group->floor_s, reader.estimator().KernelFloor(*plan));
  });
  return absl::OkStatus();
}

absl::Status PlanSearch::Survey(const Group& group, double limit_s,
                                std::vector<FoundPlan>* found,
                                PlanCounts* counts) const {
  if (group.floor_s >= limit_s) {
    int64_t& count = group.floor_s < kNever ? counts->pruned : counts->illegal;
    space_.ForEach(group.kernels, [&](const PlanChoice&) { ++count; });
    counts->considered = count;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(PlanReader reader, PlanReader::Create(scenario_, given_));
  StepEstimator& estimator = reader.estimator();
  const auto look_at = [&](const PlanChoice& choice) {
    ++counts->considered;
    const std::optional<TrainingPlan> plan = reader.PlanOf(choice);
    if (!plan) {
      ++counts->illegal;
      return;
    }
    const StepFloor floor = estimator.Floor(*plan);
    if (floor.state > capacity_) {
      ++counts->too_large;
      return;
    }
    if (floor.step_s >= limit_s) {
      ++counts->pruned;
      return;
    }
    const StepEstimate estimate = estimator.Estimate(*plan);
    ++counts->estimated;
    if (estimate.reserved > capacity_) {
      ++counts->too_large;
    } else if (estimate.lower_s >= limit_s) {
      ++counts->pruned;
    } else {
      found->push_back({choice, estimate.step_s(), estimate.lower_s});
    }
  };
  space_.ForEachShape(group.kernels, [&](const PlanChoice& shape) {
    // The floor of all plans of the shape; nothing where a rule is broken,
    // which may be that of the plan that was asked only.
    std::optional<StepFloor> least;
    bool known = true;
    space_.ForEachLeastOf(shape, [&](const PlanChoice& choice) {
      const std::optional<TrainingPlan> plan = reader.PlanOf(choice);
      known = known && plan;
      if (!known) return;
      const StepFloor floor = estimator.Floor(*plan);
      if (!least) least = floor;
      least->step_s = std::min(least->step_s, floor.step_s);
      least->state = std::min(least->state, floor.state);
    });
    const bool too_large = known && least && least->state > capacity_;
    if (too_large || (known && least && least->step_s >= limit_s)) {
      int64_t& count = too_large ? counts->too_large : counts->pruned;
      space_.ForEachOf(shape, [&](const PlanChoice&) {
        ++counts->considered;
        ++count;
      });
      return;
    }
    space_.ForEachOf(shape, look_at);
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FoundPlan>> PlanSearch::Next(double limit_s) {
  // A number of its own, not that of the processors: what is passed over must
  // not depend on the machine.
  constexpr size_t kRound = 8;
  if (!options_.prune) limit_s = kNever;
  const size_t count = std::min(kRound, groups_.size() - next_);
  std::vector<absl::Status> errors(count);
  std::vector<std::vector<FoundPlan>> found(count);
  std::vector<PlanCounts> counts(count);
  InParallel(count, [&](size_t i) {
    errors[i] = Survey(groups_[next_ + i], limit_s, &found[i], &counts[i]);
  });
  std::vector<FoundPlan> all;
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(errors[i]);
    counts_ += counts[i];
    all.insert(all.end(), found[i].begin(), found[i].end());
  }
  next_ += count;
  return all;
}

double PlanSearch::progress() const {
  return groups_.empty()
             ? 1
             : static_cast<double>(next_) / static_cast<double>(groups_.size());
}

absl::StatusOr<std::vector<FoundPlan>> BestByClosedForm(PlanSearch& search,
                                                        size_t best) {
  std::vector<FoundPlan> plans;
  while (!search.done()) {
    const double limit = plans.size() < best ? kNever : plans.back().step_s;
    ASSIGN_OR_RETURN(const std::vector<FoundPlan> found, search.Next(limit));
    plans.insert(plans.end(), found.begin(), found.end());
    std::sort(plans.begin(), plans.end(), Faster);
    if (plans.size() > best) plans.resize(best);
  }
  return plans;
}

}  // namespace orrery
