// Each fabric routes by its own rule: how traffic between islands is routed is
// no matter of the traffic inside them, and the other way round.
#include <gtest/gtest.h>

#include "base/format.h"
#include "tests/sim/network/networks.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

constexpr const char* kRoutings[] = {"SPRAY", "MINIMAL", "ECMP", "VALIANT",
                                     "ADAPTIVE"};
constexpr const char* kIslands[] = {
    "switch { planes: 4 links_per_endpoint: 4 reduces: true }",
    "fully_connected {}", "ring {}", "torus { shape: [2, 2] }",
    "mesh { shape: [2, 2] }"};
constexpr const char* kFabrics[] = {
    "rail_optimized { radix: 8 taper: 1 }", "fat_tree { radix: 8 taper: 2 }",
    "switch { planes: 2 links_per_endpoint: 2 }",
    "dragonfly { hosts_per_router: 2 routers_per_group: 2 "
    "globals_per_router: 2 }"};

pb::System Machine(int islands, const char* island, const char* fabric,
                   const char* inside, const char* between) {
  pb::System system = IslandSystem(islands, 4);
  *system.mutable_scale_up()->mutable_fabric() =
      With(system.scale_up().fabric(),
           fmt::format("{} routing: {}", island, inside));
  *system.mutable_scale_out()->mutable_fabric() =
      With(system.scale_out().fabric(),
           fmt::format("{} routing: {}", fabric, between));
  return system;
}

double SecondsOf(const pb::System& system, Kind kind,
                 const std::vector<VertexId>& chips) {
  PlannedNetwork network(system);
  return TimeAlone(network, {kind, Bytes(1 << 26), chips});
}

TEST(IslandRouting, IsNoMatterOfTheFabricBetweenIslands) {
  for (const char* island : kIslands) {
    for (const char* fabric : kFabrics) {
      for (Kind kind : {Kind::kAllReduce, Kind::kAllGather, Kind::kAllToAll}) {
        const double expected =
            SecondsOf(Machine(3, island, fabric, "SPRAY", "SPRAY"), kind,
                      ChipRange(4, 4));
        for (const char* between : kRoutings) {
          EXPECT_EQ(SecondsOf(Machine(3, island, fabric, "SPRAY", between),
                              kind, ChipRange(4, 4)),
                    expected)
              << island << " " << fabric << " " << between;
        }
      }
    }
  }
}

// A chip per island: nothing is inside.
TEST(IslandRouting, FabricRoutingIsNoMatterOfTheIslands) {
  for (const char* between : kRoutings) {
    const double expected =
        SecondsOf(Machine(4, kIslands[0], kFabrics[0], "SPRAY", between),
                  Kind::kAllToAll, ChipRange(0, 4, 4));
    for (const char* inside : kRoutings) {
      EXPECT_EQ(SecondsOf(Machine(4, kIslands[0], kFabrics[0], inside, between),
                          Kind::kAllToAll, ChipRange(0, 4, 4)),
                expected)
          << inside << " " << between;
    }
  }
}

// Between two islands there is no third one to go by, and an adaptive fabric
// has nothing to gain from a detour that loads more.
TEST(IslandRouting, TwoIslandsHaveNoDetour) {
  for (const char* island : kIslands) {
    for (const char* fabric : {kFabrics[0], kFabrics[2]}) {
      const auto time = [&](const char* between) {
        return SecondsOf(Machine(2, island, fabric, "SPRAY", between),
                         Kind::kAllToAll, ChipRange(0, 8));
      };
      EXPECT_EQ(time("VALIANT"), time("SPRAY")) << island << fabric;
      EXPECT_EQ(time("ADAPTIVE"), time("SPRAY")) << island << fabric;
    }
  }
}

// Adaptive routing is never slower than spraying, and Valiant never faster than
// what leaves a NIC allows: 12 of 16 blocks of each chip cross.
TEST(IslandRouting, DetoursLoadLinksAndNoLess) {
  for (const char* fabric : kFabrics) {
    const auto time = [&](const char* between) {
      return SecondsOf(Machine(4, kIslands[0], fabric, "SPRAY", between),
                       Kind::kAllToAll, ChipRange(0, 16));
    };
    const double bytes = 0.75 * (1 << 26);
    EXPECT_GE(time("VALIANT"), bytes / 48.5e9) << fabric;
    EXPECT_GE(time("ADAPTIVE"), bytes / 48.5e9) << fabric;
    constexpr double kRounding = 1e-6;
    EXPECT_LE(time("ADAPTIVE"), time("SPRAY") * (1 + kRounding)) << fabric;
  }
}

}  // namespace
}  // namespace orrery
