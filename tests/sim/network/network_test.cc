// Choice of algorithm, and what happens when calls share links.
#include "sim/network/network.h"

#include "sim/network/network_resources.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;
using ::testing::HasSubstr;

// Two rings of `p` chips, each closed by a hop over the one link 2p -> 2p+1.
std::string RingsWithASharedLink(int p) {
  std::string text = "links { switches: 2";
  const auto link = [&](int from, int to) {
    text += " link { from: " + std::to_string(from) +
            " to: " + std::to_string(to) +
            " one_way: true bandwidth: \"1 GB/s\" latency: \"0.001 ns\" }";
  };
  for (int ring = 0; ring < 2; ++ring) {
    for (int i = 0; i + 1 < p; ++i) link(ring * p + i, ring * p + i + 1);
    link(ring * p + p - 1, 2 * p);
    link(2 * p + 1, ring * p);
  }
  link(2 * p, 2 * p + 1);
  return text + " }";
}

// One shared link costs as much as sharing all: 14 -> 28 chunk times for 8
// ranks, 62 -> 124 for 32.
TEST(Network, TwoRingsOverOneLinkTakeTwiceAsLong) {
  for (int p : {8, 32}) {
    pb::System system = FlatSystem(2 * p, RingsWithASharedLink(p));
    system.mutable_collectives()->mutable_protocol(0)->set_step_latency("0 ns");
    const CollectiveCall a = {Kind::kAllReduce, Bytes(p * 1'000'000),
                              ChipRange(0, p)};
    const CollectiveCall b = {Kind::kAllReduce, Bytes(p * 1'000'000),
                              ChipRange(p, p)};
    for (Fidelity fidelity : {Fidelity::kFluid, Fidelity::kStepped}) {
      PlannedNetwork network(
          system, {.fidelity = fidelity, .algorithm = Algorithm::kRing});
      // 2 (p-1) chunks of 1 MB at 1 GB/s.
      const double alone = TimeAlone(network, a);
      EXPECT_NEAR(alone, 2 * (p - 1) * 1e-3, 1e-9);
      const std::vector<double> both = TimesTogether(network, {a, b});
      EXPECT_NEAR(both[0] / alone, 2.0, 1e-6);
      EXPECT_NEAR(both[1] / alone, 2.0, 1e-6);
    }
  }
}

// A link is called by its kind and its ends, and the kind is not said twice.
TEST(Network, LinksAreNamedByKindAndEnds) {
  GraphBuilder builder;
  const auto chips = builder.AddVertices(VertexKind::kChip, 1);
  const auto nics = builder.AddVertices(VertexKind::kNic, 1);
  const auto switches = builder.AddVertices(VertexKind::kSwitch, 1);
  const BytesPerSecond rate(1e9);
  builder.AddDuplex(chips[0], nics[0],
                    {rate, {}, builder.AddLinkClass({"NIC", ""})});
  builder.AddDuplex(nics[0], switches[0],
                    {rate, {}, builder.AddLinkClass({"NDR", ""})});
  const Graph graph = std::move(builder).Build();
  std::vector<std::string> names;
  for (const LinkId link : graph.links())
    names.push_back(LinkName(graph, link));
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "chip 0 to NIC 1", "NIC 1 to chip 0",
                         "NDR NIC 1 to switch 2", "NDR switch 2 to NIC 1"));
}

// Seven senders to one receiver share its port: 7 x 100 MB at 50 GB/s.
TEST(Network, AnIncastSharesTheReceiversPort) {
  PlannedNetwork network(FlatSystem(8, kReducingSwitch));
  std::vector<CollectiveCall> calls;
  for (int from = 1; from < 8; ++from) {
    calls.push_back({Kind::kPointToPoint,
                     Bytes(100'000'000),
                     {static_cast<VertexId>(from), static_cast<VertexId>(0)}});
  }
  for (double time : TimesTogether(network, calls)) {
    EXPECT_NEAR(time, 2e-6 + 7 * 0.1 / 50, 1e-9);
  }
}

// A line 0-1-2-3-4, everyone sends to 4: a quarter each of 50 GB/s, wherever
// they join. The two of 100 MB end after 8 ms, when 100 and 300 MB are left of
// the others: with a half each, one ends 4 ms later and the other 4 ms after.
TEST(Network, AParkingLotIsSharedFlowByFlow) {
  const auto send = [](int from, int64_t megabytes) {
    return CollectiveCall{Kind::kPointToPoint,
                          Bytes(megabytes * 1'000'000),
                          {static_cast<VertexId>(from), VertexId(4)}};
  };
  for (const Fidelity fidelity : {Fidelity::kFluid, Fidelity::kStepped}) {
    PlannedNetwork network(FlatSystem(5, "mesh { shape: 5 }"),
                           {.fidelity = fidelity});
    const std::vector<double> times = TimesTogether(
        network, {send(0, 100), send(1, 100), send(2, 200), send(3, 400)});
    const double expected[] = {0.008, 0.008, 0.012, 0.016};
    for (size_t i = 0; i < times.size(); ++i) {
      EXPECT_NEAR(times[i], 2e-6 + expected[i], 1e-9) << i;
    }
  }
}

// Eight flows from one leaf to another over eight uplinks: sprayed they do not
// meet; hashed some do.
TEST(Network, EcmpFlowsCollideAndSprayedOnesDoNot) {
  const auto slowest = [](const std::string& routing) {
    PlannedNetwork network(FlatSystem(
        128, "fat_tree { tiers: 2 radix: 16 taper: 1 } routing: " + routing));
    std::vector<CollectiveCall> calls;
    for (int i = 0; i < 8; ++i) {
      calls.push_back(
          {Kind::kPointToPoint,
           Bytes(50'000'000),
           {static_cast<VertexId>(i), static_cast<VertexId>(8 + i)}});
    }
    const std::vector<double> times = TimesTogether(network, calls);
    return *std::max_element(times.begin(), times.end());
  };
  EXPECT_NEAR(slowest("SPRAY"), 1e-3 + 2e-6, 1e-9);
  EXPECT_GE(slowest("ECMP"), 2e-3);
}

// A 3-tier tree tapered 3:1 at its leaves (radix 8: 6 down, 2 up; pods of 4
// leaves). Two groups, one on the even and one on the odd hosts of four leaves
// in two pods, exchange everything with everything: they meet on the uplinks of
// every leaf and again between aggregation and core.
TEST(Network, GroupsThatCrossOnATaperedTreeCongestInSeveralDimensions) {
  const pb::System system =
      FlatSystem(48, "fat_tree { tiers: 3 radix: 8 taper: 3 } routing: SPRAY");
  std::vector<VertexId> even;
  std::vector<VertexId> odd;
  for (int leaf : {0, 1, 4, 5}) {
    for (int host = 0; host < 6; ++host) {
      (host % 2 == 0 ? even : odd)
          .push_back(static_cast<VertexId>(leaf * 6 + host));
    }
  }
  for (const Kind kind : {Kind::kAllToAll, Kind::kAllReduce}) {
    const Algorithm algorithm = kind == Kind::kAllToAll
                                    ? Algorithm::kPairwise
                                    : Algorithm::kHalvingDoubling;
    const std::vector<CollectiveCall> calls = {{kind, Bytes(96'000'000), even},
                                               {kind, Bytes(96'000'000), odd}};
    std::vector<std::vector<double>> times;
    for (Fidelity fidelity : {Fidelity::kFluid, Fidelity::kStepped}) {
      PlannedNetwork network(system,
                             {.fidelity = fidelity, .algorithm = algorithm});
      const double alone = TimeAlone(network, calls[0]);
      times.push_back(TimesTogether(network, calls));
      EXPECT_GT(times.back()[0], 1.5 * alone);
    }
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(times[0][i], times[1][i], 0.05 * times[1][i]) << NameOf(kind);
    }
  }
}

// A reduction in the fabric is on its links like anything else. Leaves of 6
// chips with a cable to each of 2 spines; groups {0, 6}, {1, 7} and {2, 8} of
// 500 MB each send m up from either leaf, and get m down.
//   Alone, 50 GB/s: 10 ms.
//   Spray: half of each on either cable, 1.5 m: 15 ms.
//   ECMP: a root each, in turn: the first and the third have the same, 20 ms,
//   the second has one to itself.
TEST(Network, ReductionTreesCongestTheLinksOfTheFabric) {
  const auto together = [](const std::string& routing) {
    PlannedNetwork network(
        FlatSystem(48,
                   "fat_tree { tiers: 2 radix: 8 taper: 3 reduces: true } "
                   "routing: " +
                       routing),
        {.algorithm = CollectiveAlgorithm::kReductionTree});
    std::vector<CollectiveCall> calls;
    for (int first = 0; first < 3; ++first) {
      calls.push_back({CommunicationKind::kAllReduce, Bytes(500'000'000),
                       ChipRange(first, 2, 6)});
    }
    const double latency = 4 * 2e-6;
    std::vector<double> times = TimesTogether(network, calls);
    for (double& time : times) time -= latency;
    return times;
  };
  using testing::DoubleNear;
  EXPECT_THAT(together("SPRAY"), testing::Each(DoubleNear(0.015, 1e-9)));
  EXPECT_THAT(together("ECMP"), testing::ElementsAre(DoubleNear(0.020, 1e-9),
                                                     DoubleNear(0.010, 1e-9),
                                                     DoubleNear(0.020, 1e-9)));
}

// A group has a tree for each of its two chips on an island, and every leaf a
// cable to each of two spines. Both trees start at even chips, and have a root
// each all the same: ECMP is no slower than SPRAY.
TEST(Network, TheTreesOfAGroupHaveDifferentRoots) {
  const auto alone = [](const std::string& routing) {
    pb::System system = IslandSystem(8, 6);
    pb::Fabric& fabric = *system.mutable_scale_out()->mutable_fabric();
    fabric = With(fabric,
                  "fat_tree { tiers: 2 radix: 8 taper: 3 reduces: true } "
                  "routing: " +
                      routing);
    PlannedNetwork network(system,
                           {.algorithm = CollectiveAlgorithm::kReductionTree});
    CollectiveCall call{CommunicationKind::kAllReduce, Bytes(500'000'000), {}};
    for (const int chip : {0, 2, 6, 8}) {
      call.chips.push_back(static_cast<VertexId>(chip));
    }
    return TimeAlone(network, call);
  };
  EXPECT_NEAR(alone("ECMP"), alone("SPRAY"), 1e-9);
}

TEST(Network, InNetworkReductionNeedsSwitchesThatReduce) {
  PlannedNetwork network(
      FlatSystem(16, "fat_tree { tiers: 2 radix: 8 taper: 1 }"),
      {.algorithm = CollectiveAlgorithm::kReductionTree});
  EXPECT_THAT(network
                  .Plan({CommunicationKind::kAllReduce, Bytes(1 << 20),
                         ChipRange(0, 16)})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no switches of this machine that reduce")));
}

TEST(Network, TheCheapestIsChosenAndFlipsWithSize) {
  PlannedNetwork network(FlatSystem(8,
                                    "switch { planes: 1 "
                                    "links_per_endpoint: 1 }"));
  const auto chosen = [&](int64_t bytes) {
    return network.Plan({Kind::kAllReduce, Bytes(bytes), ChipRange(0, 8)})
        ->algorithm;
  };
  // 64 B: 3 steps beat 14. 1 GB: all that move 2 (p-1)/p tie but for latency.
  EXPECT_EQ(chosen(64), Algorithm::kDirect);
  // 14 steps of 2 us by a ring take longer than what was chosen.
  PlannedNetwork ring(FlatSystem(8, kReducingSwitch),
                      {.algorithm = Algorithm::kRing});
  const CollectiveCall small = {Kind::kAllReduce, Bytes(64), ChipRange(0, 8)};
  EXPECT_LT(network.Plan(small)->solo, ring.Plan(small)->solo);
}

TEST(Network, AProtocolWithFlagsWinsSmallAndLosesLarge) {
  pb::System system = FlatSystem(8, kReducingSwitch);
  system = With(system, R"pb(
    collectives {
      algorithm: "ring"
      protocol {
        name: "flags"
        tier: SCALE_UP
        step_latency: "0.5 us"
        efficiency: 0.5
      }
    }
  )pb");
  PlannedNetwork network(system);
  const CollectiveCall small = {Kind::kAllReduce, Bytes(1024), ChipRange(0, 8)};
  const CollectiveCall large = {Kind::kAllReduce, Bytes(1 << 30),
                                ChipRange(0, 8)};
  EXPECT_EQ(network.Plan(small)->protocol, "flags");
  EXPECT_EQ(network.Plan(large)->protocol, "plain");
  EXPECT_EQ(network.Plan(large)->algorithm, Algorithm::kRing);
  PlannedNetwork forced(system, {.protocol = "flags"});
  EXPECT_EQ(forced.Plan(large)->protocol, "flags");
}

// 2 sqrt(fill w): 4 us of fill and 400 us on the wire are 80 us.
TEST(Network, FillingAPipelineTakesTheRootOfTheWireTime) {
  pb::System system = FlatSystem(2, kReducingSwitch);
  const CollectiveCall call = {Kind::kPointToPoint, Bytes(20'000'000),
                               ChipRange(0, 2)};
  PlannedNetwork plain(system);
  const double without = TimeAlone(plain, call);
  EXPECT_NEAR(without, 402e-6, 1e-9);
  system.mutable_collectives()->mutable_protocol(0)->set_fill_latency("4 us");
  PlannedNetwork filled(system);
  EXPECT_NEAR(TimeAlone(filled, call), without + 80e-6, 1e-9);
}

TEST(Network, ScatteredGroupsWork) {
  PlannedNetwork network(IslandSystem(4, 8));
  // Two chips on one island, one on each of two others.
  const std::vector<VertexId> scattered = {VertexId(1), VertexId(6),
                                           VertexId(13), VertexId(30)};
  ASSERT_OK_AND_ASSIGN(
      const PlannedCall call,
      network.Plan({Kind::kAllReduce, Bytes(1 << 20), scattered}));
  EXPECT_GT(call.solo, Duration(0));
}

TEST(Network, AGroupThatIsCutOffIsAnError) {
  pb::System system = IslandSystem(2, 4);
  pb::LinkFault* fault = system.add_fault();
  fault->set_from(3);
  fault->set_remaining(0);
  PlannedNetwork network(system);
  EXPECT_THAT(
      network.Plan({Kind::kAllReduce, Bytes(1024), ChipRange(0, 8)}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chip 3")));
  EXPECT_OK(
      network.Plan({Kind::kAllReduce, Bytes(1024), ChipRange(0, 3)}).status());
}

// A link at half speed slows the ring over it to half.
TEST(Network, OneSlowLinkSlowsTheWholeRing) {
  pb::System system = FlatSystem(8, "ring {}");
  system.mutable_collectives()->mutable_protocol(0)->set_step_latency("0 ns");
  const CollectiveCall call = {Kind::kAllReduce, Bytes(1 << 28),
                               ChipRange(0, 8)};
  PlannedNetwork whole(system, {.algorithm = Algorithm::kRing});
  pb::LinkFault* fault = system.add_fault();
  fault->set_from(0);
  fault->set_to(1);
  fault->set_remaining(0.5);
  PlannedNetwork slow(system, {.algorithm = Algorithm::kRing});
  EXPECT_NEAR(TimeAlone(slow, call) / TimeAlone(whole, call), 2, 1e-6);
}

TEST(Network, TooManyMessagesToStepAreRefused) {
  PlannedNetwork network(
      FlatSystem(4096, "ring {}"),
      {.fidelity = Fidelity::kStepped, .algorithm = Algorithm::kRing});
  EXPECT_THAT(network.Plan({Kind::kAllReduce, Bytes(1024), ChipRange(0, 4096)})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("FLUID")));
}

TEST(Network, OneChipNeedsNoTime) {
  PlannedNetwork network(FlatSystem(2, kReducingSwitch));
  EXPECT_EQ(
      network.Plan({Kind::kAllReduce, Bytes(1024), ChipRange(0, 1)})->solo,
      Duration(0));
}

}  // namespace
}  // namespace orrery
