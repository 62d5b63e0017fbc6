#include "tests/storm/transfer_laws.h"

#include <cmath>
#include <set>
#include <tuple>
#include <vector>

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

void CheckCallsAlone(const SimulatedRun& run, const Network& network,
                     StormSheet& sheet) {
  constexpr double kAlone = 0.05;
  constexpr size_t kMostCalls = 8;
  CallPlanner fluid(network, {.fidelity = Fidelity::kFluid});
  CallPlanner stepped(network, {.fidelity = Fidelity::kStepped});
  std::set<std::tuple<CommunicationKind, CallShape, int64_t, size_t>> seen;
  for (const Call& call : run.placed.program.calls()) {
    const CollectiveCall one = CallOf(run, call);
    if (one.chips.size() == 1) continue;
    if (!seen.insert({one.kind, one.shape, one.bytes.value(), one.chips.size()})
             .second) {
      continue;
    }
    if (seen.size() > kMostCalls) return;
    const auto time = [&](CallPlanner& planner, std::string& name) {
      const auto planned = planner.Plan(one);
      if (!planned.ok()) return -1.0;
      name = NameOf(planned->algorithm);
      return ToSeconds(RunPlans(network.resources().capacities(),
                                {StartedPlan{planned->plan, Time{}}})[0]);
    };
    std::string name;
    const double a = time(fluid, name);
    const double b = time(stepped, name);
    if (a < 0 || b < 0) continue;
    sheet.Hold("stepped alone, " + name, std::abs(a / b - 1) <= kAlone,
               fmt::format("{} by {} of {} over {} chips: {} fluid, {} "
                           "stepped: {:+.2f} %",
                           NameOf(one.kind), name, BytesText(one.bytes.value()),
                           one.chips.size(), SecondsText(a), SecondsText(b),
                           100 * (a / b - 1)));
  }
}

}  // namespace orrery
