// With nothing else on the links, the three fidelities agree with each other
// and with closed forms that know nothing of the steps.
#include <functional>

#include "analytic/collective/collective_bounds.h"
#include "analytic/collective/collective_cost.h"
#include "analytic/collective/direct_network_cost.h"
#include "analytic/collective/group_cost.h"
#include "analytic/collective/hierarchy_cost.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;

constexpr double kFluidTolerance = 1e-3;
constexpr double kSteppedTolerance = 1e-2;
const AlphaBeta kPort = {Seconds(2e-6), BytesPerSecond(50e9)};
constexpr char kSwitch[] =
    "switch { planes: 1 links_per_endpoint: 1 "
    "reduces: true }";

// All fidelities of one call against `expected`, of which the stepped one may
// save the `fill` of a pipeline, as messages of different stages overlap.
void ExpectAgreement(const pb::System& system, const CollectiveCall& call,
                     Algorithm algorithm, Seconds expected, int segments,
                     Seconds fill = Seconds(0)) {
  SCOPED_TRACE(NameOf(algorithm));
  SCOPED_TRACE(call.bytes.value());
  for (Fidelity fidelity :
       {Fidelity::kClosedForm, Fidelity::kFluid, Fidelity::kStepped}) {
    PlannedNetwork network(
        system,
        {.fidelity = fidelity, .algorithm = algorithm, .segments = segments});
    const double tolerance =
        fidelity == Fidelity::kStepped
            ? std::max(kSteppedTolerance * expected.count(), fill.count())
            : kFluidTolerance * expected.count();
    EXPECT_NEAR(TimeAlone(network, call), expected.count(), tolerance)
        << "fidelity " << static_cast<int>(fidelity);
  }
}

TEST(NetworkAgreement, OnePortPerRank) {
  using Form = std::function<Seconds(int, Bytes)>;
  struct Row {
    Kind kind;
    Algorithm algorithm;
    Form form;
    int segments = 1;
  };
  const std::vector<Row> rows = {
      {Kind::kAllReduce, Algorithm::kRing,
       [](int p, Bytes m) { return RingAllReduceCost(p, m, kPort); }},
      {Kind::kReduceScatter, Algorithm::kRing,
       [](int p, Bytes m) { return RingReduceScatterCost(p, m, kPort); }},
      {Kind::kAllGather, Algorithm::kBruck,
       [](int p, Bytes m) { return LogAllGatherCost(p, m, kPort); }},
      {Kind::kReduceScatter, Algorithm::kBruck,
       [](int p, Bytes m) { return LogAllGatherCost(p, m, kPort); }},
      {Kind::kAllReduce, Algorithm::kRecursiveDoubling,
       [](int p, Bytes m) { return RecursiveDoublingCost(p, m, kPort); }},
      {Kind::kAllReduce, Algorithm::kHalvingDoubling,
       [](int p, Bytes m) { return HalvingDoublingCost(p, m, kPort); }},
      {Kind::kAllReduce, Algorithm::kReductionTree,
       [](int, Bytes m) { return ReductionTreeCost(1, m, kPort); }},
      {Kind::kAllToAll, Algorithm::kDirect,
       [](int p, Bytes m) { return DirectAllToAllCost(p, m, kPort); }},
      {Kind::kAllToAll, Algorithm::kPairwise,
       [](int p, Bytes m) { return PairwiseAllToAllCost(p, m, kPort); }},
      {Kind::kAllToAll, Algorithm::kBruck,
       [](int p, Bytes m) { return BruckAllToAllCost(p, m, kPort); }},
      {Kind::kBroadcast, Algorithm::kBinomial,
       [](int p, Bytes m) { return BinomialBroadcastCost(p, m, kPort); }},
      {Kind::kPointToPoint, Algorithm::kDirect,
       [](int, Bytes m) { return PointToPointCost(1, m, Bytes(0), kPort); }},
  };
  for (const Row& row : rows) {
    for (int p : {2, 5, 8}) {
      if (row.kind == Kind::kPointToPoint && p != 2) continue;
      SCOPED_TRACE(p);
      const pb::System system = FlatSystem(p, kSwitch);
      for (int64_t m : {int64_t{1} << 16, int64_t{1} << 24, int64_t{1} << 30}) {
        ExpectAgreement(system, {row.kind, Bytes(m), ChipRange(0, p)},
                        row.algorithm, row.form(p, Bytes(m)), row.segments);
      }
    }
  }
}

// Broadcast by scatter: the first step moves half, the next a quarter; only a
// power of two scatters (p-1)/p in log2 p.
TEST(NetworkAgreement, ScatterAndAllGather) {
  for (int p : {4, 8}) {
    const Bytes m(1 << 24);
    ExpectAgreement(FlatSystem(p, kSwitch),
                    {Kind::kBroadcast, m, ChipRange(0, p)},
                    Algorithm::kScatterAllGather,
                    ScatterAllGatherBroadcastCost(p, m, kPort), 1);
  }
}

// Pipelines, with the fill that their closed forms state. A chain of k segments
// takes p-2+k steps of latency on paper, where every piece waits for the one
// before; the network lets latencies of pieces overlap, so that only the first
// piece pays them.
TEST(NetworkAgreement, Pipelines) {
  const int p = 8;
  const int k = 64;
  const Bytes m(1 << 28);
  ExpectAgreement(
      FlatSystem(p, kSwitch), {Kind::kAllReduce, m, ChipRange(0, p)},
      Algorithm::kDoubleBinaryTree, DoubleBinaryTreeCost(p, m, k, kPort), k);
  const Seconds chain =
      ChainBroadcastCost(p, m, k, kPort) - (k - 1) * kPort.latency;
  ExpectAgreement(FlatSystem(p, kSwitch),
                  {Kind::kBroadcast, m, ChipRange(0, p)}, Algorithm::kChain,
                  chain, k);
}

// 2a + (1 + 1/p) m b, plus the fill of one piece in k. The trip to the switch
// and the one back are a step each, so a is two steps.
TEST(NetworkAgreement, SwitchMulticast) {
  const int p = 8;
  const int k = 256;
  const Bytes m(1 << 28);
  const AlphaBeta port = {2.0 * kPort.latency, kPort.bandwidth};
  const Seconds fill = port.Wire((1 - 1.0 / p) / k, m);
  ExpectAgreement(
      FlatSystem(p, kSwitch), {Kind::kAllReduce, m, ChipRange(0, p)},
      Algorithm::kSwitchMulticast, SwitchMulticastCost(p, m, port) + fill, k);
}

TEST(NetworkAgreement, DirectNetworks) {
  const Bytes m(1 << 28);
  for (const std::vector<int>& shape :
       {std::vector<int>{4, 4}, {4, 4, 4}, {4, 4, 8}}) {
    int p = 1;
    std::string sides;
    for (int side : shape) {
      p *= side;
      sides += " shape: " + std::to_string(side);
    }
    ExpectAgreement(
        FlatSystem(p, "torus {" + sides + " } routing: DIMENSION_ORDERED"),
        {Kind::kAllReduce, m, ChipRange(0, p)}, Algorithm::kTorusBucket,
        TorusBucketAllReduceCost(shape, m, kPort), 1);
  }
  ExpectAgreement(FlatSystem(8, "ring {}"),
                  {Kind::kAllReduce, m, ChipRange(0, 8)},
                  Algorithm::kBidirectionalRing,
                  BidirectionalRingAllReduceCost(8, m, kPort), 1);
  ExpectAgreement(FlatSystem(8, "ring {}"),
                  {Kind::kAllGather, m, ChipRange(0, 8)},
                  Algorithm::kBidirectionalRing,
                  BidirectionalRingAllGatherCost(8, m, kPort), 1);
  ExpectAgreement(FlatSystem(8, "fully_connected {}"),
                  {Kind::kAllReduce, m, ChipRange(0, 8)}, Algorithm::kDirect,
                  FullMeshAllReduceCost(8, m, kPort), 1);
}

TEST(NetworkAgreement, Hierarchies) {
  const Level island = {8, {Seconds(3.4e-6), BytesPerSecond(370e9)}};
  const Level rails = {4, {Seconds(14e-6), BytesPerSecond(48.5e9)}};
  const Bytes m(1 << 30);
  const pb::System system = IslandSystem(4, 8);
  const CollectiveCall call = {Kind::kAllReduce, m, ChipRange(0, 32)};
  ExpectAgreement(system, call, Algorithm::kHierarchical,
                  BlueConnectCost({island, rails}, m), 1);
  // Pipelined in k pieces: all latencies and one piece of each stage, then the
  // longest for the rest.
  const int k = 16;
  const Seconds unpiped = BlueConnectCost({island, rails}, m);
  const Seconds latencies = BlueConnectCost({island, rails}, Bytes(0));
  const Seconds fill = latencies + (unpiped - latencies) / k;
  ExpectAgreement(
      system, call, Algorithm::kHierarchical,
      fill + PipelinedBlueConnectWire({island, rails}, m) * (1 - 1.0 / k), k,
      fill);
  // PXN: a message inside and one along the rail.
  ExpectAgreement(system, {Kind::kAllToAll, m, ChipRange(0, 32)},
                  Algorithm::kPxn,
                  PxnAllToAllWire(island, rails, m) + Seconds(17.4e-6), 1);
}

// Switches that add up, one, two and three above each other: 2 depth a + m b.
// Chips 0 to 3 hang on one leaf of radix 8.
TEST(NetworkAgreement, ReductionTreesInAFabric) {
  const auto tree = [](int tiers, const char* routing) {
    return FlatSystem(64, "fat_tree { tiers: " + std::to_string(tiers) +
                              " radix: " + std::to_string(tiers == 2 ? 16 : 8) +
                              " taper: 1 reduces: true } routing: " + routing);
  };
  for (int64_t m : {int64_t{1} << 16, int64_t{1} << 28}) {
    const auto expect = [&](const pb::System& system, int chips, int depth) {
      ExpectAgreement(system, {Kind::kAllReduce, Bytes(m), ChipRange(0, chips)},
                      Algorithm::kReductionTree,
                      ReductionTreeCost(depth, Bytes(m), kPort), 1);
    };
    for (const char* routing : {"SPRAY", "ECMP"}) {
      expect(tree(3, routing), 4, 1);
      expect(tree(3, routing), 16, 2);
      expect(tree(3, routing), 64, 3);
      expect(tree(2, routing), 64, 2);
    }
  }
  // On rails: 2 islands of 4 meet at one leaf per rail, 40 of them do not.
  const Level island = {4, {Seconds(3.4e-6), BytesPerSecond(370e9)}};
  const AlphaBeta rail = {Seconds(14e-6), BytesPerSecond(48.5e9)};
  for (const auto& [islands, depth] :
       std::vector<std::pair<int, int>>{{2, 1}, {40, 2}}) {
    pb::System system = IslandSystem(islands, 4);
    system.mutable_scale_out()
        ->mutable_fabric()
        ->mutable_rail_optimized()
        ->set_reduces(true);
    const Bytes m(1 << 28);
    ExpectAgreement(system, {Kind::kAllReduce, m, ChipRange(0, islands * 4)},
                    Algorithm::kReductionTree,
                    RailReductionTreeCost(island, rail, depth, m), 1);
    // The cost of a group on a machine, where pieces overlap: all latencies,
    // then the longer of what the island and the rail carry.
    const System machine = System::FromProto(system).value();
    PlannedNetwork network(system, {.algorithm = Algorithm::kReductionTree});
    EXPECT_NEAR(
        TimeAlone(network, {Kind::kAllReduce, m, ChipRange(0, islands * 4)}),
        GroupCost(machine)
            .Time(Kind::kAllReduce, m,
                  {.ranks = islands * 4, .islands = islands})
            .count(),
        0.01 * RailReductionTreeCost(island, rail, depth, m).count());
  }
}

// Whatever is chosen or forced, nothing is faster than the bound.
TEST(NetworkAgreement, NothingBeatsTheLowerBound) {
  for (Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                    Kind::kAllToAll, Kind::kBroadcast}) {
    for (int p : {2, 3, 6, 8}) {
      for (int64_t m : {int64_t{256}, int64_t{1} << 20, int64_t{1} << 30}) {
        int applicable = 0;
        for (int i = 0; i <= static_cast<int>(Algorithm::kPxn); ++i) {
          const auto algorithm = static_cast<Algorithm>(i);
          PlannedNetwork network(FlatSystem(p, kSwitch),
                                 {.algorithm = algorithm});
          const absl::StatusOr<PlannedCall> planned =
              network.Plan({kind, Bytes(m), ChipRange(0, p)});
          if (!planned.ok()) continue;
          ++applicable;
          // The bound on latency is for one message at a time.
          AlphaBeta port = kPort;
          if (algorithm == Algorithm::kDirect ||
              algorithm == Algorithm::kBidirectionalRing) {
            port.latency = Seconds(0);
          }
          EXPECT_GE(ToSeconds(planned->solo) * (1 + 1e-9),
                    CollectiveLowerBound(kind, p, Bytes(m), port,
                                         ReducesInNetwork(algorithm))
                        .count())
              << NameOf(kind) << " " << NameOf(algorithm) << " p=" << p;
        }
        EXPECT_GE(applicable, 2) << NameOf(kind) << " p=" << p;
      }
    }
  }
}

// Across islands, what a NIC per chip lets out of an island of 4 bounds as
// well.
TEST(NetworkAgreement, NothingBeatsTheBoundOfTheIslands) {
  const Bytes m(1 << 28);
  for (Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                    Kind::kAllToAll, Kind::kBroadcast}) {
    for (int islands : {2, 3, 8}) {
      const double bound = IslandLowerBound(kind, islands, 4, m,
                                            BytesPerSecond(4 * 48.5e9), false)
                               .count();
      EXPECT_GT(bound, 0);
      for (int i = 0; i <= static_cast<int>(Algorithm::kPxn); ++i) {
        const auto algorithm = static_cast<Algorithm>(i);
        PlannedNetwork network(IslandSystem(islands, 4),
                               {.algorithm = algorithm});
        const absl::StatusOr<PlannedCall> planned =
            network.Plan({kind, m, ChipRange(0, islands * 4)});
        if (!planned.ok()) continue;
        EXPECT_GE(ToSeconds(planned->solo) * (1 + 1e-9), bound)
            << NameOf(kind) << " " << NameOf(algorithm);
      }
    }
  }
}

}  // namespace
}  // namespace orrery
