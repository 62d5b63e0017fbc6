#include "topology/machine/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "proto/fabric.pb.h"
#include "tests/status_matchers.h"
#include "tests/topology/machine/protos.h"
#include "topology/machine/fabric_proto.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
absl::StatusOr<Fabric> Read(const std::string& kind, int64_t endpoints) {
  const pb::Fabric proto = With(
      pb::Fabric(), "link { name: 'l' bandwidth: '10 GB/s' latency: '1 us' } " +
                        (kind.find("routing") == std::string::npos
                             ? "routing: MINIMAL " + kind
                             : kind));
  Violations violations;
  const auto fabric =
      ReadFabric(FieldReader(proto, "fabric", &violations), endpoints);
  RETURN_IF_ERROR(violations.ToStatus());
  return *fabric;
}

// 8960 = 16 x 20 x 28 is the full TPU v5p pod; no shape has a shorter longest
// side. A prime has only one shape.
TEST(MostEvenShape, TheLongestSideIsAsShortAsCanBe) {
  EXPECT_THAT(MostEvenShape(4096, 3), ElementsAre(16, 16, 16));
  EXPECT_THAT(MostEvenShape(8960, 3), ElementsAre(16, 20, 28));
  EXPECT_THAT(MostEvenShape(128, 3), ElementsAre(4, 4, 8));
  EXPECT_THAT(MostEvenShape(256, 2), ElementsAre(16, 16));
  EXPECT_THAT(MostEvenShape(13, 2), ElementsAre(1, 13));
  EXPECT_THAT(MostEvenShape(12, 1), ElementsAre(12));
}

// Tier counts of a folded Clos of 64-port switches: k^2/2 = 2048 hosts with two
// tiers, k^3/4 = 65536 with three; tapered 3:1, a leaf has 48 ports down:
// 48 x 64 = 3072.
TEST(Capacity, AFatTreeHoldsWhatItsPortsAllow) {
  EXPECT_EQ(Capacity(FatTreeFabric{2, 64, 1.0, false}), 2048);
  EXPECT_EQ(Capacity(FatTreeFabric{3, 64, 1.0, false}), 65536);
  EXPECT_EQ(Capacity(FatTreeFabric{2, 64, 3.0, false}), 3072);
}

TEST(ReadFabric, ATreeHasAsFewTiersAsHaveRoom) {
  const auto tiers = [](int64_t endpoints) {
    return std::get<FatTreeFabric>(
               Read("fat_tree { radix: 64 taper: 1 }", endpoints)->kind)
        .tiers;
  };
  EXPECT_EQ(tiers(2048), 2);
  EXPECT_EQ(tiers(2049), 3);
  EXPECT_THAT(Read("fat_tree { radix: 64 taper: 1 }", 65537),
              StatusIs(kInvalid, HasSubstr("room for 65536 end points")));
  EXPECT_THAT(Read("fat_tree { radix: 64 taper: 1 tiers: 2 }", 2049),
              StatusIs(kInvalid, HasSubstr("room for 2048")));
}

TEST(ReadFabric, ATaperBelowOneIsRefused) {
  EXPECT_THAT(Read("fat_tree { radix: 64 taper: 0.5 }", 8),
              StatusIs(kInvalid,
                       "fabric.fat_tree.taper: 0.5 is not between 1 "
                       "and 1000"));
  EXPECT_THAT(Read("rail_optimized { radix: 1 taper: 1 }", 2),
              StatusIs(kInvalid, HasSubstr("rail_optimized.radix: 1 is not")));
}

TEST(ReadFabric, AShapeMakesTheEndPoints) {
  EXPECT_OK(Read("torus { shape: [4, 4, 4] }", 64));
  EXPECT_THAT(Read("torus { shape: [4, 4] }", 64),
              StatusIs(kInvalid,
                       "fabric.torus.shape: 4 x 4 does not make the 64 end "
                       "points; 8 x 8 would"));
  EXPECT_THAT(Read("mesh { shape: [-4, -16] }", 64),
              StatusIs(kInvalid, HasSubstr("mesh.shape[0]: -4 is not")));
  // The product overflows 64 bits if taken without care.
  EXPECT_THAT(Read("torus { shape: [9999999, 9999999, 9999999] }", 64),
              StatusIs(kInvalid, HasSubstr("does not make the 64")));
  EXPECT_THAT(Read("torus { shape: [8, 8] dimensions: 3 }", 64),
              StatusIs(kInvalid, HasSubstr("shape has 2 sides")));
}

TEST(ReadFabric, AnUnsetTorusShapeIsTheMostEvenOne) {
  const auto fabric = Read("torus { dimensions: 3 }", 128);
  EXPECT_THAT(std::get<TorusFabric>(fabric->kind).shape, ElementsAre(4, 4, 8));
  EXPECT_THAT(Read("torus { }", 128),
              StatusIs(kInvalid, HasSubstr("torus.dimensions: not set")));
}

// p = 4, a = 8, h = 4: 32 hosts a group, at most 8 x 4 + 1 = 33 groups, 1056
// hosts.
TEST(ReadFabric, ADragonflyHasTheGroupsItNeeds) {
  const std::string kind =
      "dragonfly { hosts_per_router: 4 routers_per_group: 8 "
      "globals_per_router: 4 }";
  EXPECT_EQ(std::get<DragonflyFabric>(Read(kind, 1056)->kind).groups, 33);
  EXPECT_EQ(std::get<DragonflyFabric>(Read(kind, 65)->kind).groups, 3);
  EXPECT_THAT(Read(kind, 1057), StatusIs(kInvalid, HasSubstr("34 groups")));
  EXPECT_THAT(Read("dragonfly { hosts_per_router: 4 routers_per_group: 8 "
                   "globals_per_router: 4 groups: 2 }",
                   65),
              StatusIs(kInvalid, HasSubstr("65 end points; 3 would do")));
}

TEST(ReadFabric, AHyperXSharesItsHostsEvenly) {
  EXPECT_OK(Read("hyperx { shape: [4, 4] hosts_per_router: 4 }", 64));
  EXPECT_THAT(Read("hyperx { shape: [4, 4] hosts_per_router: 5 }", 64),
              StatusIs(kInvalid, HasSubstr("does not divide")));
  EXPECT_THAT(Read("hyperx { shape: [4, 4] hosts_per_router: 4 links: 2 }", 64),
              StatusIs(kInvalid, HasSubstr("1 numbers for 2 sides")));
}

TEST(ReadFabric, ALinkListStaysInsideTheGraph) {
  EXPECT_OK(
      Read("links { switches: 1 link { from: 0 to: 2 } "
           "link { from: 1 to: 2 } }",
           2));
  EXPECT_THAT(
      Read("links { link { from: 0 to: 2 } }", 2),
      StatusIs(kInvalid, "fabric.links.link[0].to: 2 is not between 0 and 1"));
  EXPECT_THAT(Read("links { link { from: 1 to: 1 } }", 2),
              StatusIs(kInvalid, HasSubstr("where the link starts")));
}

TEST(ReadFabric, KindAndRoutingMustBeSaid) {
  EXPECT_THAT(Read("", 2), StatusIs(kInvalid, HasSubstr("one of "
                                                        "fully_connected")));
  EXPECT_THAT(Read("routing: ROUTING_UNSPECIFIED ring { }", 2),
              StatusIs(kInvalid,
                       "fabric.routing: ROUTING_UNSPECIFIED; write one of "
                       "MINIMAL, DIMENSION_ORDERED, SPRAY, ECMP, VALIANT, "
                       "ADAPTIVE"));
  EXPECT_THAT(Read("routing: DIMENSION_ORDERED ring { }", 2),
              StatusIs(kInvalid, HasSubstr("needs a mesh")));
}

// Links of 10 GB/s. Switch: 12 of them. Full mesh of 8: 7. Ring: 2. Torus
// 4 x 4 x 4: 6; 4 x 1: 2. Mesh 2 x 4: 1 + 2. List: chip 0 has two.
TEST(EndpointBandwidth, IsAllLinksOfAChip) {
  const auto bandwidth = [](const char* kind, int64_t endpoints) {
    return EndpointBandwidth(*Read(kind, endpoints)).value() / 1e9;
  };
  EXPECT_DOUBLE_EQ(bandwidth("switch { planes: 6 links_per_endpoint: 12 }", 8),
                   120);
  EXPECT_DOUBLE_EQ(bandwidth("fully_connected { }", 8), 70);
  EXPECT_DOUBLE_EQ(bandwidth("ring { }", 8), 20);
  EXPECT_DOUBLE_EQ(bandwidth("torus { shape: [4, 4, 4] }", 64), 60);
  EXPECT_DOUBLE_EQ(bandwidth("torus { shape: [4, 1] }", 4), 20);
  EXPECT_DOUBLE_EQ(bandwidth("mesh { shape: [2, 4] }", 8), 30);
  EXPECT_DOUBLE_EQ(
      bandwidth("links { link { from: 0 to: 1 } link { from: 0 to: 2 } }", 3),
      20);
}

}  // namespace
}  // namespace orrery
