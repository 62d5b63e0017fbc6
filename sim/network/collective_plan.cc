#include "sim/network/collective_plan.h"

#include <algorithm>
#include <utility>

#include "sim/network/stepped_plan.h"
#include "sim/sharing/keyed_sum.h"

namespace orrery {
namespace {

std::vector<ResourceUse> Scaled(std::vector<ResourceUse> uses, double factor) {
  for (ResourceUse& use : uses) use.weight *= factor;
  return uses;
}

// Whether both weigh the same.
bool Alike(const TierShares& a, const TierShares& b) {
  return a.scale_up == b.scale_up && a.scale_out == b.scale_out;
}

}  // namespace

StepMessage PlanSteps::MessageOf(int32_t place) const {
  const StepTime step = StepAt(loops, place);
  StepMessage message = messages[static_cast<size_t>(step.listed)];
  message.repeat += step.time;
  return message;
}

PlanId AddPlan(const PlanSteps& plan, TransferPlans& plans) {
  return plan.orders.empty()
             ? plans.AddChain(plan.steps)
             : plans.AddGraph(plan.steps, plan.orders, plan.loops);
}

std::vector<std::pair<size_t, size_t>> StagesOf(const Schedule& schedule) {
  std::vector<std::pair<size_t, size_t>> stages;
  for (size_t phase = 0; phase < schedule.phases.size(); ++phase) {
    if (!schedule.phases[phase].streams) stages.emplace_back(phase, phase);
    stages.back().second = phase + 1;
  }
  return stages;
}

CollectivePlan::CollectivePlan(const RoutedSchedule& routed,
                               const PhaseLoads& loads,
                               const ProtocolPair& protocols, Bytes bytes,
                               const NetworkResources& resources)
    : routed_(&routed),
      loads_(&loads),
      protocols_(protocols),
      bytes_(bytes),
      resources_(&resources) {
  const Schedule& schedule = routed.schedule();
  const std::vector<Duration> latencies = routed.Latencies(protocols);
  for (const auto& [begin, end] : StagesOf(schedule)) {
    Stage& stage = stages_.emplace_back(Stage{begin, end});
    for (size_t phase = begin; phase < end; ++phase) {
      stage.latency = AddTimes(stage.latency, latencies[phase]);
    }
    stage.wire = WireOf(stage);
  }
  if (schedule.segments > 1) {
    segment_uses_ = UsesOf(stages_.front());
    for (size_t i = 1; i < stages_.size(); ++i) {
      segment_uses_ = Sum(segment_uses_, UsesOf(stages_[i]));
    }
    segment_wire_ = WireOf(segment_uses_);
  }
}

double CollectivePlan::Weight(const TierShares& shares) const {
  double sum = 0;
  if (shares.scale_up > 0) {
    sum += shares.scale_up / protocols_.Efficiency(Tier::kScaleUp);
  }
  if (shares.scale_out > 0) {
    sum += shares.scale_out / protocols_.Efficiency(Tier::kScaleOut);
  }
  return sum;
}

std::vector<ResourceUse> CollectivePlan::UsesOf(const Stage& stage) const {
  std::vector<ResourceUse> sum;
  for (size_t phase = stage.begin; phase < stage.end; ++phase) {
    std::vector<ResourceUse> uses;
    uses.reserve(loads_->loads(phase).size());
    TierShares shares;
    double weight = Weight(shares);
    for (const ResourceLoad& load : loads_->loads(phase)) {
      if (!Alike(load.shares, shares)) {
        shares = load.shares;
        weight = Weight(shares);
      }
      uses.push_back({load.resource, weight});
    }
    sum = phase == stage.begin ? std::move(uses) : Sum(sum, uses);
  }
  return sum;
}

double CollectivePlan::WireOf(const Stage& stage) const {
  if (stage.end - stage.begin > 1) return WireOf(UsesOf(stage));
  // Of a spray most links are like the one before them.
  double longest = 0;
  double before = 0;  // its capacity
  TierShares shares;
  for (const ResourceLoad& load : loads_->loads(stage.begin)) {
    const double capacity = resources_->capacities()[load.resource];
    if (capacity == before && Alike(load.shares, shares)) continue;
    before = capacity;
    shares = load.shares;
    longest = std::max(longest, Weight(shares) * work() / capacity);
  }
  return longest;
}

double CollectivePlan::WireOf(absl::Span<const ResourceUse> uses) const {
  double longest = 0;
  for (const ResourceUse& use : uses) {
    longest = std::max(
        longest, use.weight * work() / resources_->capacities()[use.resource]);
  }
  return longest;
}

double CollectivePlan::ShareOfAFlow(absl::Span<const ResourceUse> uses,
                                    absl::Span<const Stage> stages) const {
  // Where in each phase: uses and loads are in the order of resources.
  std::vector<size_t> at(stages.back().end, 0);
  const auto flow_on = [&](ResourceId resource) {
    FlowLoad all;
    for (const Stage& stage : stages) {
      FlowLoad one;
      for (size_t phase = stage.begin; phase < stage.end; ++phase) {
        const absl::Span<const ResourceLoad> loads = loads_->loads(phase);
        size_t& i = at[phase];
        while (i < loads.size() && loads[i].resource < resource) ++i;
        if (i == loads.size() || loads[i].resource != resource) continue;
        one.share += loads[i].shares.scale_up + loads[i].shares.scale_out;
        one.flows += loads[i].shares.flows;
      }
      all.share += one.share;
      all.flows += one.flows;
    }
    return all;
  };
  constexpr double kEquallyBusy = 1 - 1e-9;
  double busiest = 0;
  double share = 1;
  for (const ResourceUse& use : uses) {
    const double busy = use.weight / resources_->capacities()[use.resource];
    if (busy < busiest * kEquallyBusy) continue;
    const FlowLoad flow = flow_on(use.resource);
    const double mean = flow.share / flow.flows;
    share = busy * kEquallyBusy > busiest ? mean : std::max(share, mean);
    busiest = std::max(busiest, busy);
  }
  return share;
}

double CollectivePlan::WireTime() const {
  double wire = segment_wire_ * (routed_->schedule().segments - 1);
  for (const Stage& stage : stages_) wire += stage.wire;
  return wire;
}

void CollectivePlan::VisitBusy(
    absl::FunctionRef<void(ResourceId, double, double)> visit) const {
  const double bytes = work() * routed_->schedule().segments;
  for (size_t phase = 0; phase < routed_->schedule().phases.size(); ++phase) {
    for (const ResourceLoad& load : loads_->loads(phase)) {
      const TierShares& shares = load.shares;
      const double each = bytes / resources_->capacities()[load.resource];
      visit(load.resource, Weight({.scale_up = shares.scale_up}) * each,
            Weight({.scale_out = shares.scale_out}) * each);
    }
  }
}

double CollectivePlan::BytesSentByChips() const {
  double sum = 0;
  for (size_t phase = 0; phase < routed_->schedule().phases.size(); ++phase) {
    for (const ResourceLoad& load : loads_->loads(phase)) {
      if (resources_->from_chip(load.resource)) sum += Weight(load.shares);
    }
  }
  return sum * work() * routed_->schedule().segments;
}

Duration CollectivePlan::SoloTime(const CallOverhead& overhead) const {
  Duration latency = AddTimes(overhead.base, overhead.alongside);
  for (const Stage& stage : stages_) latency = AddTimes(latency, stage.latency);
  return AddTimes(latency, FromSeconds(WireTime()));
}

PlanSteps CollectivePlan::FluidSteps(const CallOverhead& overhead) const {
  const int32_t segments = routed_->schedule().segments;
  PlanSteps plan;
  if (segments > 1) {
    TransferStep all = {
        .latency = AddTimes(overhead.base, overhead.alongside),
        .work = work(),
        .penalty = ShareOfAFlow(segment_uses_, stages_) * (segments - 1),
        .uses = Scaled(segment_uses_, segments - 1)};
    for (const Stage& stage : stages_) {
      all.latency = AddTimes(all.latency, stage.latency);
      all.latency = AddTimes(all.latency, FromSeconds(stage.wire));
    }
    plan.steps.push_back(std::move(all));
  } else {
    const double wire = WireTime();
    for (const Stage& stage : stages_) {
      const double part = wire > 0 ? stage.wire / wire : 0;
      std::vector<ResourceUse> uses = UsesOf(stage);
      const double penalty = ShareOfAFlow(uses, {&stage, 1});
      plan.steps.push_back(
          {.latency =
               AddTimes(stage.latency,
                        FromSeconds(ToSeconds(overhead.alongside) * part)),
           .work = work(),
           .penalty = penalty,
           .uses = std::move(uses)});
    }
    Duration& first = plan.steps[0].latency;
    first = AddTimes(first, overhead.base);
    if (wire <= 0) first = AddTimes(first, overhead.alongside);
  }
  for (TransferStep& step : plan.steps) {
    if (step.work <= 0) step.uses.clear();
  }
  return plan;
}

absl::StatusOr<PlanSteps> CollectivePlan::Steps(
    Fidelity fidelity, const CallOverhead& overhead) const {
  switch (fidelity) {
    case Fidelity::kClosedForm:
      return PlanSteps{{{.latency = SoloTime(overhead)}}, {}};
    case Fidelity::kFluid:
      return FluidSteps(overhead);
    case Fidelity::kStepped:
      break;
  }
  return SteppedPlan(*routed_, protocols_, work(),
                     AddTimes(overhead.base, overhead.alongside));
}

}  // namespace orrery
