// An exchange counted as a whole is the sum of its pairs.
#include "sim/network/exchange_routes.h"

#include <fmt/format.h>

#include "sim/network/routed_schedule.h"
#include "tests/sim/network/networks.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// Sums of thousands of doubles in another order.
constexpr double kRounding = 1e-9;

// Every pair of ranks of one set, one unit each.
Schedule Listed(int32_t ranks, const RankExchange& exchange) {
  ScheduleBuilder builder(CommunicationKind::kAllToAll, ranks, 1);
  builder.schedule().chunk_share = {1};
  builder.BeginPhase();
  builder.BeginRound();
  const ChunkRange all = {};
  for (int32_t a = 0; a < ranks; ++a) {
    for (int32_t b = 0; b < ranks; ++b) {
      if (a == b || exchange.SetOf(a) != exchange.SetOf(b)) continue;
      builder.Send(a, b, {&all, 1}, false);
    }
  }
  return std::move(builder).Build();
}

void ExpectSumOfPairs(const pb::System& proto, const std::string& name) {
  ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
  ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(system));
  Router router(network.graph(), network.routing());
  RoutingScratch scratch;
  const Protocol up{};
  const Protocol out{};
  const int n = system.chips();
  for (const std::vector<VertexId>& chips :
       {ChipRange(0, n), ChipRange(0, n - 1), ChipRange(1, n / 2),
        ChipRange(0, n / 2, 2), ChipRange(n / 3, n / 3)}) {
    const auto ranks = static_cast<int32_t>(chips.size());
    for (const RankExchange& exchange :
         {RankExchange{1}, RankExchange{2}, RankExchange{4},
          RankExchange{4, RankExchange::Among::kBlocks}}) {
      if (2 * exchange.block > ranks) continue;
      SCOPED_TRACE(fmt::format("{}, {} chips, blocks of {}", name, ranks,
                               exchange.block));
      const Schedule schedule = Listed(ranks, exchange);
      const GroupPlacement placement = {
          .layout = {.ranks = ranks}, .chips = chips, .island_switches = {}};
      ASSERT_OK_AND_ASSIGN(
          RoutedSchedule listed,
          RoutedSchedule::Make(schedule, placement, network.resources(), router,
                               {}, scratch));
      ASSERT_OK_AND_ASSIGN(
          const ExchangeRoutes whole,
          FindExchange(chips, exchange, network.resources(), router));
      listed.FindLoads(scratch);
      const absl::Span<const ResourceLoad> loads = listed.loads().loads(0);
      ASSERT_EQ(whole.loads.size(), loads.size());
      for (size_t i = 0; i < loads.size(); ++i) {
        EXPECT_EQ(whole.loads[i].resource, loads[i].resource);
        EXPECT_NEAR(whole.loads[i].shares.scale_up, loads[i].shares.scale_up,
                    kRounding * ranks * ranks);
        EXPECT_NEAR(whole.loads[i].shares.scale_out, loads[i].shares.scale_out,
                    kRounding * ranks * ranks);
      }
      Duration slowest{};
      for (const auto& s : whole.slowest) {
        EXPECT_TRUE(listed.touches(s.tier));
        slowest = std::max(slowest, s.latency);
      }
      EXPECT_EQ(listed.Latency(0, {&up, &out}), slowest);
    }
  }
}

TEST(ExchangeRoutes, AreTheSumOfThePairsOnEveryFabric) {
  const std::vector<std::pair<int, std::string>> fabrics = {
      {12, "torus { shape: 12 } routing: DIMENSION_ORDERED"},
      {9, "ring {}"},
      {20, "mesh { shape: 4 shape: 5 } routing: DIMENSION_ORDERED"},
      {30, "torus { shape: 2 shape: 3 shape: 5 } routing: DIMENSION_ORDERED"},
      {64, "torus { shape: 4 shape: 4 shape: 4 } routing: DIMENSION_ORDERED"},
      {48, "torus { shape: 6 shape: 8 } routing: DIMENSION_ORDERED"},
      {32, "torus { shape: 4 shape: 8 twisted: true }"},
      {12, "fully_connected {}"},
      {16, "switch { planes: 2 links_per_endpoint: 2 }"},
      {30, "fat_tree { tiers: 2 radix: 8 taper: 1 }"},
      {60, "fat_tree { tiers: 3 radix: 8 taper: 1 }"},
      {30, "fat_tree { tiers: 2 radix: 8 taper: 1 } routing: MINIMAL"},
      {60, "fat_tree { tiers: 3 radix: 8 taper: 1 } routing: MINIMAL"},
      {60, "fat_tree { tiers: 3 radix: 8 taper: 2 } routing: MINIMAL"},
      {60, "fat_tree { tiers: 3 radix: 8 taper: 3 }"},
      {24, "fat_tree { tiers: 2 radix: 12 taper: 2 } routing: ECMP"},
      {60, "fat_tree { tiers: 3 radix: 8 taper: 1 } routing: ECMP"},
      {50, "fat_tree { tiers: 3 radix: 12 taper: 2 } routing: ECMP"},
      {16, "switch { planes: 3 links_per_endpoint: 3 } routing: MINIMAL"},
      {36,
       "dragonfly { hosts_per_router: 2 routers_per_group: 4 "
       "globals_per_router: 2 } routing: MINIMAL"},
      {36,
       "dragonfly { hosts_per_router: 2 routers_per_group: 4 "
       "globals_per_router: 2 }"},
      {36,
       "dragonfly { hosts_per_router: 2 routers_per_group: 4 "
       "globals_per_router: 2 } routing: VALIANT"},
      {36,
       "dragonfly { hosts_per_router: 2 routers_per_group: 4 "
       "globals_per_router: 2 } routing: ADAPTIVE"},
      {60, "fat_tree { tiers: 3 radix: 8 taper: 1 } routing: VALIANT"},
      {60, "fat_tree { tiers: 3 radix: 8 taper: 1 } routing: ADAPTIVE"},
      {50, "fat_tree { tiers: 3 radix: 12 taper: 2 } routing: VALIANT"},
      {50, "fat_tree { tiers: 3 radix: 12 taper: 2 } routing: ADAPTIVE"},
      {16, "switch { planes: 3 links_per_endpoint: 3 } routing: ADAPTIVE"},
      {18, "torus { shape: 3 shape: 6 } routing: VALIANT"},
      {18, "torus { shape: 3 shape: 6 } routing: ADAPTIVE"},
      {32, "hyperx { shape: 4 shape: 4 hosts_per_router: 2 } routing: VALIANT"},
      {32,
       "hyperx { shape: 4 shape: 4 hosts_per_router: 2 } routing: ADAPTIVE"},
      {32, "hyperx { shape: 4 shape: 4 hosts_per_router: 2 }"},
      {32,
       "hyperx { shape: 4 shape: 4 hosts_per_router: 2 } "
       "routing: DIMENSION_ORDERED"}};
  for (const auto& [chips, fabric] : fabrics) {
    pb::System system = FlatSystem(chips, fabric);
    system.mutable_scale_up()->mutable_fabric()->mutable_link()->set_latency(
        "100 ns");
    ExpectSumOfPairs(system, fmt::format("{} {}", chips, fabric));
  }
  for (const auto& [islands, size] :
       std::vector<std::pair<int, int>>{{5, 4}, {40, 4}, {16, 1}, {3, 7}}) {
    pb::System system = IslandSystem(islands, size);
    for (const auto routing :
         {pb::Fabric::MINIMAL, pb::Fabric::ECMP, pb::Fabric::VALIANT,
          pb::Fabric::ADAPTIVE, pb::Fabric::SPRAY}) {
      system.mutable_scale_out()->mutable_fabric()->set_routing(routing);
      ExpectSumOfPairs(system, fmt::format("{} islands of {}", islands, size));
    }
    *system.mutable_scale_out()->mutable_fabric() =
        With(system.scale_out().fabric(), R"pb(
          fat_tree { tiers: 2 radix: 16 taper: 1 }
        )pb");
    system.mutable_scale_out()->set_nics_per_node(size > 1 ? size / 2 : 1);
    for (const auto routing :
         {pb::Fabric::MINIMAL, pb::Fabric::ECMP, pb::Fabric::VALIANT,
          pb::Fabric::ADAPTIVE, pb::Fabric::SPRAY}) {
      if (size % 2 != 0) continue;
      system.mutable_scale_out()->mutable_fabric()->set_routing(routing);
      ExpectSumOfPairs(
          system, fmt::format("{} islands of {}, shared NICs", islands, size));
    }
  }
}

// Listed and counted as a whole, an all-to-all of more ranks than are listed
// takes the same time. Messages are counted above 128 * 128 = 16 384: over
// islands of 4 the 256 ranks have 256 * 256 of them pairwise, and with PXN
// 256 * (4 + 64) = 17 408.
TEST(ExchangeRoutes, LargeExchangesTakeAsLongAsTheirMessages) {
  const pb::System system = IslandSystem(64, 4);
  int planned = 0;
  for (const CommunicationKind kind :
       {CommunicationKind::kAllToAll, CommunicationKind::kAllGather}) {
    const CollectiveCall call = {kind, Bytes(1 << 26), ChipRange(0, 256)};
    for (const CollectiveAlgorithm algorithm :
         {CollectiveAlgorithm::kDirect, CollectiveAlgorithm::kPxn}) {
      PlannedNetwork whole(system, {.algorithm = algorithm});
      // Whoever simulates messages one by one has them listed.
      PlannedNetwork listed(
          system, {.fidelity = Fidelity::kStepped, .algorithm = algorithm});
      const absl::StatusOr<PlannedCall> a = whole.Plan(call);
      const absl::StatusOr<PlannedCall> b = listed.Plan(call);
      ASSERT_EQ(a.ok(), b.ok());
      if (!a.ok()) continue;
      EXPECT_NEAR(ToSeconds(a->solo), ToSeconds(b->solo),
                  kRounding * ToSeconds(b->solo));
      ++planned;
    }
  }
  // Only an all-to-all takes PXN.
  EXPECT_EQ(planned, 3);
}

// Before anything is built: 20 000 ranks in pairs are 800 million messages.
TEST(ExchangeRoutes, WhatWouldListTooMuchIsRefusedAtOnce) {
  EXPECT_THAT(MakeSchedule(CommunicationKind::kAllToAll,
                           CollectiveAlgorithm::kPairwise, {.ranks = 20'000})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("800000000 messages and chunks")));
  ASSERT_OK_AND_ASSIGN(
      const Schedule whole,
      MakeSchedule(CommunicationKind::kAllToAll, CollectiveAlgorithm::kDirect,
                   {.ranks = 100'000}, 1, Detail::kAmounts));
  EXPECT_TRUE(whole.messages.empty());
}

}  // namespace
}  // namespace orrery
