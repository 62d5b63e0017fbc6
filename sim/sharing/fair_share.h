#pragma once
// FairShare: rates of activities that compete for resources, as a pure
// function.
//
// Rates are weighted max-min fair. An activity at rate r takes weight * r of
// each resource it uses. Activities grow together, each at a pace of 1 /
// penalty, until a resource is full or a rate cap is met; what is stopped
// stays, the others go on. So no activity can gain except by taking from one
// that has no more than it (counting rate * penalty), no resource is
// oversubscribed, and no capacity that somebody could use is left. Penalty is
// an inverse priority, weight is what a unit of rate costs; the terms and the
// semantics are those of SimGrid's max-min solver (Casanova et al., "Versatile,
// scalable, and accurate simulation of distributed applications and platforms",
// JPDC 74, 2014).
//
// The result depends on ids, not on the order in which anything was added to
// the problem elsewhere: sums run in the order of activities.
//
// Cost: O(uses + (resources + activities) * log) per solve, plus a log for
// every time a resource's turn is put off by others that were stopped first.
#include <absl/types/span.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace orrery {

struct FairShareProblem {
  struct Use {
    int32_t resource;  // place in `capacities`
    double weight;     // > 0
  };

  std::vector<double> capacities;  // > 0
  std::vector<double> rate_caps;   // > 0, or infinity
  std::vector<double> penalties;   // > 0
  std::vector<int32_t> uses_end;   // per activity, into `uses`
  std::vector<Use> uses;           // at most one per resource and activity

  void Clear();
  int32_t AddResource(double capacity);
  // To be followed by AddUse for each resource the new activity uses. Requires:
  // a finite cap or at least one use.
  int32_t AddActivity(double rate_cap = std::numeric_limits<double>::infinity(),
                      double penalty = 1);
  void AddUse(int32_t resource, double weight);

  size_t activities() const { return rate_caps.size(); }
  absl::Span<const Use> uses_of(size_t activity) const {
    const int32_t begin = activity == 0 ? 0 : uses_end[activity - 1];
    return absl::MakeConstSpan(uses.data() + begin,
                               static_cast<size_t>(uses_end[activity] - begin));
  }
};

// Keeps its working memory between problems.
class FairShareSolver {
 public:
  // One rate per activity. The result is valid until the next call.
  absl::Span<const double> Solve(const FairShareProblem& problem);

 private:
  // The level (rate * penalty) at which a resource fills up, or a lower bound.
  struct Limit {
    double level;
    int32_t resource;
    friend bool operator>(const Limit& a, const Limit& b) {
      return a.level != b.level ? a.level > b.level : a.resource > b.resource;
    }
  };
  struct Resource {
    double remaining;
    double load;  // sum of weight / penalty of those still growing
    int32_t growing;
    int32_t users_begin;
  };

  void Prepare(const FairShareProblem& problem);
  void Stop(const FairShareProblem& problem, size_t activity, double rate);
  // Stops the users of a resource whose caps are met at `level`, if any.
  bool StopCapped(const FairShareProblem& problem, const Resource& resource,
                  double level);

  std::vector<Resource> resources_;
  std::vector<int32_t> users_;
  std::vector<Limit> limits_;
  std::vector<double> rates_;
  std::vector<char> stopped_;  // as bool
};

}  // namespace orrery
