#pragma once
// TransferPlan: how one communication call uses the network, as the engine
// needs it. The network layer writes plans, one per call of the program; the
// engine replays them, as often as the program calls.
//
// A plan is made of steps. A step first lets its latency pass, then moves
// `work` through the resources it uses: at rate r it takes weight * r of each
// resource's capacity. Rates are weighted max-min fair among everything that
// runs (see fair_share.h) and at most `rate_cap`. A step starts when the steps
// before it are done; the call is done when all its steps are. Hence the
// fidelities:
//
//   closed form  one step of pure latency     AddChain({{.latency = t}})
//   fluid        one step per phase, a chain  AddChain({scatter, gather})
//   stepped      one step per message         AddGraph(messages, orders)
//
// What repeats, as the steps of a ring, is kept once with a count (StepLoop):
// memory does not grow with the repetitions.
//
// Work is in bytes and capacities in bytes per second, unless a resource counts
// something else; only the ratio matters. Uses are kept in the order of
// resource ids and several uses of one resource are added up, so a plan depends
// on its content alone. Give a link the same ResourceId however it was found.
#include <absl/types/span.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "base/units.h"

namespace orrery {

enum class ResourceId : int32_t {};
enum class PlanId : int32_t {};

inline constexpr double kNoRateCap = std::numeric_limits<double>::infinity();

// `weight` units of the resource per unit of rate.
struct ResourceUse {
  ResourceId resource;
  double weight;
  ResourceId key() const { return resource; }
  void operator+=(const ResourceUse& other) { weight += other.weight; }
  friend bool operator==(const ResourceUse&, const ResourceUse&) = default;
};

// `penalty` is an inverse priority: rate times penalty is what grows alike
// (fair_share.h). Of a step that stands for flows side by side it is what one
// of them carries per unit of work, so that flows are equals, whatever call
// they belong to and however its bytes are counted.
//
// Requires: latency >= 0; work >= 0 and finite; rate_cap > 0; penalty > 0 and
// finite; weights > 0 and finite; a step with work has a use or a rate cap.
struct TransferStep {
  Duration latency{0};
  double work = 0;
  double rate_cap = kNoRateCap;
  double penalty = 1;
  std::vector<ResourceUse> uses = {};
};

// The step at place `after` starts when the one at place `before` is done.
struct StepOrder {
  int32_t before;
  int32_t after;
};

// Steps [begin, end) of a list happen `times` times in a row; the list has them
// once. With w steps in the loop the list has a time like them on either side,
// w steps before and w after, and orders lead from each time to the next: one
// of the time before into a step of the loop is one of the loop into the same
// step of the time after, and those of the loop stand for all times.
//
// Requires, of a plan with loops: orders lead from lower to higher places. Of a
// loop: nothing else leads into it or out of it; and a step that moves anything
// waits for itself of the time before, so that no two of its times are under
// way at once and the times of every step end in their order.
struct StepLoop {
  int32_t begin;
  int32_t end;
  int32_t times;  // > 0
  int32_t width() const { return end - begin; }
};

// A step as it is listed, and which of its times.
struct StepTime {
  int32_t listed = 0;
  int32_t time = 0;
};
// Among all steps, each time counted; and back. `loops` in order.
int32_t PlaceOf(absl::Span<const StepLoop> loops, StepTime step);
StepTime StepAt(absl::Span<const StepLoop> loops, int32_t place);

class TransferPlans {
 public:
  // A step as stored: a view that lives as long as the plans do.
  struct Step {
    Duration latency;
    double work;
    double rate_cap;
    double penalty;
    absl::Span<const ResourceUse> uses;
    // As listed; of a step of a loop that leads out of it, of its last time.
    absl::Span<const int32_t> successors;
    int32_t predecessors;
    int32_t loop;  // of the plan's, or -1
  };

  // One step after the other. Requires: at least one step.
  PlanId AddChain(absl::Span<const TransferStep> steps);

  // Steps in any order that `orders` allows. Requires: at least one step,
  // places in range, no cycle; loops in order, and see StepLoop.
  PlanId AddGraph(absl::Span<const TransferStep> steps,
                  absl::Span<const StepOrder> orders,
                  absl::Span<const StepLoop> loops = {});

  size_t size() const { return plans_.size(); }
  bool is_chain(PlanId plan) const { return plans_[plan].is_chain; }
  // Every time of every step.
  int32_t step_count(PlanId plan) const { return plans_[plan].step_count; }
  Step step(PlanId plan, int32_t place) const {
    return listed(plan, StepAt(loops(plan), place).listed);
  }
  // Steps as they are listed. Of one that moves anything no two times are under
  // way at once.
  int32_t listed_count(PlanId plan) const { return plans_[plan].listed_count; }
  Step listed(PlanId plan, int32_t place) const;
  absl::Span<const StepLoop> loops(PlanId plan) const {
    return absl::MakeConstSpan(loops_).subspan(
        static_cast<size_t>(plans_[plan].loops_begin),
        static_cast<size_t>(plans_[plan].loops_count));
  }
  // How often a listed step happens.
  int32_t times(PlanId plan, const Step& step) const {
    return step.loop < 0 ? 1
                         : loops(plan)[static_cast<size_t>(step.loop)].times;
  }

  // The largest resource id in use plus one: how many capacities are needed.
  int32_t resource_bound() const { return resource_bound_; }

  // What a whole plan puts on resources: sum over steps of work * weight.
  std::vector<ResourceUse> TotalLoad(PlanId plan) const;

 private:
  struct StoredStep {
    Duration latency;
    double work;
    double rate_cap;
    double penalty;
    int64_t uses_begin;
    int64_t successors_begin;
    int32_t uses_count;
    int32_t successors_count;
    int32_t predecessors;
    int32_t loop;
  };
  struct Plan {
    int64_t steps_begin;
    int32_t listed_count;
    int32_t step_count;
    int32_t loops_begin;
    int32_t loops_count;
    bool is_chain;
  };

  PlanId Add(absl::Span<const TransferStep> steps,
             absl::Span<const StepOrder> orders,
             absl::Span<const StepLoop> loops, bool is_chain);
  void CheckAcyclic(PlanId plan) const;
  void CheckLoops(PlanId plan) const;

  IdVector<PlanId, Plan> plans_;
  std::vector<StoredStep> steps_;
  std::vector<ResourceUse> uses_;
  std::vector<int32_t> successors_;
  std::vector<StepLoop> loops_;
  int32_t resource_bound_ = 0;
};

// Links that a resource stands for, for people: so many of one class
// (link_tiers.h).
struct ResourceClass {
  std::string name;
  int64_t count = 0;
  bool between_switches = false;
};

// Where a resource is, for people: a chip's link out or in, or one between
// switches.
struct ResourcePlace {
  std::optional<int32_t> chip;  // whose it is
  bool scale_up = false;
  std::string name;  // "NVLink4 out", "NIC in", "tier 1 switch 3 to tier 2 ..."
};

// What of the bytes on a link are a call's own, by network: protocols add
// flags, headers and pauses.
struct PlanEfficiency {
  double scale_up = 1;
  double scale_out = 1;
};

// Everything the engine needs to know about the network for one program.
struct Transfers {
  IdVector<ResourceId, double> capacities;  // units per second, > 0
  TransferPlans plans;
  IdVector<CallId, PlanId> plan_of_call;  // one per call of the program
  // For people; empty where nobody gave names.
  IdVector<ResourceId, std::string> resource_names = {};
  IdVector<ResourceId, std::vector<ResourceClass>> resource_classes = {};
  IdVector<ResourceId, ResourcePlace> resource_places = {};
  IdVector<CallId, std::string> algorithms = {};  // "ring", "tree", ...
  IdVector<PlanId, PlanEfficiency> efficiencies = {};
  // Bytes that chips put on their links, each on the way; of one group, however
  // many a plan stands for.
  IdVector<PlanId, double> sent_by_chips = {};
};

}  // namespace orrery
