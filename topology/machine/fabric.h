#pragma once
// Fabric: how end points are wired, as a plain value.
//
// One struct per kind of wiring, in a variant, so that whoever builds a graph,
// a price or a closed form must think of each. Counts that follow from the
// number of end points are already worked out (shapes, tiers, groups): see
// fabric_proto.h, the only place where a Fabric is made from input.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"

namespace orrery {

// One kind of link: what time and money need to know of it.
struct LinkClass {
  std::string name;
  // One direction.
  BytesPerSecond bandwidth;
  // From the first bit sent to the first bit received, one hop.
  Duration latency;
  // Row of the price table; empty where none is named.
  std::string price_id;
};

// A link between every two end points.
struct FullyConnectedFabric {};

// Every end point has `links_per_endpoint` links, spread over `planes` switches
// (an NVSwitch island).
struct SwitchFabric {
  int planes;
  int links_per_endpoint;
  // The switches add up what they forward (NVLS, SHARP).
  bool reduces;
};

// Neighbours in a circle, one link each way.
struct RingFabric {};

// A grid with open ends; the product of the sides is the end points.
struct MeshFabric {
  std::vector<int> shape;
};

// A grid whose lines are closed to rings.
struct TorusFabric {
  std::vector<int> shape;
  // Going around a side of n also shifts every side of 2n by n.
  bool twisted;
  // Sides with open ends, as of small slices of a pod; empty: none.
  std::vector<bool> open = {};
  bool closes(size_t side) const { return open.empty() || !open[side]; }
};

// A folded Clos of switches with `radix` ports and 2 or 3 tiers.
struct FatTreeFabric {
  int tiers;
  int radix;
  // Down-link to up-link bandwidth of a leaf; 1 is full bisection.
  double taper;
  bool reduces;
};

// A fat tree in which rail r, the r-th end point of every island, has leaves of
// its own.
struct RailOptimizedFabric {
  int tiers;
  int radix;
  double taper;
  bool reduces;
};

// Rails without a spine: other rails are reached through the island.
struct RailOnlyFabric {
  int radix;
};

// Kim et al., ISCA 2008: groups of routers, all to all inside and between.
struct DragonflyFabric {
  int hosts_per_router;    // p
  int routers_per_group;   // a
  int globals_per_router;  // h
  int groups;
};

// Ahn et al., SC 2009: all to all along each side of a grid of routers.
struct HyperXFabric {
  std::vector<int> shape;
  int hosts_per_router;    // T
  std::vector<int> links;  // K_i between two neighbours along side i
};

// An explicit graph. End points are 0 .. n-1, switches n .. n+switches-1.
struct LinkListFabric {
  struct Link {
    int from;
    int to;
    // Else there is one link each way.
    bool one_way;
    BytesPerSecond bandwidth;
    Duration latency;
  };
  int switches;
  std::vector<Link> links;
};

using FabricKind =
    std::variant<FullyConnectedFabric, SwitchFabric, RingFabric, MeshFabric,
                 TorusFabric, FatTreeFabric, RailOptimizedFabric,
                 RailOnlyFabric, DragonflyFabric, HyperXFabric, LinkListFabric>;

enum class Routing : uint8_t {
  kMinimal,           // one shortest path, lowest ids first
  kDimensionOrdered,  // meshes, tori, HyperX
  kSpray,             // all shortest paths, even split
  kEcmp,              // one shortest path per flow, by a fixed hash
  kValiant,           // by way of a fixed random intermediate
  kAdaptive,          // the split of minimal and Valiant with least load
};

struct Fabric {
  LinkClass link;
  FabricKind kind;
  Routing routing;
  int64_t endpoints;
};

// The most end points that the fabric's switches and shape have room for;
// nothing where the kind sets no limit.
std::optional<int64_t> Capacity(const FabricKind& kind);

// What one end point can send into the fabric, all its links together; the
// largest where end points differ (ends of a mesh, an explicit list).
BytesPerSecond EndpointBandwidth(const Fabric& fabric);

// `endpoints` as a product of `dimensions` sides with the least longest side,
// in ascending order. Requires: endpoints >= 1, 1 <= dimensions <= 3.
std::vector<int> MostEvenShape(int64_t endpoints, int dimensions);

}  // namespace orrery
