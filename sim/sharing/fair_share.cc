#include "sim/sharing/fair_share.h"

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

bool FairShareSolver::StopCapped(const FairShareProblem& problem,
                                 const Resource& resource, double level) {
  bool any = false;
  for (int32_t u = 0, left = resource.growing; left > 0; ++u) {
    const auto activity = static_cast<size_t>(
        users_[static_cast<size_t>(resource.users_begin + u)]);
    if (stopped_[activity]) continue;
    --left;
    if (problem.rate_caps[activity] * problem.penalties[activity] > level) {
      continue;
    }
    Stop(problem, activity, problem.rate_caps[activity]);
    any = true;
  }
  return any;
}

absl::Span<const double> FairShareSolver::Solve(
    const FairShareProblem& problem) {
  Prepare(problem);
  double reached = 0;
  while (!limits_.empty()) {
    std::pop_heap(limits_.begin(), limits_.end(), std::greater<>());
    Limit& limit = limits_.back();
    const Resource resource = resources_[static_cast<size_t>(limit.resource)];
    if (resource.growing == 0) {
      limits_.pop_back();
      continue;
    }
    // Others may have been stopped since, by lower levels or by their caps:
    // then its turn comes later. A cap below this level, the lowest of all, is
    // met before any resource that its activity uses is full.
    const double level = resource.remaining / resource.load;
    if (level > limit.level || StopCapped(problem, resource, level)) {
      const Resource& now = resources_[static_cast<size_t>(limit.resource)];
      if (now.growing == 0) {
        limits_.pop_back();
      } else {
        limit.level = std::max(limit.level, now.remaining / now.load);
        std::push_heap(limits_.begin(), limits_.end(), std::greater<>());
      }
      continue;
    }
    limits_.pop_back();
    reached = std::max(reached, level);
    for (int32_t u = 0, left = resource.growing; left > 0; ++u) {
      const auto activity = static_cast<size_t>(
          users_[static_cast<size_t>(resource.users_begin + u)]);
      if (stopped_[activity]) continue;
      Stop(problem, activity, reached / problem.penalties[activity]);
      --left;
    }
  }
  // Whoever is left never met a full resource.
  for (size_t i = 0; i < problem.activities(); ++i) {
    if (stopped_[i]) continue;
    CHECK(std::isfinite(problem.rate_caps[i])) << "an activity without a limit";
    rates_[i] = problem.rate_caps[i];
  }
  return rates_;
}

}  // namespace orrery
