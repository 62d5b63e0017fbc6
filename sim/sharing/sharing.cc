#include "sim/sharing/sharing.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/sharing/completion.h"

namespace orrery {
namespace {

constexpr double kPerPicosecond = 1e-12;

// Components larger than this are solved anew: to compare them costs as much as
// to solve them, and they seldom repeat.
constexpr size_t kMaxRememberedActivities = 64;
constexpr size_t kMaxRemembered = 4096;

// Sorting n ids costs about as much as looking at this many times n.
constexpr size_t kSortBelow = 16;

template <class T>
void AppendBytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

Sharing::Sharing(IdVector<ResourceId, double> capacities) {
  resources_.resize(capacities.size());
  for (const ResourceId id : capacities.ids()) {
    CHECK(capacities[id] > 0) << "resource " << Index(id);
    resources_[id].capacity = capacities[id];
  }
}

void Sharing::MarkDirty(ResourceId id) {
  if (std::exchange(resources_[id].is_dirty, true)) return;
  dirty_.push_back(id);
}

void Sharing::Start(ActivityId id, Time now, const Work& work) {
  if (Index(id) >= activities_.size()) activities_.resize(Index(id) + 1);
  Activity& activity = activities_[id];
  activity.remaining = work.amount;
  activity.moved = 0;
  activity.rate = 0;
  activity.full_rate = work.rate_cap;
  activity.penalty = work.penalty;
  activity.uses = work.uses;
  activity.updated = now;
  activity.is_new = true;
  for (const ResourceUse& use : work.uses) {
    activity.full_rate = std::min(
        activity.full_rate, resources_[use.resource].capacity / use.weight);
  }
  bool limited = false;
  for (const ResourceUse& use : work.uses) {
    Resource& resource = resources_[use.resource];
    resource.users.push_back(id);
    resource.demand += use.weight * activity.full_rate;
    if (resource.users.size() > 1 && resource.CanLimit()) {
      MarkDirty(use.resource);
      limited = true;
    }
  }
  ++counters_.starts;
  if (!limited) fresh_.push_back(id);
}

void Sharing::Finish(ActivityId id, Time now) {
  Activity& activity = activities_[id];
  Integrate(activity, now);
  activity.rate = 0;
  for (const ResourceUse& use : activity.uses) {
    Resource& resource = resources_[use.resource];
    resource.carried += use.weight * activity.moved;
    if (resource.users.size() == 1) {
      resource.users.clear();
      resource.demand = 0;
      continue;
    }
    if (resource.CanLimit()) MarkDirty(use.resource);
    resource.demand -= use.weight * activity.full_rate;
    const auto found =
        std::find(resource.users.begin(), resource.users.end(), id);
    DCHECK(found != resource.users.end());
    *found = resource.users.back();
    resource.users.pop_back();
  }
  activity.uses = {};
  activity.is_new = false;
}

void Sharing::Integrate(Activity& activity, Time now) {
  const double done =
      activity.rate * kPerPicosecond * Picoseconds(now - activity.updated);
  activity.remaining = std::max(0.0, activity.remaining - done);
  activity.moved += done;
  activity.updated = now;
}

double Sharing::remaining(ActivityId id, Time now) const {
  Activity copy = activities_[id];
  Integrate(copy, now);
  return copy.remaining;
}

void Sharing::SetRate(ActivityId id, double rate, Time now) {
  Activity& activity = activities_[id];
  if (rate == activity.rate && !activity.is_new) return;
  Integrate(activity, now);
  activity.rate = rate;
  activity.is_new = false;
  completions_.push_back(
      {id, CompletionTime(now, activity.remaining, rate * kPerPicosecond)});
}

absl::Span<const Sharing::Completion> Sharing::Resolve(Time now) {
  completions_.clear();
  if (!dirty_.empty()) {
    resolve_began_ = visit_;
    std::sort(dirty_.begin(), dirty_.end());
    for (const ResourceId id : dirty_) {
      resources_[id].is_dirty = false;
      // A resource that has ceased to limit no longer connects its users.
      for (const ActivityId user : resources_[id].users) {
        if (activities_[user].visited > resolve_began_) continue;
        CollectComponent(user);
        SolveComponent(now);
      }
    }
    dirty_.clear();
  }
  for (const ActivityId id : fresh_) {
    const Activity& activity = activities_[id];
    // A later start of the same instant may have put it into a component, and
    // it may have finished already.
    if (!activity.is_new) continue;
    ++counters_.closed_forms;
    SetRate(id, activity.full_rate, now);
  }
  fresh_.clear();
  return completions_;
}

void Sharing::CollectComponent(ActivityId seed) {
  ++visit_;
  component_.clear();
  component_resources_.clear();
  component_.push_back(seed);
  activities_[seed].visited = visit_;
  for (size_t next = 0; next < component_.size(); ++next) {
    for (const ResourceUse& use : activities_[component_[next]].uses) {
      Resource& resource = resources_[use.resource];
      if (!resource.CanLimit() || resource.visited == visit_) continue;
      resource.visited = visit_;
      component_resources_.push_back(use.resource);
      for (const ActivityId user : resource.users) {
        if (activities_[user].visited == visit_) continue;
        activities_[user].visited = visit_;
        component_.push_back(user);
      }
    }
  }
  // In the order of ids. A component that is a good part of everything is found
  // faster by its marks than by sorting.
  if (component_.size() > activities_.size() / kSortBelow) {
    component_.clear();
    for (const ActivityId id : activities_.ids()) {
      if (activities_[id].visited == visit_) component_.push_back(id);
    }
  } else {
    std::sort(component_.begin(), component_.end());
  }
  std::sort(component_resources_.begin(), component_resources_.end());
}

void Sharing::SolveComponent(Time now) {
  if (component_resources_.empty()) {
    ++counters_.closed_forms;
    SetRate(component_.front(), activities_[component_.front()].full_rate, now);
    return;
  }
  problem_.Clear();
  for (const ResourceId id : component_resources_) {
    resources_[id].place = problem_.AddResource(resources_[id].capacity);
  }
  for (const ActivityId id : component_) {
    const Activity& activity = activities_[id];
    problem_.AddActivity(activity.full_rate, activity.penalty);
    for (const ResourceUse& use : activity.uses) {
      const Resource& resource = resources_[use.resource];
      if (resource.CanLimit()) problem_.AddUse(resource.place, use.weight);
    }
  }
  const auto size = static_cast<int64_t>(component_.size());
  ++counters_.components;
  counters_.activities_solved += size;
  counters_.largest_component = std::max(counters_.largest_component, size);
  const absl::Span<const double> rates = Rates();
  for (size_t i = 0; i < component_.size(); ++i) {
    SetRate(component_[i], rates[i], now);
  }
}

absl::Span<const double> Sharing::Rates() {
  if (component_.size() > kMaxRememberedActivities) {
    return solver_.Solve(problem_);
  }
  signature_.clear();
  AppendBytes(signature_, problem_.capacities.size());
  for (const double capacity : problem_.capacities) {
    AppendBytes(signature_, capacity);
  }
  for (size_t i = 0; i < problem_.activities(); ++i) {
    AppendBytes(signature_, problem_.rate_caps[i]);
    AppendBytes(signature_, problem_.penalties[i]);
    AppendBytes(signature_, problem_.uses_end[i]);
    for (const FairShareProblem::Use& use : problem_.uses_of(i)) {
      AppendBytes(signature_, use.resource);
      AppendBytes(signature_, use.weight);
    }
  }
  if (const auto found = remembered_.find(signature_);
      found != remembered_.end()) {
    ++counters_.remembered;
    return found->second;
  }
  const absl::Span<const double> rates = solver_.Solve(problem_);
  if (remembered_.size() < kMaxRemembered) {
    remembered_.emplace(signature_,
                        std::vector<double>(rates.begin(), rates.end()));
  }
  return rates;
}

}  // namespace orrery
