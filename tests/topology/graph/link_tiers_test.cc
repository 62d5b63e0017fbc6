#include "topology/graph/link_tiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

// Two islands of two chips and a switch each; a NIC per chip; two leaves and a
// spine.
TEST(LinkTiers, NameTheNetworkAndBothEndsOfALink) {
  GraphBuilder builder;
  const auto chips = builder.AddVertices(VertexKind::kChip, 4);
  const auto nics = builder.AddVertices(VertexKind::kNic, 4);
  const auto switches = builder.AddVertices(VertexKind::kSwitch, 5);
  const BytesPerSecond rate(1e9);
  const LinkSpec island = {rate, {}, builder.AddLinkClass({"NVLink", ""})};
  const LinkSpec port = {rate, {}, builder.AddLinkClass({"NIC", ""})};
  const LinkSpec cable = {rate, {}, builder.AddLinkClass({"NDR", ""})};
  for (size_t i = 0; i < 4; ++i) {
    builder.AddDuplex(chips[i], switches[i / 2], island);
    builder.AddDuplex(chips[i], nics[i], port);
    builder.AddDuplex(nics[i], switches[2 + i / 2], cable);
  }
  builder.AddDuplex(switches[2], switches[4], cable);
  builder.AddDuplex(switches[3], switches[4], cable);
  const Graph graph = std::move(builder).Build();
  const LinkTiers tiers(graph);
  std::multiset<std::string> names;
  for (const LinkId link : graph.links())
    names.insert(tiers.Name(tiers.of(link)));
  EXPECT_EQ(names.count("scale-up: NVLink, chip to switch"), 8u);
  EXPECT_EQ(names.count("scale-out: NIC, chip to NIC"), 8u);
  EXPECT_EQ(names.count("scale-out: NDR, NIC to tier 1"), 8u);
  EXPECT_EQ(names.count("scale-out: NDR, tier 1 to tier 2"), 4u);
  EXPECT_EQ(names.size(), 28u);
}

// A torus has neither switches nor NICs.
TEST(LinkTiers, LinksBetweenChipsAreScaleUp) {
  GraphBuilder builder;
  const auto chips = builder.AddVertices(VertexKind::kChip, 2);
  builder.AddDuplex(
      chips[0], chips[1],
      {BytesPerSecond(1e9), {}, builder.AddLinkClass({"ICI", ""})});
  const Graph graph = std::move(builder).Build();
  const LinkTiers tiers(graph);
  EXPECT_EQ(tiers.Name(tiers.of(LinkId{0})), "scale-up: ICI, chip to chip");
  EXPECT_EQ(tiers.of(LinkId{0}), tiers.of(LinkId{1}));
}

}  // namespace
}  // namespace orrery
