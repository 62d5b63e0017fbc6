#pragma once
// PlanSearch: the training plans of a space that can still be the fastest.
//
//   ASSIGN_OR_RETURN(PlanSearch search,
//                    PlanSearch::Create(scenario, given, options));
//   while (!search.done()) {
//     ASSIGN_OR_RETURN(const std::vector<FoundPlan> found,
//     search.Next(limit_s));
//     ...  // simulate the best of them, lower the limit
//   }
//
// Every plan comes with its closed form and with a lower bound that no
// simulation of it can beat. Plans whose bound is not below the limit are
// passed over, so that whoever simulates all that come back has the fastest
// plan of the space. What comes back does not depend on the number of threads.
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "proto/scenario.pb.h"
#include "run/scenario.h"
#include "run/search/plan_choice.h"
#include "run/search/plan_space.h"

namespace orrery {

struct PlanSearchOptions {
  // Choices that stay as the scenario has them.
  std::vector<PlanAxis> kept = {};
  // Without it every plan of the space is estimated.
  bool prune = true;
  std::function<void(std::string_view stage, double done)> progress = {};
};

struct FoundPlan {
  PlanChoice choice;
  double step_s = 0;   // by closed form
  double bound_s = 0;  // no simulation takes less
};

// What became of the plans of the space.
struct PlanCounts {
  int64_t considered = 0;
  int64_t illegal = 0;    // a rule of plans is broken
  int64_t too_large = 0;  // does not fit into memory with the headroom
  int64_t pruned = 0;     // cannot be faster than the limit
  int64_t estimated = 0;  // some of the last two, and all others
  PlanCounts& operator+=(const PlanCounts& other);
};

class PlanSearch {
 public:
  // `given` is the scenario's training block before defaults were filled in.
  // The scenario must outlive the search.
  static absl::StatusOr<PlanSearch> Create(const ResolvedScenario& scenario,
                                           pb::Training given,
                                           PlanSearchOptions options);

  // The plans of the next few kernel choices that are legal, fit into memory
  // and have a bound below `limit_s`.
  absl::StatusOr<std::vector<FoundPlan>> Next(double limit_s);
  bool done() const { return next_ == groups_.size(); }
  // The share of the kernel choices that were looked at.
  double progress() const;

  const PlanCounts& counts() const { return counts_; }
  const PlanSpace& space() const { return space_; }

 private:
  struct Group {
    KernelChoice kernels;
    // No plan of the group takes less; infinite if none is legal.
    double floor_s;
  };

  PlanSearch(const ResolvedScenario& scenario, pb::Training given,
             PlanSearchOptions options);
  absl::Status FindFloor(const KernelChoice& kernels, Group* group) const;
  absl::Status Survey(const Group& group, double limit_s,
                      std::vector<FoundPlan>* found, PlanCounts* counts) const;

  const ResolvedScenario& scenario_;
  pb::Training given_;
  PlanSearchOptions options_;
  PlanSpace space_;
  Bytes capacity_;
  std::vector<Group> groups_;  // the lowest floor first
  size_t next_ = 0;
  PlanCounts counts_;
};

// The `best` fastest plans by closed form, fastest first; of equally fast ones
// the smallest choice.
absl::StatusOr<std::vector<FoundPlan>> BestByClosedForm(PlanSearch& search,
                                                        size_t best);

}  // namespace orrery
