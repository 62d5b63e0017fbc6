// With nothing else on the links, the three fidelities agree with each other
// and with closed forms that know nothing of the steps.
#include <functional>
#include <numeric>

#include "analytic/collective/collective_bounds.h"
#include "analytic/collective/collective_forms.h"
#include "analytic/collective/group_cost.h"
#include "tests/analytic/collective/plain_ports.h"
#include "tests/oracles/collective_cost.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;

constexpr double kFluidTolerance = 1e-3;
constexpr double kSteppedTolerance = 1e-2;
const AlphaBeta kPort = {Seconds(2e-6), BytesPerSecond(50e9)};
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

// A form of p ranks with one port each.
template <class Make>
std::function<Seconds(int, Bytes)> OnePort(Make make) {
  return [make](int p, Bytes m) {
    const MachinePorts ports = OnePortEach(p);
    return PricePlain(make(Everyone(ports)), m, kPort).total();
  };
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
       OnePort([](const auto& g) { return RingForm(Kind::kAllReduce, g); })},
      {Kind::kReduceScatter, Algorithm::kRing, OnePort([](const auto& g) {
         return RingForm(Kind::kReduceScatter, g);
       })},
      {Kind::kAllGather, Algorithm::kBruck,
       OnePort([](const auto& g) { return BruckForm(Kind::kAllGather, g); })},
      {Kind::kReduceScatter, Algorithm::kBruck, OnePort([](const auto& g) {
         return BruckForm(Kind::kReduceScatter, g);
       })},
      {Kind::kAllReduce, Algorithm::kRecursiveDoubling,
       OnePort(RecursiveDoublingForm)},
      {Kind::kAllReduce, Algorithm::kHalvingDoubling,
       OnePort(HalvingDoublingForm)},
      {Kind::kAllReduce, Algorithm::kReductionTree, OnePort(ReductionTreeForm)},
      {Kind::kAllToAll, Algorithm::kDirect,
       OnePort([](const auto& g) { return DirectForm(Kind::kAllToAll, g); })},
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
      const pb::System system = FlatSystem(p, kReducingSwitch);
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
    ExpectAgreement(FlatSystem(p, kReducingSwitch),
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
  // Two trees of height 3: 2 h a, 2 m b (k-1)/k, and (2h-1) m b/k to fill.
  const MachinePorts ports = OnePortEach(p);
  const Seconds trees =
      PricePlain(
          DoubleBinaryTreeForm(CommunicationKind::kAllReduce, Everyone(ports)),
          m, kPort, k)
          .total();
  EXPECT_NEAR(
      trees.count(),
      (6 * kPort.latency + kPort.Wire(2.0 * (k - 1) / k + 5.0 / k, m)).count(),
      1e-9 * trees.count());
  ExpectAgreement(FlatSystem(p, kReducingSwitch),
                  {Kind::kAllReduce, m, ChipRange(0, p)},
                  Algorithm::kDoubleBinaryTree, trees, k);
  const Seconds chain =
      ChainBroadcastCost(p, m, k, kPort) - (k - 1) * kPort.latency;
  ExpectAgreement(FlatSystem(p, kReducingSwitch),
                  {Kind::kBroadcast, m, ChipRange(0, p)}, Algorithm::kChain,
                  chain, k);
}

// 4a + (1 + 1/p) m b, plus the fill of one piece in k.
TEST(NetworkAgreement, SwitchMulticast) {
  const int p = 8;
  const int k = 256;
  const Bytes m(1 << 28);
  const MachinePorts ports = OnePortEach(p);
  const Seconds time =
      PricePlain(SwitchMulticastForm(Kind::kAllReduce, Everyone(ports)), m,
                 kPort, k)
          .total();
  EXPECT_NEAR(
      time.count(),
      (4 * kPort.latency + kPort.Wire(1 + 1.0 / p + (1 - 1.0 / p) / k, m))
          .count(),
      1e-9 * time.count());
  ExpectAgreement(FlatSystem(p, kReducingSwitch),
                  {Kind::kAllReduce, m, ChipRange(0, p)},
                  Algorithm::kSwitchMulticast, time, k);
}

TEST(NetworkAgreement, DirectNetworks) {
  const Bytes m(1 << 28);
  const auto time = [&](const CollectiveForm& form) {
    return PricePlain(form, m, kPort).total();
  };
  for (const std::vector<int>& shape :
       {std::vector<int>{4, 4}, {4, 4, 4}, {4, 4, 8}}) {
    const MachinePorts ports = TorusPorts(shape);
    const int p = ports.chips;
    std::string sides;
    for (int side : shape) sides += " shape: " + std::to_string(side);
    ExpectAgreement(
        FlatSystem(p, "torus {" + sides + " } routing: DIMENSION_ORDERED"),
        {Kind::kAllReduce, m, ChipRange(0, p)}, Algorithm::kTorusBucket,
        time(TorusBucketForm(Everyone(ports))), 1);
  }
  const MachinePorts ring = TorusPorts({8});
  const MachinePorts links = LinkToEach(8);
  ExpectAgreement(
      FlatSystem(8, "ring {}"), {Kind::kAllReduce, m, ChipRange(0, 8)},
      Algorithm::kBidirectionalRing,
      time(BidirectionalRingForm(Kind::kAllReduce, Everyone(ring))), 1);
  ExpectAgreement(
      FlatSystem(8, "ring {}"), {Kind::kAllGather, m, ChipRange(0, 8)},
      Algorithm::kBidirectionalRing,
      time(BidirectionalRingForm(Kind::kAllGather, Everyone(ring))), 1);
  ExpectAgreement(FlatSystem(8, "fully_connected {}"),
                  {Kind::kAllReduce, m, ChipRange(0, 8)}, Algorithm::kDirect,
                  time(DirectForm(Kind::kAllReduce, Everyone(links))), 1);
}

// Rings of k along D sides: D floor(k/2) a + (p-1)/p m b/(2D) to gather, twice
// that for a sum, a broadcast or a reduce. A line of k: (k-1) a + (k-1)/k m b.
TEST(NetworkAgreement, Grids) {
  const Bytes m(1 << 26);
  const auto fabric = [](const char* kind, const std::vector<int>& shape) {
    std::string text = std::string(kind) + " {";
    for (int side : shape) text += " shape: " + std::to_string(side);
    return text + " } routing: DIMENSION_ORDERED";
  };
  for (const auto& [side, dimensions] : std::vector<std::pair<int, int>>{
           {5, 1}, {8, 1}, {3, 2}, {4, 2}, {3, 3}, {4, 3}}) {
    const std::vector<int> shape(static_cast<size_t>(dimensions), side);
    MachinePorts ports = TorusPorts(shape);
    const int p = ports.chips;
    for (Kind kind : {Kind::kAllGather, Kind::kReduceScatter, Kind::kAllReduce,
                      Kind::kBroadcast, Kind::kReduce}) {
      const bool once =
          kind == Kind::kAllGather || kind == Kind::kReduceScatter;
      const Seconds expected =
          (once ? 1 : 2) * (dimensions * (side / 2) * kPort.latency +
                            kPort.Wire((p - 1.0) / p / (2 * dimensions), m));
      ExpectAgreement(FlatSystem(p, fabric("torus", shape)),
                      {kind, m, ChipRange(0, p)}, Algorithm::kGrid, expected,
                      1);
      if (kind == Kind::kBroadcast || kind == Kind::kReduce) continue;
      EXPECT_NEAR(
          PricePlain(GridForm(kind, Everyone(ports)), m, kPort).total().count(),
          expected.count(), kFluidTolerance * expected.count());
    }
  }
  for (int k : {2, 3, 6}) {
    MachinePorts ports = TorusPorts({k});
    ports.open = {true};
    const Seconds expected =
        (k - 1) * kPort.latency + kPort.Wire((k - 1.0) / k, m);
    for (Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
      ExpectAgreement(FlatSystem(k, fabric("mesh", {k})),
                      {kind, m, ChipRange(0, k)}, Algorithm::kGrid, expected,
                      1);
      EXPECT_NEAR(
          PricePlain(GridForm(kind, Everyone(ports)), m, kPort).total().count(),
          expected.count(), kFluidTolerance * expected.count());
    }
  }
}

TEST(NetworkAgreement, Hierarchies) {
  const AlphaBeta island = {Seconds(3.4e-6), BytesPerSecond(370e9)};
  const AlphaBeta rails = {Seconds(14e-6), BytesPerSecond(48.5e9)};
  const MachinePorts ports = IslandPorts(8, 4);
  const CollectiveForm form =
      HierarchicalForm(Kind::kAllReduce, Everyone(ports));
  const Bytes m(1 << 30);
  const pb::System system = IslandSystem(4, 8);
  const CollectiveCall call = {Kind::kAllReduce, m, ChipRange(0, 32)};
  ExpectAgreement(system, call, Algorithm::kHierarchical,
                  PricePlain(form, m, island, rails, 1).total(), 1);
  // Pipelined in k pieces: all latencies and one piece of each stage, then the
  // longest for the rest.
  const int k = 16;
  const FormTime unpiped = PricePlain(form, m, island, rails, 1);
  const Seconds fill = unpiped.latency + unpiped.wire / k;
  ExpectAgreement(system, call, Algorithm::kHierarchical,
                  PricePlain(form, m, island, rails, k).total(), k, fill);
  // PXN: a message inside and one along the rail.
  ExpectAgreement(
      system, {Kind::kAllToAll, m, ChipRange(0, 32)}, Algorithm::kPxn,
      PxnAllToAllWire(8, 4, m, island, rails) + Seconds(17.4e-6), 1);
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
                      2.0 * depth * kPort.latency + kPort.Wire(1, Bytes(m)), 1);
    };
    for (const char* routing : {"SPRAY", "ECMP"}) {
      expect(tree(3, routing), 4, 1);
      expect(tree(3, routing), 16, 2);
      expect(tree(3, routing), 64, 3);
      expect(tree(2, routing), 64, 2);
    }
  }
  // On rails: 2 islands of 4 meet at one leaf per rail, 40 of them do not.
  const AlphaBeta island = {Seconds(3.4e-6), BytesPerSecond(370e9)};
  const AlphaBeta rail = {Seconds(14e-6), BytesPerSecond(48.5e9)};
  for (const auto& [islands, depth] :
       std::vector<std::pair<int, int>>{{2, 1}, {40, 2}}) {
    pb::System system = IslandSystem(islands, 4);
    system.mutable_scale_out()
        ->mutable_fabric()
        ->mutable_rail_optimized()
        ->set_reduces(true);
    const Bytes m(1 << 28);
    // 2[(G-1) a + (G-1)/G m b] in the island, 2 depth a + m/G b on the rail.
    const Seconds serial = 2 * (3 * island.latency + island.Wire(0.75, m)) +
                           2.0 * depth * rail.latency + rail.Wire(0.25, m);
    ExpectAgreement(system, {Kind::kAllReduce, m, ChipRange(0, islands * 4)},
                    Algorithm::kReductionTree, serial, 1);
    // Trees that join the switches of islands may be faster.
    system.mutable_collectives()->add_algorithm("sharp");
    // The cost of a group on a machine, where pieces overlap: all latencies,
    // then the longer of what the island and the rail carry.
    const System machine = System::FromProto(system).value();
    PlannedNetwork network(system, {.algorithm = Algorithm::kReductionTree});
    GroupCost cost = GroupCost::Create(machine).value();
    std::vector<int> chips(static_cast<size_t>(islands * 4));
    std::iota(chips.begin(), chips.end(), 0);
    EXPECT_NEAR(
        TimeAlone(network, {Kind::kAllReduce, m, ChipRange(0, islands * 4)}),
        cost.Time(Kind::kAllReduce, m, cost.Span(chips)).count(),
        kFluidTolerance * serial.count());
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
          PlannedNetwork network(FlatSystem(p, kReducingSwitch),
                                 {.algorithm = algorithm});
          const absl::StatusOr<PlannedCall> planned =
              network.Plan({kind, Bytes(m), ChipRange(0, p)});
          if (!planned.ok()) continue;
          ++applicable;
          EXPECT_GE(ToSeconds(planned->solo) * (1 + 1e-9),
                    CollectiveLowerBound(kind, p, Bytes(m), kPort,
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
      const double bound =
          IslandLowerBound(kind, {islands, 4, BytesPerSecond(4 * 48.5e9)}, m,
                           false)
              .count();
      EXPECT_GT(bound, 0);
      for (int i = 0; i <= static_cast<int>(kLastCollectiveAlgorithm); ++i) {
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

// Hops of 3.4 us inside islands of 4 chips, and of 14 us between them. Bytes
// take no time.
constexpr double kInside = 3.4e-6;
constexpr double kAcross = 14e-6;
void ExpectHops(Kind kind, Algorithm algorithm, double seconds) {
  constexpr double kBytes = 1e-8;
  for (Fidelity fidelity :
       {Fidelity::kClosedForm, Fidelity::kFluid, Fidelity::kStepped}) {
    PlannedNetwork network(IslandSystem(2, 4),
                           {.fidelity = fidelity, .algorithm = algorithm});
    EXPECT_NEAR(TimeAlone(network, {kind, Bytes(64), ChipRange(0, 8)}), seconds,
                kBytes)
        << NameOf(algorithm) << ", fidelity " << static_cast<int>(fidelity);
  }
}

// The chain of each lane begins at chip 0, which is first of its island in one
// lane only. The others leave the island, go through the next one and come
// back: 7 hops, of which 2 cross. At almost every hop some lane crosses, but
// none does so at every hop.
TEST(NetworkAgreement, AChainWaitsForTheHopsOfOneLane) {
  for (const Kind kind : {Kind::kBroadcast, Kind::kReduce}) {
    ExpectHops(kind, Algorithm::kChain, 5 * kInside + 2 * kAcross);
  }
}

// Shards go 3 hops either way around 8 chips, and their halves a fourth one. Of
// 3 hops in a row one crosses, not 3 times 2 of 8.
TEST(NetworkAgreement, WhatGoesPartOfTheWayRoundMeetsTheSlowestStretch) {
  for (const Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
    ExpectHops(kind, Algorithm::kBidirectionalRing,
               (2 * kInside + kAcross) + kAcross);
  }
}

}  // namespace
}  // namespace orrery
