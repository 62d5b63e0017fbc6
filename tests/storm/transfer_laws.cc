#include "tests/storm/transfer_laws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analytic/collective/collective_bounds.h"
#include "base/format.h"
#include "base/units_text.h"
#include "sim/network/call_planner.h"
#include "sim/network/run_plans.h"

namespace orrery {
namespace {

CollectiveCall CallOf(const SimulatedRun& run, const Call& call) {
  CollectiveCall result{.kind = call.what.kind,
                        .bytes = call.what.bytes,
                        .chips = {},
                        .shape = call.what.shape};
  for (const int chip : run.placed.groups[call.group].members) {
    result.chips.push_back(static_cast<VertexId>(chip));
  }
  if (run.placed.traffic) result.traffic = &*run.placed.traffic;
  return result;
}

// The slowest first message of every phase over the fastest, all phases
// together. Rings, whose messages repeat, are no part of it.
double UnevenLatencies(const PlannedCall& stepped) {
  const Schedule& schedule = stepped.routed->schedule();
  std::map<int32_t, Duration> latencies;  // by message
  for (size_t i = 0; i < stepped.plan.messages.size(); ++i) {
    const StepMessage& what = stepped.plan.messages[i];
    if (what.message < 0 || what.segment > 0 || what.repeat > 0) continue;
    // Of a pipeline the latency is a step of its own.
    const size_t waits = schedule.segments > 1 ? i - 1 : i;
    latencies[what.message] = stepped.plan.steps[waits].latency;
  }
  double uneven = 0;
  for (const Phase& phase : schedule.phases) {
    Duration slowest{};
    Duration fastest = Duration::max();
    for (const Round& round : schedule.rounds_of(phase)) {
      if (round.repeat > 1) continue;
      for (int32_t m = round.messages_begin; m < round.messages_end; ++m) {
        slowest = std::max(slowest, latencies[m]);
        fastest = std::min(fastest, latencies[m]);
      }
    }
    if (fastest < slowest) uneven += ToSeconds(slowest - fastest);
  }
  return uneven;
}

// What a call takes where, as shares of its time message by message.
StormFacts FactsOf(const PlannedCall& fluid, const PlannedCall& stepped,
                   const Network& network, double time) {
  const auto& capacities = network.resources().capacities();
  double latency = 0;
  double wire = 0;
  double neighbours = 0;
  double before = 0;
  IdVector<ResourceId, double> all(capacities.size(), 0);
  for (const TransferStep& step : fluid.plan.steps) {
    latency += ToSeconds(step.latency);
    double longest = 0;
    for (const ResourceUse& use : step.uses) {
      const double busy = use.weight * step.work / capacities[use.resource];
      longest = std::max(longest, busy);
      all[use.resource] += busy;
    }
    wire += longest;
    neighbours += std::min(before, longest);
    before = longest;
  }
  double busiest = 0;
  for (const double busy : all) busiest = std::max(busiest, busy);
  const Schedule& schedule = fluid.routed->schedule();
  int32_t ring_hops = 0;
  for (const Round& round : schedule.rounds) {
    ring_hops = std::max(ring_hops, round.repeat);
  }
  return {{"latency", latency / time},
          {"wire", wire / time},
          {"barriers", (wire - busiest) / time},
          {"neighbours", neighbours / time},
          {"uneven", UnevenLatencies(stepped) / time},
          {"ring hops", ring_hops}};
}

}  // namespace

std::optional<std::string> WhyNotConserved(const SimulatedRun& run) {
  const Program& program = run.placed.program;
  IdVector<CallId, std::vector<ResourceUse>> loads;
  IdVector<CallId, int32_t> steps;
  for (const CallId id : program.calls().ids()) {
    const PlanId plan = run.transfers.plan_of_call[id];
    loads.Add(run.transfers.plans.TotalLoad(plan));
    steps.Add(run.transfers.plans.step_count(plan));
  }
  IdVector<ResourceId, double> expected(run.result.carried.size(), 0);
  IdVector<ResourceId, double> flows(run.result.carried.size(), 0);
  std::set<GroupId> counted;
  for (const RankId rank : program.ranks().ids()) {
    const Role& role = program.role_of(rank);
    for (const SlotId slot : role.slots().ids()) {
      if (!counted.insert(program.group_of(rank, slot)).second) continue;
      for (const TaskId task : role.slots()[slot].sequence) {
        const PlaceId place = role.place_of(task);
        const CallId call = program.call_of(rank, role.at(place));
        for (const ResourceUse& use : loads[call]) {
          expected[use.resource] += use.weight * role.times(place);
          flows[use.resource] += steps[call] * role.times(place);
        }
      }
    }
  }
  // Sums of doubles in another order; and each flow ends at the nearest
  // picosecond.
  constexpr double kRounding = 1e-6;
  constexpr double kPicosecond = 1e-12;
  for (const ResourceId id : expected.ids()) {
    const double carried = run.result.carried[id];
    if (std::abs(carried - expected[id]) <=
        kRounding * expected[id] +
            kPicosecond * flows[id] * run.transfers.capacities[id]) {
      continue;
    }
    return fmt::format("{} carried {} bytes, its calls {}",
                       run.transfers.resource_names[id], carried, expected[id]);
  }
  return std::nullopt;
}

void CheckFidelities(const CollectiveCall& call, const Network& network,
                     std::optional<CollectiveAlgorithm> algorithm,
                     StormSheet& sheet) {
  constexpr double kAlone = 0.05;
  constexpr double kRounding = 1e-9;
  CallPlanner fluid_planner(
      network, {.fidelity = Fidelity::kFluid, .algorithm = algorithm});
  CallPlanner stepped_planner(
      network, {.fidelity = Fidelity::kStepped, .algorithm = algorithm});
  const auto fluid = fluid_planner.Plan(call);
  const auto stepped = stepped_planner.Plan(call);
  if (!fluid.ok() || !stepped.ok()) return;
  const auto time = [&](const PlannedCall& planned) {
    return ToSeconds(RunPlans(network.resources().capacities(),
                              {StartedPlan{planned.plan, Time{}}})[0]);
  };
  const double a = time(*fluid);
  const double b = time(*stepped);
  const std::string_view name = NameOf(fluid->algorithm);
  const std::string what = fmt::format(
      "{} by {} of {} over {} chips: {} fluid, {} stepped: {:+.2f} %",
      NameOf(call.kind), name, BytesText(call.bytes.value()), call.chips.size(),
      SecondsText(a), SecondsText(b), 100 * (a / b - 1));
  const double bound =
      CollectiveLowerBound(call.kind, call.bytes, network.graph(), call.chips,
                           ReducesInNetwork(fluid->algorithm))
          .count();
  if (call.traffic == nullptr && call.shape == CallShape::kEven) {
    sheet.Hold("no faster than the bound",
               std::min(a, b) >= bound * (1 - kRounding),
               fmt::format("{}, bound {}", what, SecondsText(bound)));
  }
  sheet.HoldNear(fmt::format("stepped alone, {}", name), a / b - 1, kAlone,
                 what, FactsOf(*fluid, *stepped, network, b));
}

void CheckCallsAlone(const SimulatedRun& run, const Network& network,
                     StormSheet& sheet) {
  constexpr size_t kMostCalls = 8;
  std::set<std::tuple<CommunicationKind, CallShape, int64_t, size_t>> seen;
  for (const Call& call : run.placed.program.calls()) {
    const CollectiveCall one = CallOf(run, call);
    if (one.chips.size() == 1) continue;
    if (!seen.insert({one.kind, one.shape, one.bytes.value(), one.chips.size()})
             .second) {
      continue;
    }
    if (seen.size() > kMostCalls) return;
    CheckFidelities(one, network, std::nullopt, sheet);
  }
}

}  // namespace orrery
