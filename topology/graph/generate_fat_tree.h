#pragma once
// Fat trees and what is made of them: rail-optimised and rail-only fabrics.
//
// A leaf of radix k tapered o:1 has d = k o/(1+o) ports down and u = k/(1+o)
// up. Two tiers: every leaf reaches every spine. Three tiers: k/2 leaves and u
// aggregation switches make a pod, aggregation switch j of every pod reaches
// core group j. Only as many pods are built as the end points need, and the
// fewest spines and cores with room for all cables over which every switch
// below can deal its own evenly: 3 scalable units of 8 leaves with 32 cables up
// get 16 spines, not 12.
// With every port used these are the k-ary trees of Al-Fares et al., SIGCOMM
// 2008. A tree without taper carries any permutation of its end points at full
// rate if traffic is sprayed.
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include "topology/graph/graph.h"

namespace orrery {

struct FatTreeShape {
  int32_t tiers = 2;  // 1 (a single switch), 2 or 3
  int32_t radix = 64;
  double taper = 1;  // of the leaves; 1 is full bisection
};

// The ports of a leaf that point down, or why the shape is impossible.
absl::StatusOr<int32_t> LeafDownPorts(const FatTreeShape& shape);
// The most end points the shape can hold.
absl::StatusOr<int64_t> FatTreeCapacity(const FatTreeShape& shape);
// The fewest tiers (1 to 3) that hold `points`, or why none do.
absl::StatusOr<int32_t> TiersFor(int64_t points, int32_t radix, double taper);

// End points fill the leaves in order.
absl::Status AddFatTree(GraphBuilder& builder,
                        absl::Span<const VertexId> points,
                        const FatTreeShape& shape, const LinkSpec& link);

// `points` holds island after island, `rails` end points each. End point r of
// an island goes to a leaf of rail r; the leaves share aggregation and spine
// (NVIDIA's rail-optimised design).
absl::Status AddRailOptimized(GraphBuilder& builder,
                              absl::Span<const VertexId> points, int32_t rails,
                              const FatTreeShape& shape, const LinkSpec& link);

// The same, but each rail is a network of its own: one switch, or a full
// two-tier tree where one switch has too few ports (arXiv 2307.12169). Traffic
// between rails goes through the islands.
absl::Status AddRailOnly(GraphBuilder& builder,
                         absl::Span<const VertexId> points, int32_t rails,
                         int32_t radix, const LinkSpec& link);

}  // namespace orrery
