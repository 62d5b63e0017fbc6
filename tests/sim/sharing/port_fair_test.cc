#include "sim/sharing/port_fair.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "sim/sharing/sharing.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

using Kind = CommunicationKind;

// Seconds of transfers that start together, latency apart.
std::vector<double> Transfers(const pb::System& system, Arbitration arbitration,
                              const std::vector<CollectiveCall>& calls,
                              Fidelity fidelity = Fidelity::kStepped) {
  PlannedNetwork network(system,
                         {.fidelity = fidelity, .arbitration = arbitration});
  std::vector<StartedPlan> plans;
  for (const CollectiveCall& call : calls) {
    plans.push_back({network.Plan(call).value().plan, Time{}});
  }
  std::vector<double> times;
  for (Time end : RunPlans(network.resources().capacities(), plans, nullptr,
                           arbitration)) {
    times.push_back(ToSeconds(end) - 2e-6);
  }
  return times;
}

CollectiveCall Send(int from, int to, int64_t megabytes) {
  return {Kind::kPointToPoint,
          Bytes(megabytes * 1'000'000),
          {static_cast<VertexId>(from), static_cast<VertexId>(to)}};
}

// A line 0-1-2-3-4, everyone sends to 4: at 3 the line and 3 itself are a port
// each, and so on down: 1/2, 1/4, 1/8, 1/8 of 50 GB/s. Amounts of 4, 2, 1, 1
// units of 100 MB therefore end together, when 800 MB have passed: 16 ms.
// Max-min gives a quarter each: the units end at 8 ms, and so on.
TEST(PortFair, AParkingLotHalvesAtEverySwitch) {
  const std::vector<CollectiveCall> calls = {Send(0, 4, 100), Send(1, 4, 100),
                                             Send(2, 4, 200), Send(3, 4, 400)};
  for (Fidelity fidelity : {Fidelity::kStepped, Fidelity::kFluid}) {
    EXPECT_THAT(Transfers(FlatSystem(5, "mesh { shape: 5 }"),
                          Arbitration::kPortFair, calls, fidelity),
                ElementsAre(DoubleNear(0.016, 1e-9), DoubleNear(0.016, 1e-9),
                            DoubleNear(0.016, 1e-9), DoubleNear(0.016, 1e-9)));
  }
  EXPECT_THAT(Transfers(FlatSystem(5, "mesh { shape: 5 }"),
                        Arbitration::kFlowFair, calls),
              ElementsAre(DoubleNear(0.008, 1e-9), DoubleNear(0.008, 1e-9),
                          DoubleNear(0.012, 1e-9), DoubleNear(0.016, 1e-9)));
}

// Through one switch every sender is a port of its own: all the same, as in
// max-min.
TEST(PortFair, AnIncastThroughOneSwitchIsFair) {
  const std::vector<CollectiveCall> calls = {Send(0, 4, 100), Send(1, 4, 100),
                                             Send(2, 4, 100), Send(3, 4, 100)};
  const pb::System system = FlatSystem(
      5, "switch { planes: 1 links_per_endpoint: 1 reduces: false }");
  EXPECT_THAT(Transfers(system, Arbitration::kPortFair, calls),
              testing::Each(DoubleNear(0.008, 1e-9)));
}

// What a port does not want goes to the others: chip 0 sends to 1, 2 and 3, a
// third each; the other sender to 3 gets two thirds, not a half. 100 MB at a
// third of 50 GB/s are 6 ms, 200 MB at two thirds as well.
TEST(PortFair, UnwantedPartsGoToOthers) {
  const pb::System system = FlatSystem(
      4, "switch { planes: 1 links_per_endpoint: 1 reduces: false }");
  EXPECT_THAT(Transfers(system, Arbitration::kPortFair,
                        {Send(0, 1, 100), Send(0, 2, 100), Send(0, 3, 100),
                         Send(1, 3, 200)}),
              testing::Each(DoubleNear(0.006, 1e-9)));
}

// Who is held up further down does not hold up others. A and B come to a link
// of 10 by the same port, from links of 20 that they have half each of: 5 each.
// A goes on over a link of 1, and B gets the other 9.
TEST(PortFair, WhatIsHeldUpBelowIsLeftToOthers) {
  // Links: 0 of 20, 1 of 10, 2 of 1 (A only), 3 of 10 (B only).
  const PortFairProblem problem = {.capacities = {20, 10, 1, 10},
                                   .wanted = {10, 10},
                                   .uses_end = {3, 6},
                                   .uses = {{0, -1, 1},
                                            {1, 0, 1},
                                            {2, 1, 1},  // A
                                            {0, -1, 1},
                                            {1, 0, 1},
                                            {3, 1, 1}}};  // B
  EXPECT_THAT(PortFairSolver().Solve(problem),
              ElementsAre(DoubleNear(1, 1e-9), DoubleNear(5, 1e-9)));
  IdVector<ResourceId, double> capacities;
  for (double capacity : {20, 10, 1, 10}) capacities.Add(capacity);
  Sharing sharing(capacities, Arbitration::kPortFair);
  const auto id = [](int r) { return static_cast<ResourceId>(r); };
  const std::vector<ResourceUse> a = {{id(0), 1}, {id(1), 1}, {id(2), 1}};
  const std::vector<ResourceUse> b = {{id(0), 1}, {id(1), 1}, {id(3), 1}};
  const std::vector<PortUse> a_ports = {
      {id(0), kStartsHere, 1}, {id(1), id(0), 1}, {id(2), id(1), 1}};
  const std::vector<PortUse> b_ports = {
      {id(0), kStartsHere, 1}, {id(1), id(0), 1}, {id(3), id(1), 1}};
  // A second A, so that the link of 1 is shared.
  sharing.Start(ActivityId(0), Time{},
                {.amount = 1, .uses = a, .ports = a_ports});
  sharing.Start(ActivityId(1), Time{},
                {.amount = 1, .uses = a, .ports = a_ports});
  sharing.Start(ActivityId(2), Time{},
                {.amount = 1, .uses = b, .ports = b_ports});
  sharing.Resolve(Time{});
  EXPECT_NEAR(sharing.rate(ActivityId(0)), 0.5, 1e-9);
  EXPECT_NEAR(sharing.rate(ActivityId(1)), 0.5, 1e-9);
  EXPECT_NEAR(sharing.rate(ActivityId(2)), 9, 1e-9);
}

// Where everything is symmetric the two ways of sharing agree: an all-to-all,
// all pairs at once, and two rings that cross each other.
TEST(PortFair, AgreesWithFlowFairWhereFlowsAreSymmetric) {
  const pb::System tree =
      FlatSystem(16, "fat_tree { tiers: 2 radix: 8 taper: 1 }");
  const std::vector<CollectiveCall> all_to_all = {
      {Kind::kAllToAll, Bytes(64 << 20), ChipRange(0, 16)}};
  const std::vector<CollectiveCall> rings = {
      {Kind::kAllReduce, Bytes(64 << 20), ChipRange(0, 8, 2)},
      {Kind::kAllReduce, Bytes(64 << 20), ChipRange(1, 8, 2)}};
  for (Fidelity fidelity : {Fidelity::kFluid, Fidelity::kStepped}) {
    for (const auto& calls : {all_to_all, rings}) {
      const auto by_flow =
          Transfers(tree, Arbitration::kFlowFair, calls, fidelity);
      const auto by_port =
          Transfers(tree, Arbitration::kPortFair, calls, fidelity);
      for (size_t i = 0; i < calls.size(); ++i) {
        EXPECT_NEAR(by_port[i], by_flow[i], 1e-9 * by_flow[i]);
      }
    }
  }
}

// Random paths over random links: nothing is oversubscribed, nobody gets more
// than it wants or nothing at all.
TEST(PortFair, NeverOversubscribes) {
  Rng rng(7, "port fair");
  for (int round = 0; round < 300; ++round) {
    PortFairProblem problem;
    const int links = 2 + static_cast<int>(rng.Below(8));
    for (int l = 0; l < links; ++l) {
      problem.capacities.push_back(1 + static_cast<double>(rng.Below(100)));
    }
    const int flows = 1 + static_cast<int>(rng.Below(12));
    for (int f = 0; f < flows; ++f) {
      // A path in any order of links, so that paths go around in circles too.
      std::vector<int32_t> path;
      for (int l = 0; l < links; ++l) {
        if (rng.Below(2) == 0) path.push_back(l);
      }
      if (path.empty()) path.push_back(0);
      for (size_t i = path.size(); i > 1; --i) {
        std::swap(path[i - 1], path[rng.Below(i)]);
      }
      double wanted = 1e9;
      std::vector<PortFairProblem::Use> uses;
      for (size_t i = 0; i < path.size(); ++i) {
        wanted =
            std::min(wanted, problem.capacities[static_cast<size_t>(path[i])]);
        uses.push_back({path[i], i == 0 ? -1 : path[i - 1], 1});
      }
      std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
        return a.resource < b.resource;
      });
      problem.wanted.push_back(wanted);
      problem.uses.insert(problem.uses.end(), uses.begin(), uses.end());
      problem.uses_end.push_back(static_cast<int32_t>(problem.uses.size()));
    }
    PortFairSolver solver;
    const auto rates = solver.Solve(problem);
    std::vector<double> load(problem.capacities.size(), 0);
    int32_t use = 0;
    for (size_t f = 0; f < rates.size(); ++f) {
      EXPECT_GT(rates[f], 0);
      EXPECT_LE(rates[f], problem.wanted[f] * (1 + 1e-12));
      for (; use < problem.uses_end[f]; ++use) {
        load[static_cast<size_t>(
            problem.uses[static_cast<size_t>(use)].resource)] += rates[f];
      }
    }
    for (size_t l = 0; l < load.size(); ++l) {
      EXPECT_LE(load[l], problem.capacities[l] * (1 + 1e-9));
    }
  }
}

}  // namespace
}  // namespace orrery
