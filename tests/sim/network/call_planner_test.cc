// Planners of one network: what they share, and the shapes of calls.
#include "sim/network/call_planner.h"

#include <thread>

#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;

std::vector<Duration> SoloTimes(CallPlanner& planner) {
  std::vector<Duration> times;
  for (Kind kind : {Kind::kAllReduce, Kind::kAllGather, Kind::kAllToAll}) {
    for (int64_t bytes :
         {int64_t{1} << 10, int64_t{1} << 20, int64_t{1} << 28}) {
      for (int chips : {8, 16, 32}) {
        times.push_back(
            planner.Plan({kind, Bytes(bytes), ChipRange(0, chips)})->solo);
      }
    }
  }
  return times;
}

TEST(CallPlanner, ANetworkServesManyThreads) {
  const Network network = MakeNetwork(IslandSystem(4, 8));
  CallPlanner alone(network);
  const std::vector<Duration> expected = SoloTimes(alone);
  constexpr size_t kThreads = 4;
  std::vector<std::vector<Duration>> found(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      CallPlanner planner(network);
      found[t] = SoloTimes(planner);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Duration>& times : found) EXPECT_EQ(times, expected);
}

// What a planner has kept changes nothing: the second time is as the first.
TEST(CallPlanner, PlansDependOnTheCallAlone) {
  const Network network = MakeNetwork(IslandSystem(4, 8));
  CallPlanner planner(network);
  const std::vector<Duration> first = SoloTimes(planner);
  EXPECT_EQ(SoloTimes(planner), first);
}

// 20 MB at 50 GB/s are 400 us, after a step of 2 us. Two that send to each
// other use both directions: a transfer the other way then has half a link.
//   ring of two alone       2 us + 400 us
//   with 1 -> 0 beside it   2 us + 800 us, both
//   0 -> 1 and 1 -> 0       2 us + 400 us, both
TEST(CallPlanner, TwoAroundTheRingSendToEachOther) {
  PlannedNetwork network(FlatSystem(4, kSwitch));
  const CollectiveCall there = {Kind::kPointToPoint, Bytes(20'000'000),
                                ChipRange(0, 2)};
  CollectiveCall ring = there;
  ring.shape = CallShape::kAroundTheRing;
  CollectiveCall back = there;
  std::swap(back.chips[0], back.chips[1]);
  EXPECT_NEAR(TimeAlone(network, ring), 402e-6, 1e-12);
  const std::vector<double> apart = TimesTogether(network, {there, back});
  EXPECT_NEAR(apart[0], 402e-6, 1e-12);
  EXPECT_NEAR(apart[1], 402e-6, 1e-12);
  const std::vector<double> shared = TimesTogether(network, {ring, back});
  EXPECT_NEAR(shared[0], 802e-6, 1e-12);
  EXPECT_NEAR(shared[1], 802e-6, 1e-12);
}

// Four ranks, 64 MB each, three quarters of all tokens to rank 0 and the rest
// to rank 1, every copy by itself. To rank 0 come 3 x 48 MB = 144 MB, at 50
// GB/s 2.88 ms, after a step of 2 us; on the way back it sends as much.
TEST(CallPlanner, TokensGoWhereTrafficSays) {
  PlannedNetwork network(FlatSystem(4, kSwitch));
  const ExpertTraffic traffic = {
      .experts = 4, .experts_per_token = 1, .share = {0.75, 0.25, 0, 0}};
  CollectiveCall call = {.kind = Kind::kAllToAll,
                         .bytes = Bytes(64'000'000),
                         .chips = ChipRange(0, 4),
                         .shape = CallShape::kTokensToExperts,
                         .traffic = &traffic};
  EXPECT_NEAR(TimeAlone(network, call), 2.882e-3, 1e-12);
  call.shape = CallShape::kTokensFromExperts;
  EXPECT_NEAR(TimeAlone(network, call), 2.882e-3, 1e-12);
  call.shape = CallShape::kEven;
  call.traffic = nullptr;
  EXPECT_LT(TimeAlone(network, call), 1.1e-3);
}

// What tokens go by is no matter to a call that moves none: it has the protocol
// that it has without.
TEST(CallPlanner, TrafficOfExpertsLeavesOtherCallsAlone) {
  pb::System system = IslandSystem(2, 2);
  pb::CollectiveCalibration::Protocol& of_experts =
      *system.mutable_collectives()->add_protocol();
  of_experts = system.collectives().protocol(1);
  of_experts.set_name("experts");
  of_experts.set_step_latency("99 us");
  of_experts.set_use(pb::CollectiveCalibration::EXPERTS);
  PlannedNetwork network(system);
  const ExpertTraffic traffic = {.experts = 4,
                                 .experts_per_token = 1,
                                 .share = {0.75, 0.25, 0, 0},
                                 .by_island = true};
  CollectiveCall call = {Kind::kAllReduce, Bytes(4), ChipRange(0, 4)};
  EXPECT_EQ(network.Plan(call)->protocol, "plain");
  call.traffic = &traffic;
  EXPECT_EQ(network.Plan(call)->protocol, "plain");
}

// Switches reduce where the fabric says so, and join the whole group.
TEST(CallPlanner, SwitchesReduceOnlyWhereTheyJoinTheGroup) {
  const CollectiveCall inside = {Kind::kAllReduce, Bytes(1 << 28),
                                 ChipRange(0, 8)};
  const CollectiveCall across = {Kind::kAllReduce, Bytes(1 << 28),
                                 ChipRange(0, 16)};
  PlannedNetwork network(IslandSystem(2, 8));
  EXPECT_TRUE(ReducesInNetwork(network.Plan(inside)->algorithm));
  EXPECT_EQ(network.Plan(across)->algorithm, CollectiveAlgorithm::kSwitchTree);
  CollectiveCall uneven = across;
  uneven.chips.pop_back();
  EXPECT_FALSE(ReducesInNetwork(network.Plan(uneven)->algorithm));
}

// Two islands of 4, 256 MiB: 1.25 m at 370 GB/s inside take 907 us, m/4 at 48.5
// GB/s between 1384 us, in pieces at the same time; four trips to or from
// switches and two over the network are 4 x 3.4 + 2 x 14 us.
TEST(CallPlanner, SwitchesOfIslandsAreJoinedByTrees) {
  PlannedNetwork network(IslandSystem(2, 4),
                         {.algorithm = CollectiveAlgorithm::kSwitchTree});
  const CollectiveCall call = {Kind::kAllReduce, Bytes(1 << 28),
                               ChipRange(0, 8)};
  EXPECT_NEAR(TimeAlone(network, call), 1384e-6 + 41.6e-6, 3e-6);
}

}  // namespace
}  // namespace orrery
