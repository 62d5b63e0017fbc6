#include "sim/network/collective_plan.h"

#include <algorithm>
#include <utility>

#include "sim/network/stepped_plan.h"

namespace orrery {
namespace {

ResourceId KeyOf(const ResourceUse& use) { return use.resource; }
std::pair<ResourceId, ResourceId> KeyOf(const PortUse& use) {
  return {use.resource, use.port};
}

// Adds two lists of uses, both in the order of their keys.
template <class Use>
std::vector<Use> Sum(const std::vector<Use>& a, const std::vector<Use>& b) {
  if (a.empty()) return b;
  std::vector<Use> sum;
  sum.reserve(a.size() + b.size());
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && KeyOf(a[i]) < KeyOf(b[j]))) {
      sum.push_back(a[i++]);
    } else if (i == a.size() || KeyOf(b[j]) < KeyOf(a[i])) {
      sum.push_back(b[j++]);
    } else {
      sum.push_back(a[i++]);
      sum.back().weight += b[j++].weight;
    }
  }
  return sum;
}

template <class Use>
std::vector<Use> Scaled(std::vector<Use> uses, double factor) {
  for (Use& use : uses) use.weight *= factor;
  return uses;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> StagesOf(const Schedule& schedule) {
  std::vector<std::pair<size_t, size_t>> stages;
  for (size_t phase = 0; phase < schedule.phases.size(); ++phase) {
    if (!schedule.phases[phase].streams) stages.emplace_back(phase, phase);
    stages.back().second = phase + 1;
  }
  return stages;
}

CollectivePlan::CollectivePlan(const RoutedSchedule& routed,
                               const ProtocolPair& protocols, Bytes bytes,
                               const NetworkResources& resources)
    : routed_(routed),
      protocols_(protocols),
      bytes_(static_cast<double>(bytes.value())),
      resources_(resources) {
  const Schedule& schedule = routed.schedule();
  for (const auto& [begin, end] : StagesOf(schedule)) {
    Stage& stage = stages_.emplace_back();
    for (size_t phase = begin; phase < end; ++phase) {
      const auto weight = [&](const auto& load) {
        double sum = 0;
        if (load.scale_up > 0) {
          sum += load.scale_up / protocols.of(Tier::kScaleUp).efficiency;
        }
        if (load.scale_out > 0) {
          sum += load.scale_out / protocols.of(Tier::kScaleOut).efficiency;
        }
        return sum;
      };
      std::vector<ResourceUse> uses;
      for (const RoutedSchedule::Load& load : routed.loads(phase)) {
        uses.push_back({load.resource, weight(load)});
      }
      std::vector<PortUse> ports;
      for (const RoutedSchedule::PortLoad& load : routed.port_loads(phase)) {
        ports.push_back({load.resource, load.port, weight(load)});
      }
      stage.latency += routed.Latency(phase, protocols);
      stage.uses = Sum(stage.uses, uses);
      stage.ports = Sum(stage.ports, ports);
    }
  }
  for (Stage& stage : stages_) {
    stage.wire = WireOf(stage.uses);
    segment_uses_ = Sum(segment_uses_, stage.uses);
    segment_ports_ = Sum(segment_ports_, stage.ports);
  }
  segment_wire_ = WireOf(segment_uses_);
}

double CollectivePlan::WireOf(absl::Span<const ResourceUse> uses) const {
  double longest = 0;
  for (const ResourceUse& use : uses) {
    longest = std::max(
        longest, use.weight * bytes_ / resources_.capacities()[use.resource]);
  }
  return longest;
}

double CollectivePlan::WireTime() const {
  double wire = segment_wire_ * (routed_.schedule().segments - 1);
  for (const Stage& stage : stages_) wire += stage.wire;
  return wire;
}

Duration CollectivePlan::SoloTime(const CallOverhead& overhead) const {
  Duration latency = overhead.base + overhead.alongside;
  for (const Stage& stage : stages_) latency += stage.latency;
  return latency + FromSeconds(WireTime());
}

PlanSteps CollectivePlan::FluidSteps(const CallOverhead& overhead) const {
  const int32_t segments = routed_.schedule().segments;
  PlanSteps plan;
  if (segments > 1) {
    TransferStep all = {.latency = overhead.base + overhead.alongside,
                        .work = bytes_,
                        .uses = Scaled(segment_uses_, segments - 1),
                        .ports = Scaled(segment_ports_, segments - 1)};
    for (const Stage& stage : stages_) {
      all.latency += stage.latency + FromSeconds(stage.wire);
    }
    plan.steps.push_back(std::move(all));
  } else {
    const double wire = WireTime();
    for (const Stage& stage : stages_) {
      const double part = wire > 0 ? stage.wire / wire : 0;
      plan.steps.push_back(
          {.latency = stage.latency +
                      FromSeconds(ToSeconds(overhead.alongside) * part),
           .work = bytes_,
           .uses = stage.uses,
           .ports = stage.ports});
    }
    plan.steps[0].latency += overhead.base;
    if (wire <= 0) plan.steps[0].latency += overhead.alongside;
  }
  for (TransferStep& step : plan.steps) {
    if (step.work > 0) continue;
    step.uses.clear();
    step.ports.clear();
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
  return SteppedPlan(routed_, protocols_, bytes_,
                     overhead.base + overhead.alongside);
}

}  // namespace orrery
