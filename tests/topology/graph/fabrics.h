#pragma once
// Small fabrics for tests: links of 1 byte per second, so that a bandwidth is a
// number of links and a load is a time.
#include "topology/graph/build.h"
#include "topology/graph/graph.h"

namespace orrery {

// A vertex by its number.
inline VertexId V(int64_t i) { return static_cast<VertexId>(i); }

inline Fabric UnitFabric(FabricKind kind, int64_t endpoints,
                         Routing routing = Routing::kSpray) {
  return {.link = {.name = "unit",
                   .bandwidth = BytesPerSecond(1),
                   .latency = Duration(1),
                   .price_id = ""},
          .kind = std::move(kind),
          .routing = routing,
          .endpoints = endpoints};
}

inline Graph UnitGraph(FabricKind kind, int64_t endpoints, int32_t rails = 1) {
  absl::StatusOr<Graph> graph =
      BuildFabric(UnitFabric(std::move(kind), endpoints), rails);
  CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

}  // namespace orrery
