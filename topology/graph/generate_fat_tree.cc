#include "topology/graph/generate_fat_tree.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "base/status.h"

namespace orrery {
namespace {

using Leaves = std::vector<std::vector<VertexId>>;

size_t CeilDivide(size_t a, size_t b) { return (a + b - 1) / b; }

// The fewest upper switches, at least `needed`, over which `cables` can be
// dealt evenly. With an uneven deal two lower switches would have their second
// cables on different upper ones, and no routing could use them all between
// these two. Requires: 1 <= needed <= cables.
size_t EvenlyDealt(size_t cables, size_t needed) {
  CHECK(needed >= 1 && needed <= cables);
  size_t upper = needed;
  while (cables % upper != 0) ++upper;
  return upper;
}

// As many cables from every lower switch to every upper one. Requires:
// `upper.size()` divides `cables`.
void Deal(GraphBuilder& builder, absl::Span<const VertexId> lower,
          absl::Span<const VertexId> upper, size_t cables,
          const LinkSpec& link) {
  CHECK_EQ(cables % upper.size(), 0u);
  LinkSpec spec = link;
  spec.cables = static_cast<int32_t>(cables / upper.size()) * link.cables;
  for (VertexId l : lower) {
    for (VertexId u : upper) builder.AddDuplex(l, u, spec);
  }
}

absl::Status AddTiers(GraphBuilder& builder, const Leaves& leaves,
                      const FatTreeShape& shape, const LinkSpec& link) {
  ASSIGN_OR_RETURN(const int32_t down, LeafDownPorts(shape));
  const size_t radix = static_cast<size_t>(shape.radix);
  const size_t up = radix - static_cast<size_t>(down);
  const std::vector<VertexId> leaf = builder.AddVertices(
      VertexKind::kSwitch, static_cast<int32_t>(leaves.size()));
  for (size_t l = 0; l < leaves.size(); ++l) {
    for (VertexId point : leaves[l]) builder.AddDuplex(point, leaf[l], link);
  }
  if (shape.tiers == 1 || leaves.size() == 1) return absl::OkStatus();
  if (shape.tiers == 2) {
    const size_t spines =
        EvenlyDealt(up, CeilDivide(leaves.size() * up, radix));
    Deal(builder, leaf,
         builder.AddVertices(VertexKind::kSwitch, static_cast<int32_t>(spines)),
         up, link);
    return absl::OkStatus();
  }
  const size_t leaves_per_pod = radix / 2;
  const size_t pods = CeilDivide(leaves.size(), leaves_per_pod);
  std::vector<std::vector<VertexId>> plane(up);  // aggregation j of every pod
  for (size_t pod = 0; pod < pods; ++pod) {
    const std::vector<VertexId> aggregation =
        builder.AddVertices(VertexKind::kSwitch, static_cast<int32_t>(up));
    Deal(
        builder,
        absl::MakeConstSpan(leaf).subspan(pod * leaves_per_pod, leaves_per_pod),
        aggregation, up, link);
    for (size_t j = 0; j < up; ++j) plane[j].push_back(aggregation[j]);
  }
  if (pods == 1) return absl::OkStatus();
  const size_t cores =
      EvenlyDealt(radix / 2, CeilDivide(pods * (radix / 2), radix));
  for (size_t j = 0; j < up; ++j) {
    Deal(builder, plane[j],
         builder.AddVertices(VertexKind::kSwitch, static_cast<int32_t>(cores)),
         radix / 2, link);
  }
  return absl::OkStatus();
}

absl::Status CheckFits(size_t points, const FatTreeShape& shape) {
  ASSIGN_OR_RETURN(const int64_t capacity, FatTreeCapacity(shape));
  if (static_cast<int64_t>(points) > capacity) {
    return absl::InvalidArgumentError(fmt::format(
        "fat tree: {} end points, but {} tier(s) of radix {} tapered {}:1 hold "
        "{}; use more tiers or a larger radix",
        points, shape.tiers, shape.radix, shape.taper, capacity));
  }
  return absl::OkStatus();
}

absl::Status CheckRails(size_t points, int32_t rails) {
  if (rails < 1 || points % static_cast<size_t>(rails) != 0) {
    return absl::InvalidArgumentError(fmt::format(
        "rails: {} end points are not whole islands of {}", points, rails));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int32_t> LeafDownPorts(const FatTreeShape& shape) {
  if (shape.tiers < 1 || shape.tiers > 3) {
    return absl::InvalidArgumentError(
        fmt::format("fat tree: tiers must be 1, 2 or 3, got {}", shape.tiers));
  }
  constexpr int32_t kMostPorts = 1 << 14;
  if (shape.radix < 2 || shape.radix % 2 != 0 || shape.radix > kMostPorts) {
    return absl::InvalidArgumentError(
        fmt::format("fat tree: radix must be an even number from 2 to {}, got "
                    "{}",
                    kMostPorts, shape.radix));
  }
  if (!(shape.taper >= 1)) {
    return absl::InvalidArgumentError(fmt::format(
        "fat tree: taper must be at least 1 (full bisection), got {}",
        shape.taper));
  }
  if (shape.tiers == 1) return shape.radix;
  const int32_t up =
      static_cast<int32_t>(std::lround(shape.radix / (1 + shape.taper)));
  if (up < 1) {
    return absl::InvalidArgumentError(
        fmt::format("fat tree: taper {} leaves no port up on radix {}; lower "
                    "the taper or raise the radix",
                    shape.taper, shape.radix));
  }
  return shape.radix - up;
}

absl::StatusOr<int64_t> FatTreeCapacity(const FatTreeShape& shape) {
  ASSIGN_OR_RETURN(const int64_t down, LeafDownPorts(shape));
  const int64_t radix = shape.radix;
  switch (shape.tiers) {
    case 1:
      return radix;
    case 2:
      return down * radix;
    default:
      return down * (radix / 2) * radix;
  }
}

absl::StatusOr<int32_t> TiersFor(int64_t points, int32_t radix, double taper) {
  for (int32_t tiers = 1; tiers <= 3; ++tiers) {
    ASSIGN_OR_RETURN(const int64_t capacity,
                     FatTreeCapacity({tiers, radix, taper}));
    if (points <= capacity) return tiers;
  }
  return absl::InvalidArgumentError(fmt::format(
      "fat tree: {} end points are more than three tiers of radix {} hold; "
      "raise the radix",
      points, radix));
}

absl::Status AddFatTree(GraphBuilder& builder,
                        absl::Span<const VertexId> points,
                        const FatTreeShape& shape, const LinkSpec& link) {
  RETURN_IF_ERROR(CheckFits(points.size(), shape));
  ASSIGN_OR_RETURN(const int32_t down, LeafDownPorts(shape));
  const size_t per_leaf = static_cast<size_t>(down);
  Leaves leaves(CeilDivide(points.size(), per_leaf));
  for (size_t i = 0; i < points.size(); ++i) {
    leaves[i / per_leaf].push_back(points[i]);
  }
  return AddTiers(builder, leaves, shape, link);
}

absl::Status AddRailOptimized(GraphBuilder& builder,
                              absl::Span<const VertexId> points, int32_t rails,
                              const FatTreeShape& shape, const LinkSpec& link) {
  RETURN_IF_ERROR(CheckRails(points.size(), rails));
  ASSIGN_OR_RETURN(const int32_t down, LeafDownPorts(shape));
  const size_t per_leaf = static_cast<size_t>(down);
  const size_t rail_count = static_cast<size_t>(rails);
  const size_t islands = points.size() / rail_count;
  // Rail r of islands [g d, (g+1) d) is leaf g * rails + r; short rails share a
  // leaf where one each would be more leaves than the tiers hold.
  size_t rails_per_leaf = 1;
  const auto leaf_count = [&] {
    return CeilDivide(islands, per_leaf) *
           CeilDivide(rail_count, rails_per_leaf);
  };
  if (!CheckFits(leaf_count() * per_leaf, shape).ok() && islands < per_leaf) {
    rails_per_leaf = per_leaf / islands;
  }
  RETURN_IF_ERROR(CheckFits(leaf_count() * per_leaf, shape));
  Leaves leaves(leaf_count());
  const size_t leaves_per_group = CeilDivide(rail_count, rails_per_leaf);
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t island = i / rail_count;
    const size_t rail = i % rail_count;
    leaves[island / per_leaf * leaves_per_group + rail / rails_per_leaf]
        .push_back(points[i]);
  }
  return AddTiers(builder, leaves, shape, link);
}

absl::Status AddRailOnly(GraphBuilder& builder,
                         absl::Span<const VertexId> points, int32_t rails,
                         int32_t radix, const LinkSpec& link) {
  RETURN_IF_ERROR(CheckRails(points.size(), rails));
  const size_t rail_count = static_cast<size_t>(rails);
  const int64_t islands = static_cast<int64_t>(points.size() / rail_count);
  ASSIGN_OR_RETURN(const int32_t tiers, TiersFor(islands, radix, 1));
  for (size_t rail = 0; rail < rail_count; ++rail) {
    std::vector<VertexId> members;
    for (size_t i = rail; i < points.size(); i += rail_count) {
      members.push_back(points[i]);
    }
    RETURN_IF_ERROR(AddFatTree(builder, members, {tiers, radix, 1}, link));
  }
  return absl::OkStatus();
}

}  // namespace orrery
