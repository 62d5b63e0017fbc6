#pragma once
// Dragonfly (Kim et al., ISCA 2008): groups of fully connected routers, groups
// connected to each other by global links.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include "topology/graph/graph.h"

namespace orrery {

struct DragonflyShape {
  int32_t hosts_per_router = 1;    // p
  int32_t routers_per_group = 2;   // a
  int32_t globals_per_router = 1;  // h
  int32_t groups = 3;              // at most a h + 1
};

// Fills groups in order. The a h global ports of a group reach the other groups
// in turn, each equally often; ports that do not divide stay unused.
absl::Status AddDragonfly(GraphBuilder& builder,
                          absl::Span<const VertexId> points,
                          const DragonflyShape& shape, const LinkSpec& link);

}  // namespace orrery
