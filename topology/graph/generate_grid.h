#pragma once
// Grids: rings, meshes, tori, twisted tori and HyperX.
//
// Each function wires the given end points in place and records the grid, so
// that dimension-ordered routing works. Position i of the grid is end point i,
// with the first dimension running fastest.
//
// Twisted torus (Camarero, Martinez and Beivide, "Lattice graphs for high-scale
// interconnection topologies", IEEE TPDS 2015; used by TPU v4, arXiv
// 2304.01433): going once around a dimension of n positions also shifts every
// dimension of 2n positions by n. Defined for shapes whose sides are n and 2n.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include "topology/graph/graph.h"

namespace orrery {

// A line is a mesh of one dimension, a ring a torus of one. A side of 1 has no
// links; a torus side of 2 has two cables between its two positions.
absl::Status AddMesh(GraphBuilder& builder, absl::Span<const VertexId> points,
                     absl::Span<const int32_t> shape, const LinkSpec& link);
absl::Status AddTorus(GraphBuilder& builder, absl::Span<const VertexId> points,
                      absl::Span<const int32_t> shape, const LinkSpec& link,
                      bool twisted = false, const std::vector<bool>& open = {});

// Routers in a grid of `shape`, fully connected along every dimension i with
// `cables[i]` links per pair, `hosts` end points on each (Ahn et al., SC 2009).
struct HyperXShape {
  std::vector<int32_t> shape;
  std::vector<int32_t> cables;  // empty: one everywhere
  int32_t hosts = 1;
};
absl::Status AddHyperX(GraphBuilder& builder, absl::Span<const VertexId> points,
                       const HyperXShape& hyperx, const LinkSpec& link);

}  // namespace orrery
