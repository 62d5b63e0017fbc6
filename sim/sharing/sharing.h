#pragma once
// Sharing: activities in progress on shared resources, re-solved only where
// something changed.
//
//   Sharing sharing(capacities);             // units per second
//   sharing.Start(a, now, {.work = ..., .rate_cap = ..., .uses = ...});
//   sharing.Finish(b, now);
//   for (const auto& [activity, at] : sharing.Resolve(now))
//   queue.Schedule(...);
//
// Rates are those of fair_share.h over everything in progress. What makes it
// cheap:
//   - A resource that could serve all its users at their full rate never limits
//     anybody. It is left out, and does not connect its users.
//   - An activity that meets no limiting resource runs at its full rate, which
//     is a closed form: min(rate cap, capacity / weight).
//   - Otherwise the connected component of activities and limiting resources
//     around the change is solved again, and nothing else.
//   - Components that look alike (the same capacities, caps and weights in the
//     same pattern, as in the copies of one collective over many islands) are
//     solved once and remembered.
// None of this changes a result: an activity whose rate stays the same keeps
// its completion time, to the bit.
#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "sim/sharing/fair_share.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

enum class ActivityId : int32_t {};

class Sharing {
 public:
  struct Work {
    double amount = 0;
    double rate_cap = kNoRateCap;
    double penalty = 1;                       // inverse priority
    absl::Span<const ResourceUse> uses = {};  // must outlive the activity
  };
  struct Completion {
    ActivityId activity;
    Time at;
  };
  struct Counters {
    int64_t starts = 0;
    int64_t closed_forms = 0;       // rates set without a solve
    int64_t components = 0;         // solved or remembered
    int64_t remembered = 0;         // of these, remembered
    int64_t activities_solved = 0;  // sum of the components' sizes
    int64_t largest_component = 0;  // in activities
  };

  explicit Sharing(IdVector<ResourceId, double> capacities);

  // Requires: `id` is not in progress; ids are dense; amount >= 0.
  void Start(ActivityId id, Time now, const Work& work);
  // Takes an activity out, whatever is left of it.
  void Finish(ActivityId id, Time now);

  // Whether anything started or finished since the last Resolve.
  bool has_changed() const { return !dirty_.empty() || !fresh_.empty(); }

  // Settles the rates after any number of starts and finishes at `now`. Returns
  // the activities whose completion is new or has moved; valid until the next
  // call.
  absl::Span<const Completion> Resolve(Time now);

  // Per second. Valid after Resolve.
  double rate(ActivityId id) const { return activities_[id].rate; }
  double remaining(ActivityId id, Time now) const;
  // What finished activities took of a resource: weight * rate, integrated.
  double carried(ResourceId id) const { return resources_[id].carried; }
  const Counters& counters() const { return counters_; }

 private:
  struct Activity {
    double remaining = 0;
    double moved = 0;  // rate integrated up to `updated`
    double rate = 0;
    double full_rate = 0;  // with everything to itself
    double penalty = 1;
    absl::Span<const ResourceUse> uses;
    Time updated{};
    uint64_t visited = 0;
    bool is_new = false;
  };
  struct Resource {
    double capacity = 0;
    double demand = 0;  // sum of weight * full rate: may exceed the capacity
    double carried = 0;
    std::vector<ActivityId> users;
    uint64_t visited = 0;
    int32_t place = 0;  // in the problem being solved
    bool is_dirty = false;
    bool CanLimit() const { return demand > capacity; }
  };

  void MarkDirty(ResourceId id);
  void CollectComponent(ActivityId seed);
  void SolveComponent(Time now);
  absl::Span<const double> Rates();
  void SetRate(ActivityId id, double rate, Time now);
  // Brings remaining and moved work up to `now`.
  static void Integrate(Activity& activity, Time now);

  IdVector<ResourceId, Resource> resources_;
  IdVector<ActivityId, Activity> activities_;
  std::vector<ResourceId> dirty_;
  std::vector<ActivityId> fresh_;  // started at full rate
  std::vector<Completion> completions_;
  // Every component has its own mark; those of this Resolve are above the
  // other.
  uint64_t visit_ = 0;
  uint64_t resolve_began_ = 0;

  // Working memory of one component.
  std::vector<ActivityId> component_;
  std::vector<ResourceId> component_resources_;
  FairShareProblem problem_;
  FairShareSolver solver_;
  std::string signature_;
  absl::flat_hash_map<std::string, std::vector<double>> remembered_;
  Counters counters_;
};

}  // namespace orrery
