#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "accuracy/table/measurement_table.h"
#include "base/random.h"
#include "catalog/resolve.h"
#include "cost/kernel/power_limit.h"
#include "cost/ownership/machine_cost.h"
#include "cost/ownership/run_bill.h"
#include "run/silicon_catalog.h"
#include "tests/status_matchers.h"
#include "tests/topology/graph/fabrics.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

using testing::HasSubstr;

System Preset(const std::string& name, int nodes, bool planes = false) {
  auto proto =
      ResolveSystem(Catalog(), name, {fmt::format("system.nodes={}", nodes)});
  CHECK(proto.ok()) << proto.status().ToString();
  if (planes) {
    proto->mutable_scale_out()
        ->mutable_fabric()
        ->mutable_rail_only()
        ->set_radix(64);
  }
  auto system = System::FromProto(*proto);
  CHECK(system.ok()) << system.status().ToString();
  return *std::move(system);
}

NetworkParts::OfClass ScaleOut(const System& system) {
  const auto graph = BuildGraph(system);
  CHECK(graph.ok()) << graph.status().ToString();
  for (const auto& of : CountParts(*graph).classes) {
    if (!of.inside) return of;
  }
  CHECK(false) << "no scale-out network";
  return {};
}

// The public H100 cluster sheet of August 2024: 64-port switches, one port of
// 400 Gb/s per GPU. Two tiers are 3/64 switches per GPU, three 5/64.
// Every rail is a plane of its own up to 2048 nodes: one switch, or two tiers.
TEST(NetworkParts, OfTheClusterSheetAreCountedOnTheGraph) {
  const std::pair<int, int> sheet[] = {{64, 8},     {128, 48},   {256, 96},
                                       {512, 192},  {1024, 384}, {4096, 2560},
                                       {8192, 5120}};
  for (const auto& [nodes, switches] : sheet) {
    const bool planes = nodes <= 2048;
    const auto parts = ScaleOut(Preset("dgx_h100_ib400", nodes, planes));
    EXPECT_EQ(parts.switches, switches) << nodes;
    EXPECT_EQ(parts.host_links, 8 * nodes);
    // 1/64, 3/64 or 5/64 per GPU.
    const int tiers = (switches * 64 / (8 * nodes) + 1) / 2;
    EXPECT_EQ(parts.fabric_links, 8 * nodes * (tiers - 1)) << nodes;
    EXPECT_LE(parts.most_ports, 64);
  }
}

// A torus of D dimensions has D links per chip and no switch.
TEST(NetworkParts, OfATorusAreOneLinkPerChipAndDimension) {
  const auto graph = BuildGraph(Preset("tpu_v4_pod", 128));
  ASSERT_THAT(graph, IsOk());
  const auto parts = CountParts(*graph).classes;
  ASSERT_EQ(parts.size(), 1);
  EXPECT_EQ(parts[0].switches, 0);
  EXPECT_EQ(parts[0].direct_links, 3 * 512);
}

// Per end point, radix k: a full tree of L tiers has (2L-1)/k switches and L
// links; tapered o:1 at the leaf (1+o)/(ok) + (2L-3)/(ok) and 1 + (L-1)/o; a
// dragonfly 1/p; a HyperX 1/T and 1 + sum K(S-1)/(2T); a torus none and D.
TEST(NetworkParts, OfEveryTopologyAreThoseOfTheTextbook) {
  const struct {
    FabricKind kind;
    int64_t ends, switches, links;
  } cases[] = {
      {FatTreeFabric{2, 8, 1, false}, 32, 3 * 32 / 8, 2 * 32},
      {FatTreeFabric{3, 8, 1, false}, 128, 5 * 128 / 8, 3 * 128},
      // 6 down and 2 up: 4/24 + 1/24 switches and 1 + 1/3 links each.
      {FatTreeFabric{2, 8, 3, false}, 48, 5 * 48 / 24, 48 + 48 / 3},
      // p 2, a 4, h 2 in 9 groups: 9 (4 x 3/2) inside, 9 x 8 / 2 between.
      {DragonflyFabric{2, 4, 2, 9}, 72, 72 / 2, 72 + 54 + 36},
      {HyperXFabric{{4, 4}, 4, {1, 1}}, 64, 64 / 4, 64 + 64 * 6 / 8},
      {TorusFabric{{4, 4, 4}, false}, 64, 0, 3 * 64},
  };
  for (const auto& c : cases) {
    const auto parts = CountParts(UnitGraph(c.kind, c.ends)).classes;
    ASSERT_EQ(parts.size(), 1);
    EXPECT_EQ(parts[0].switches, c.switches) << c.ends;
    EXPECT_EQ(
        parts[0].host_links + parts[0].fabric_links + parts[0].direct_links,
        c.links)
        << c.ends;
  }
}

// 100 now, nothing left, no interest: 20 a year for five years. With 10 % the
// annuity is 0.1 / (1 - 1.1^-5) = 0.26380.
TEST(Capital, IsRecoveredWithInterest) {
  EXPECT_DOUBLE_EQ(CapitalRecovery(Dollars(100), {}, 0, 5).value(), 20);
  EXPECT_NEAR(CapitalRecovery(Dollars(100), {}, 0.1, 5).value(), 26.380, 5e-4);
  // What is left at the end is worth less now.
  EXPECT_NEAR(CapitalRecovery(Dollars(100), Dollars(50), 0.1, 5).value(),
              (100 - 50 / std::pow(1.1, 5)) * 0.2637975, 1e-4);
}

TEST(Capital, DecaysByAnOrderOfMagnitudeInSevenYears) {
  EXPECT_NEAR(DecayPerHour(Dollars(10000)).value(),
              10000 * 0.14 * 2.302585093 / 8766, 1e-9);
  EXPECT_NEAR(DecayedValue(Dollars(10000), 1 / 0.14).value(), 1000, 1e-9);
}

struct Priced {
  System system;
  MachineCost cost;
};

Priced Price(const std::string& preset, int nodes,
             std::optional<DollarsPerHour> rent = {}) {
  System system = Preset(preset, nodes);
  const auto graph = BuildGraph(system);
  CHECK(graph.ok());
  const auto prices = LoadPrices(Catalog(), {});
  CHECK(prices.ok()) << prices.status().ToString();
  auto cost = MachineCost::Create(system, *graph, *prices, rent);
  CHECK(cost.ok()) << cost.status().ToString();
  return {std::move(system), *std::move(cost)};
}

// How many of a part are bought.
double Bought(const MachineCost& cost, const std::string& what) {
  for (const BillItem& item : cost.items()) {
    if (item.what == what) return item.count;
  }
  return 0;
}

// A node that is used by itself has NICs, and nothing that they lead to.
TEST(MachineCost, ANodeByItselfBuysNoNetwork) {
  const Priced one = Price("dgx_h100_ib400", 1);
  EXPECT_EQ(Bought(one.cost, "NDR NICs"), 8);
  for (const char* part :
       {"NDR switches", "NDR host links", "NDR fabric links"}) {
    EXPECT_EQ(Bought(one.cost, part), 0) << part;
  }
}

// Switches of 64 ports, one port per GPU. Up to 8 nodes share one; 16 nodes are
// 128 ports in 4 leaves of 32, whose 128 cables up need 2 spines; 256 nodes
// fill two tiers: 64 leaves and 32 spines, as built.
TEST(MachineCost, ATreeIsBoughtAsFarAsItIsUsed) {
  const struct {
    int nodes, switches, fabric_links;
  } cases[] = {{2, 1, 0}, {8, 1, 0}, {9, 5, 72}, {16, 6, 128}, {256, 96, 2048}};
  for (const auto& c : cases) {
    const Priced priced = Price("dgx_h100_ib400", c.nodes);
    EXPECT_EQ(Bought(priced.cost, "NDR switches"), c.switches) << c.nodes;
    EXPECT_EQ(Bought(priced.cost, "NDR fabric links"), c.fabric_links)
        << c.nodes;
    EXPECT_EQ(Bought(priced.cost, "NDR host links"), 8 * c.nodes);
  }
}

// Of any tree of random size: no more than is built, room for all end points
// and their cables, and more end points never need less.
TEST(NetworkParts, AreBoughtInWhatTheEndPointsNeed) {
  Rng rng(1, "bought parts");
  for (int i = 0; i < 20; ++i) {
    const int nodes = 2 + static_cast<int>(rng.Below(300));
    const bool planes = rng.Below(2) == 0;
    const System system = Preset("dgx_h100_ib400", nodes, planes);
    const auto graph = BuildGraph(system);
    ASSERT_THAT(graph, IsOk());
    const auto outside = [](const NetworkParts& parts) {
      for (const auto& of : parts.classes) {
        if (!of.inside) return of;
      }
      CHECK(false) << "no scale-out network";
      return NetworkParts::OfClass();
    };
    const auto built = outside(CountParts(*graph));
    const auto bought = outside(BoughtParts(system, CountParts(*graph)));
    EXPECT_LE(bought.switches, built.switches) << nodes;
    EXPECT_LE(bought.fabric_links, built.fabric_links) << nodes;
    EXPECT_EQ(bought.host_links, built.host_links) << nodes;
    EXPECT_GE(bought.switches * 64, bought.host_links + 2 * bought.fabric_links)
        << nodes;
    const System larger = Preset("dgx_h100_ib400", nodes + 1, planes);
    const auto more = BuildGraph(larger);
    ASSERT_THAT(more, IsOk());
    const auto next = outside(BoughtParts(larger, CountParts(*more)));
    EXPECT_GE(next.switches, bought.switches) << nodes;
    EXPECT_GE(next.fabric_links, bought.fabric_links) << nodes;
  }
}

// What a server has beside its chips is shared by them: 288 chips cost as much
// whether a node has 36, 72 or 144 of them.
TEST(MachineCost, NodesOfAnySizePayTheirShare) {
  const auto prices = LoadPrices(Catalog(), {});
  ASSERT_THAT(prices, IsOk());
  for (const int chips : {36, 72, 144}) {
    ASSERT_OK_AND_ASSIGN(
        const pb::System proto,
        ResolveSystem(
            Catalog(), "gb200_nvl72",
            {fmt::format("system.nodes={}", 288 / chips),
             fmt::format("system.chips_per_node={}", chips),
             fmt::format("system.scale_out.nics_per_node={}", chips)}));
    ASSERT_OK_AND_ASSIGN(const System system, System::FromProto(proto));
    ASSERT_OK_AND_ASSIGN(const Graph graph, BuildGraph(system));
    ASSERT_OK_AND_ASSIGN(const MachineCost cost,
                         MachineCost::Create(system, graph, *prices, {}));
    // 288 x 700 000 / 72.
    EXPECT_NEAR(Bought(cost, "rest of the servers") * 9722.22 / 2.8e6, 1, 1e-6);
  }
}

// 256 nodes at 310 000 USD, 96 switches at 36 000 and 2560 USD of cables per
// GPU: 88.06 MUSD, the sheet's 100.86 less 50 000 a node for the facility.
TEST(MachineCost, CapitalIsThatOfTheClusterSheet) {
  const Priced priced = Price("dgx_h100_ib400", 256);
  EXPECT_NEAR(priced.cost.Capital(PriceDraw::Nominal()).value(),
              100858880 - 256 * 50000, 1);
}

// SemiAnalysis, November 2025: 1.41 USD an hour, 1.06 of it capital.
TEST(MachineCost, OfAnH200IsNearThePublishedHour) {
  const Priced priced = Price("h200_ib400", 128);
  const PriceDraw nominal = PriceDraw::Nominal();
  const auto hour = priced.cost.ChipHour(
      nominal, priced.cost.power_limit() * priced.cost.Rates(nominal).host);
  constexpr double kPublished = 1.41;
  EXPECT_NEAR(hour.total().value() / kPublished, 1, 0.15)
      << hour.total().value();
}

TEST(MachineCost, OfARentedChipIsItsRent) {
  const Priced priced = Price("dgx_h100_ib400", 2, DollarsPerHour(2.5));
  EXPECT_DOUBLE_EQ(
      priced.cost.ChipHour(PriceDraw::Nominal(), Watts(1e6)).total().value(),
      2.5);
}

// Every system of the catalogue can be priced.
TEST(MachineCost, EverySystemHasAllItsPrices) {
  for (const std::string& name : Catalog().Names("systems")) {
    const int nodes = name.find("tpu") == 0 ? 16 : 4;
    const Priced priced = Price(name, nodes);
    EXPECT_GT(priced.cost.Capital(PriceDraw::Nominal()).value(), 0) << name;
    EXPECT_GT(priced.cost.power_limit().value(), 0) << name;
  }
}

TEST(MachineCost, NamesThePriceThatIsMissing) {
  const System system = Preset("dgx_h100_ib400", 2);
  const auto graph = BuildGraph(system);
  ASSERT_THAT(graph, IsOk());
  ASSERT_OK_AND_ASSIGN(pb::PriceList list, Catalog().Prices("market_2025"));
  for (auto& price : *list.mutable_price()) {
    if (price.id() == "nic/ndr") price.set_id("nic/other");
  }
  ASSERT_OK_AND_ASSIGN(const PriceTable prices,
                       PriceTable::FromProto(list, {}));
  EXPECT_THAT(MachineCost::Create(system, *graph, prices, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no 'nic/ndr'")));
}

TEST(MachineCost, RefusesRatesThatCannotBe) {
  const System system = Preset("dgx_h100_ib400", 2);
  const auto graph = BuildGraph(system);
  ASSERT_THAT(graph, IsOk());
  ASSERT_OK_AND_ASSIGN(const pb::PriceList list,
                       Catalog().Prices("market_2025"));
  pb::CostOptions options;
  auto& lifetime = *options.add_price();
  lifetime.set_id("finance/lifetime");
  lifetime.mutable_price()->set_nominal("0 years");
  ASSERT_OK_AND_ASSIGN(const PriceTable prices,
                       PriceTable::FromProto(list, options));
  EXPECT_THAT(MachineCost::Create(system, *graph, prices, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'finance/lifetime': must be a number from")));
}

// Power that Splitwise measured on A100s (arXiv 2311.18677), as a share of the
// limit: weights are streamed once per token, and arithmetic is two operations
// per parameter and token. The published times are given.
TEST(StepEnergy, IsNearThePowerThatWasMeasured) {
  ASSERT_OK_AND_ASSIGN(
      const MeasurementTable table,
      MeasurementTable::Open("validation/power.csv", "power.csv",
                             {"system", "num_gpus", "average_power_share"}));
  constexpr double kBar = 0.15;
  int rows = 0;
  for (const MeasurementRow& row : table.rows()) {
    // A reading below the power of an idle chip.
    if (row.Has("note")) continue;
    const auto number = [&](const char* column) {
      const auto value = row.Positive(column);
      CHECK(value.ok()) << value.status().ToString();
      return *value;
    };
    const Priced priced = Price(row.Text("system"), 1);
    const Chip& chip = priced.system.chip();
    const double share_of_chips = number("num_gpus") / priced.system.chips();
    const double output = number("output");
    const double seconds =
        (number("ttft_ms") + (output - 1) * number("tpot_ms")) / 1e3;
    // As if every chip of the node did what those of the run did.
    StepWork work{.time = FromSeconds(seconds)};
    work.arithmetic = Flops(2 * number("parameters") * number("batch") *
                            (number("prompt") + output) / share_of_chips);
    work.memory_bytes = 2 * number("parameters") * output / share_of_chips;
    const StepEnergy energy =
        EnergyOf(priced.system, *chip.peak(DType::kFp16), work,
                 priced.cost.Rates(PriceDraw::Nominal()));
    const double share = energy.chips().value() / seconds /
                         (chip.power()->value() * priced.system.chips());
    EXPECT_NEAR(share / number("average_power_share"), 1, kBar) << row.id();
    ++rows;
  }
  EXPECT_EQ(rows, 19);
}

// A chip never draws more than its limit, nor less than its base.
TEST(StepEnergy, StaysWithinTheLimit) {
  const Priced priced = Price("dgx_h100_ib400", 1);
  const EnergyRates rates = priced.cost.Rates(PriceDraw::Nominal());
  const FlopsPerSecond peak = *priced.system.chip().peak(DType::kBf16);
  const Duration second = FromSeconds(1);
  const double limit = 8 * 700;
  EXPECT_NEAR(
      EnergyOf(priced.system, peak, {.time = second}, rates).chips().value(),
      rates.base * limit, 1e-9);
  EXPECT_NEAR(
      EnergyOf(
          priced.system, peak,
          {.time = second, .arithmetic = Flops(1e18), .memory_bytes = 1e15},
          rates)
          .chips()
          .value(),
      limit, 1e-6);
}

// The power limit holds the clock of a chip that multiplies all of the time
// below the nominal one. At the rate that is left it draws its limit, and at
// half of that rate half of what is above its base.
TEST(StepEnergy, AChipThatOnlyMultipliesDrawsItsLimit) {
  const Priced priced = Price("dgx_h100_ib400", 1);
  const EnergyRates rates = priced.cost.Rates(PriceDraw::Nominal());
  const Chip& chip = priced.system.chip();
  const FlopsPerSecond peak = *chip.peak(DType::kBf16);
  const double clock = PowerLimit::Of(chip).Clock(DType::kBf16, 1, 0);
  EXPECT_LT(clock, 0.95);
  const auto share_drawn = [&](double share_of_time) {
    const StepWork work{
        .time = FromSeconds(1),
        .arithmetic = Flops(8 * peak.value() * clock * share_of_time)};
    return EnergyOf(priced.system, peak, work, rates).chips().value() /
           (8 * 700);
  };
  EXPECT_NEAR(share_drawn(1), 1, 1e-9);
  EXPECT_NEAR(share_drawn(0.5), (1 + rates.base) / 2, 1e-9);
}

}  // namespace
}  // namespace orrery
