#pragma once
// CollectivePlan: a routed collective with its bytes and protocol, as steps of
// a transfer plan at one of three fidelities.
//
//   kClosedForm  one wait as long as the collective takes by itself
//   kFluid       one activity per stage, coupled over all its links
//   kStepped     one flow per message, with the dependencies of the schedule
//
// All three come from the same routed schedule, and agree when nothing else is
// on the links: closed form and fluid exactly, stepped up to latencies of fast
// hops, which messages hide behind slow ones. Stages are phases, with those
// that stream joined to the one before. A pipelined schedule of k segments with
// stages of latency a_i and wire time w_i per segment takes sum (a_i + w_i) +
// (k-1) max_l w_l, the maximum over links of what one segment puts on them in
// all its stages.
//
// On a link that calls share, flows are equals (TransferStep::penalty): a fluid
// step gets as much as its messages would one by one.
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/network/library_costs.h"
#include "sim/network/routed_schedule.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

enum class Fidelity : uint8_t { kClosedForm, kFluid, kStepped };

// Which message of the schedule a step carries; none for a step that only
// waits.
struct StepMessage {
  int32_t message = -1;
  int32_t segment = 0;  // the first, of so many one after the other
  int32_t segments = 1;
  int32_t repeat = 0;
};

struct PlanSteps {
  std::vector<TransferStep> steps;
  // Empty: one after the other.
  std::vector<StepOrder> orders;
  // One per step where every message is one (kStepped), else empty.
  std::vector<StepMessage> messages = {};
  // Where repetitions are alike.
  std::vector<StepLoop> loops = {};

  // Each time counted.
  int32_t StepCount() const {
    return PlaceOf(loops, {static_cast<int32_t>(steps.size()), 0});
  }
  const TransferStep& StepOf(int32_t place) const {
    return steps[static_cast<size_t>(StepAt(loops, place).listed)];
  }
  // Requires: there are messages.
  StepMessage MessageOf(int32_t place) const;
};

PlanId AddPlan(const PlanSteps& plan, TransferPlans& plans);

// The phases of each stage, first and past the last: what one step of a fluid
// plan runs, unless the schedule is pipelined and one step runs all.
std::vector<std::pair<size_t, size_t>> StagesOf(const Schedule& schedule);

class CollectivePlan {
 public:
  // `routed` and `resources` must outlive the plan.
  CollectivePlan(const RoutedSchedule& routed, const ProtocolPair& protocols,
                 Bytes bytes, const NetworkResources& resources)
      : CollectivePlan(routed, routed.loads(), protocols, bytes, resources) {}

  // The same with other loads on the links, those of others included; they
  // must outlive the result.
  CollectivePlan With(const PhaseLoads& loads) const {
    return CollectivePlan(*routed_, loads, protocols_, bytes_, *resources_);
  }

  const RoutedSchedule& routed() const { return *routed_; }
  // Seconds on the wire, all stages together, by itself.
  double WireTime() const;
  // How long every phase of the call keeps each resource busy, in seconds:
  // calls visit(resource, by traffic inside islands, by traffic between them).
  void VisitBusy(
      absl::FunctionRef<void(ResourceId, double, double)> visit) const;
  // What chips put on their links, every chip on the way counted; with what the
  // protocol adds.
  double BytesSentByChips() const;
  // With the machine to itself.
  Duration SoloTime(const CallOverhead& overhead) const;

  // kStepped fails if it would take more than a few million messages.
  absl::StatusOr<PlanSteps> Steps(Fidelity fidelity,
                                  const CallOverhead& overhead) const;
  // Those of kFluid, which always exist.
  PlanSteps FluidSteps(const CallOverhead& overhead) const;

 private:
  CollectivePlan(const RoutedSchedule& routed, const PhaseLoads& loads,
                 const ProtocolPair& protocols, Bytes bytes,
                 const NetworkResources& resources);

  // What flows put on a resource per byte of the call, and how many they are
  // at a time.
  struct FlowLoad {
    double share = 0;
    double flows = 0;
  };
  // Phases [begin, end).
  struct Stage {
    size_t begin;
    size_t end;
    Duration latency{};
    double wire = 0;  // seconds, one segment
  };
  double Weight(const TierShares& shares) const;
  // What a step of a stage is made of: bytes on resources per byte of the call,
  // efficiency included, for one segment. Found when asked for: most plans are
  // compared by their times and never run.
  std::vector<ResourceUse> UsesOf(const Stage& stage) const;
  // Share of the call's bytes that one flow on the busiest resource carries: in
  // the mean, and of resources that are equally busy the largest.
  // `uses` are those of `stages`.
  double ShareOfAFlow(absl::Span<const ResourceUse> uses,
                      absl::Span<const Stage> stages) const;
  double WireOf(absl::Span<const ResourceUse> uses) const;
  double WireOf(const Stage& stage) const;
  double work() const { return static_cast<double>(bytes_.value()); }

  const RoutedSchedule* routed_;
  const PhaseLoads* loads_;
  ProtocolPair protocols_;
  Bytes bytes_;
  const NetworkResources* resources_;
  std::vector<Stage> stages_;
  // If there are more segments than one: of all stages of a segment.
  std::vector<ResourceUse> segment_uses_;
  double segment_wire_ = 0;
};

}  // namespace orrery
