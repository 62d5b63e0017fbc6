// One split for groups that meet. Three nodes of four chips, each on a router
// of its own, and one cable from every router to both others: what goes from
// one node to another has one direct cable and one detour, by way of the third.
#include "sim/network/adaptive_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

constexpr double kStep = 14e-6;
// Rates are exact but for rounding to picoseconds.
constexpr double kRounding = 1e-9;

pb::System Triangle(const char* routing) {
  pb::System system = IslandSystem(3, 4);
  *system.mutable_scale_out()->mutable_fabric() =
      With(system.scale_out().fabric(),
           std::string("dragonfly { hosts_per_router: 4 routers_per_group: 1 "
                       "globals_per_router: 2 } routing: ") +
               routing);
  return system;
}

// Seconds until the last of the groups is done, which all call at once.
double Together(const char* routing, CollectiveCall call,
                const std::vector<std::vector<VertexId>>& groups,
                PlannerOptions options = {}) {
  const Network network = MakeNetwork(Triangle(routing));
  CallPlanner planner(network, std::move(options));
  if (planner.WeighsPeers()) call.peers = planner.PeersOf(groups);
  std::vector<StartedPlan> plans;
  for (const std::vector<VertexId>& chips : groups) {
    call.chips = chips;
    absl::StatusOr<PlannedCall> planned = planner.Plan(call);
    CHECK(planned.ok()) << planned.status().ToString();
    plans.push_back({std::move(planned->plan), Time{}});
  }
  double last = 0;
  for (Time end : RunPlans(network.resources().capacities(), plans)) {
    last = std::max(last, ToSeconds(end));
  }
  return last;
}

// Every chip of node 0 sends 48.5 MB, a millisecond of a NIC, to its like on
// node 1. Sprayed, or all by the third node, four share a cable: 4 ms. Half of
// each on either way, two do: 2 ms.
TEST(AdaptiveChoice, SendsThatMeetTakeBothWays) {
  const CollectiveCall send = {
      .kind = Kind::kPointToPoint, .bytes = Bytes(48'500'000), .chips = {}};
  std::vector<std::vector<VertexId>> pairs;
  for (int i = 0; i < 4; ++i) pairs.push_back(ChipRange(i, 2, 4));
  EXPECT_NEAR(Together("SPRAY", send, pairs), 4e-3 + kStep, kRounding);
  EXPECT_NEAR(Together("VALIANT", send, pairs), 4e-3 + kStep, kRounding);
  EXPECT_NEAR(Together("ADAPTIVE", send, pairs), 2e-3 + kStep, kRounding);
}

// A send that meets nobody has its NIC to itself on either way: 1 ms.
TEST(AdaptiveChoice, ASendByItselfIsSprayed) {
  const CollectiveCall send = {
      .kind = Kind::kPointToPoint, .bytes = Bytes(48'500'000), .chips = {}};
  for (const char* routing : {"SPRAY", "VALIANT", "ADAPTIVE"}) {
    EXPECT_NEAR(Together(routing, send, {ChipRange(0, 2, 4)}), 1e-3 + kStep,
                kRounding)
        << routing;
  }
}

// Four rings around the nodes, 72.75 MB gathered: a chip sends two thirds, 1
// ms. Sprayed, four share each cable that goes forward, and those back are
// idle: 4 ms. A detour takes two cables back: 8 ms. Sharing x and 1 - x, the
// two are equally busy where 4 x = 8 (1 - x): x = 2/3, and 8/3 ms.
TEST(AdaptiveChoice, RingsThatMeetTakeBothWays) {
  const CollectiveCall gather = {
      .kind = Kind::kAllGather, .bytes = Bytes(72'750'000), .chips = {}};
  std::vector<std::vector<VertexId>> rings;
  for (int i = 0; i < 4; ++i) rings.push_back(ChipRange(i, 3, 4));
  const PlannerOptions ring = {.algorithm = CollectiveAlgorithm::kRing};
  const auto time = [&](const char* routing) {
    return Together(routing, gather, rings, ring);
  };
  EXPECT_NEAR(time("SPRAY"), 4e-3 + 2 * kStep, kRounding);
  EXPECT_NEAR(time("VALIANT"), 8e-3 + 2 * kStep, kRounding);
  EXPECT_NEAR(time("ADAPTIVE"), 8e-3 / 3 + 2 * kStep, kRounding);
}

// All of a node to all of the next one and back around: whatever the call, it
// is no slower than under the better of the fixed rules.
TEST(AdaptiveChoice, LosesToNeitherRule) {
  std::vector<std::vector<VertexId>> across;
  for (int i = 0; i < 4; ++i) across.push_back(ChipRange(i, 3, 4));
  const std::vector<std::vector<VertexId>> halves = {
      {VertexId{0}, VertexId{1}, VertexId{4}, VertexId{5}},
      {VertexId{2}, VertexId{3}, VertexId{6}, VertexId{7}},
      {VertexId{8}, VertexId{9}}};
  for (const auto& groups : {across, halves}) {
    for (const Kind kind : {Kind::kAllReduce, Kind::kAllGather,
                            Kind::kReduceScatter, Kind::kAllToAll}) {
      for (const int64_t bytes : {int64_t{1} << 10, int64_t{1} << 26}) {
        const auto time = [&](const char* routing) {
          return Together(routing,
                          {.kind = kind, .bytes = Bytes(bytes), .chips = {}},
                          groups);
        };
        EXPECT_LE(time("ADAPTIVE"),
                  std::min(time("SPRAY"), time("VALIANT")) * (1 + kRounding))
            << NameOf(kind) << " of " << bytes;
      }
    }
  }
}

// In which order peers are named, and what was planned before, is no matter.
TEST(AdaptiveChoice, DependsOnTheSetOfPeersAlone) {
  const Network network = MakeNetwork(Triangle("ADAPTIVE"));
  std::vector<std::vector<VertexId>> pairs;
  for (int i = 0; i < 4; ++i) pairs.push_back(ChipRange(i, 2, 4));
  CollectiveCall send = {.kind = Kind::kPointToPoint,
                         .bytes = Bytes(48'500'000),
                         .chips = pairs[0]};
  CallPlanner one(network);
  send.peers = one.PeersOf(pairs);
  ASSERT_OK_AND_ASSIGN(const PlannedCall first, one.Plan(send));
  std::reverse(pairs.begin(), pairs.end());
  pairs.push_back(pairs[0]);
  EXPECT_EQ(one.PeersOf(pairs), send.peers);
  CallPlanner other(network);
  CollectiveCall alone = send;
  alone.peers = nullptr;
  ASSERT_OK(other.Plan(alone));
  send.peers = other.PeersOf(pairs);
  ASSERT_OK_AND_ASSIGN(const PlannedCall second, other.Plan(send));
  ASSERT_EQ(first.plan.steps.size(), second.plan.steps.size());
  for (size_t i = 0; i < first.plan.steps.size(); ++i) {
    EXPECT_EQ(first.plan.steps[i].uses, second.plan.steps[i].uses);
    EXPECT_EQ(first.plan.steps[i].latency, second.plan.steps[i].latency);
  }
}

// At fidelity CLOSED_FORM calls do not meet.
TEST(AdaptiveChoice, ClosedFormsKnowThemselvesAlone) {
  const Network network = MakeNetwork(Triangle("ADAPTIVE"));
  EXPECT_FALSE(
      CallPlanner(network, {.fidelity = Fidelity::kClosedForm}).WeighsPeers());
  EXPECT_TRUE(CallPlanner(network).WeighsPeers());
  const Network sprayed = MakeNetwork(Triangle("SPRAY"));
  EXPECT_FALSE(CallPlanner(sprayed).WeighsPeers());
}

}  // namespace
}  // namespace orrery
