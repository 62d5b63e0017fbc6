#include "sim/fair_share.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"

namespace orrery {

void FairShareProblem::Clear() {
  capacities.clear();
  rate_caps.clear();
  penalties.clear();
  uses_end.clear();
  uses.clear();
}

int32_t FairShareProblem::AddResource(double capacity) {
  DCHECK(capacity > 0);
  capacities.push_back(capacity);
  return static_cast<int32_t>(capacities.size()) - 1;
}

int32_t FairShareProblem::AddActivity(double rate_cap, double penalty) {
  DCHECK(rate_cap > 0 && penalty > 0);
  rate_caps.push_back(rate_cap);
  penalties.push_back(penalty);
  uses_end.push_back(static_cast<int32_t>(uses.size()));
  return static_cast<int32_t>(rate_caps.size()) - 1;
}

void FairShareProblem::AddUse(int32_t resource, double weight) {
  DCHECK(weight > 0);
  uses.push_back({resource, weight});
  ++uses_end.back();
}

void FairShareSolver::Prepare(const FairShareProblem& problem) {
  const size_t activities = problem.activities();
  resources_.clear();
  for (const double capacity : problem.capacities) {
    resources_.push_back({capacity, 0, 0, 0});
  }
  for (size_t i = 0; i < activities; ++i) {
    for (const FairShareProblem::Use& use : problem.uses_of(i)) {
      Resource& resource = resources_[static_cast<size_t>(use.resource)];
      resource.load += use.weight / problem.penalties[i];
      ++resource.growing;
    }
  }
  // Users of each resource, one resource after the other.
  int32_t begin = 0;
  for (Resource& resource : resources_) {
    resource.users_begin = begin;
    begin += resource.growing;
    resource.growing = 0;
  }
  users_.resize(problem.uses.size());
  for (size_t i = 0; i < activities; ++i) {
    for (const FairShareProblem::Use& use : problem.uses_of(i)) {
      Resource& resource = resources_[static_cast<size_t>(use.resource)];
      users_[static_cast<size_t>(resource.users_begin + resource.growing++)] =
          static_cast<int32_t>(i);
    }
  }
  limits_.clear();
  for (size_t r = 0; r < resources_.size(); ++r) {
    const Resource& resource = resources_[r];
    if (resource.growing == 0) continue;
    limits_.push_back(
        {resource.remaining / resource.load, static_cast<int32_t>(r)});
  }
  for (size_t i = 0; i < activities; ++i) {
    if (std::isinf(problem.rate_caps[i])) continue;
    limits_.push_back({problem.rate_caps[i] * problem.penalties[i],
                       static_cast<int32_t>(resources_.size() + i)});
  }
  std::make_heap(limits_.begin(), limits_.end(), std::greater<>());
  rates_.assign(activities, 0.0);
  stopped_.assign(activities, false);
}

void FairShareSolver::Stop(const FairShareProblem& problem, size_t activity,
                           double rate) {
  rates_[activity] = rate;
  stopped_[activity] = true;
  for (const FairShareProblem::Use& use : problem.uses_of(activity)) {
    Resource& resource = resources_[static_cast<size_t>(use.resource)];
    resource.remaining = std::max(0.0, resource.remaining - use.weight * rate);
    resource.load -= use.weight / problem.penalties[activity];
    --resource.growing;
  }
}

absl::Span<const double> FairShareSolver::Solve(
    const FairShareProblem& problem) {
  Prepare(problem);
  const size_t resource_count = resources_.size();
  size_t left = problem.activities();
  double reached = 0;
  while (left > 0) {
    CHECK(!limits_.empty()) << "an activity without any limit";
    std::pop_heap(limits_.begin(), limits_.end(), std::greater<>());
    const Limit limit = limits_.back();
    limits_.pop_back();
    const auto id = static_cast<size_t>(limit.id);
    if (id >= resource_count) {
      const size_t activity = id - resource_count;
      if (stopped_[activity]) continue;
      reached = std::max(reached, limit.level);
      Stop(problem, activity, problem.rate_caps[activity]);
      --left;
      continue;
    }
    const Resource resource = resources_[id];
    if (resource.growing == 0) continue;
    const double level = resource.remaining / resource.load;
    if (level > limit.level) {
      // Others were stopped before it filled up; its turn comes later.
      limits_.push_back({level, limit.id});
      std::push_heap(limits_.begin(), limits_.end(), std::greater<>());
      continue;
    }
    reached = std::max(reached, limit.level);
    const auto begin = static_cast<size_t>(resource.users_begin);
    for (size_t u = begin;; ++u) {
      const auto activity = static_cast<size_t>(users_[u]);
      if (stopped_[activity]) continue;
      Stop(problem, activity,
           std::min(reached / problem.penalties[activity],
                    problem.rate_caps[activity]));
      --left;
      if (resources_[id].growing == 0) break;
    }
  }
  return rates_;
}

}  // namespace orrery
