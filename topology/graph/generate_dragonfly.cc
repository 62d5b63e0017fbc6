#include "topology/graph/generate_dragonfly.h"

#include <fmt/format.h>

namespace orrery {
namespace {

absl::Status CheckShape(const DragonflyShape& s, size_t points) {
  const int64_t globals =
      static_cast<int64_t>(s.routers_per_group) * s.globals_per_router;
  if (s.hosts_per_router < 1 || s.routers_per_group < 1 ||
      s.globals_per_router < 1 || s.groups < 1 || s.groups > globals + 1) {
    return absl::InvalidArgumentError(fmt::format(
        "dragonfly: p={} a={} h={} with {} groups; p, a and h must be at least "
        "1 and groups between 1 and a h + 1 = {}",
        s.hosts_per_router, s.routers_per_group, s.globals_per_router, s.groups,
        globals + 1));
  }
  const int64_t capacity =
      static_cast<int64_t>(s.hosts_per_router) * s.routers_per_group * s.groups;
  if (static_cast<int64_t>(points) > capacity) {
    return absl::InvalidArgumentError(fmt::format(
        "dragonfly: {} end points, but {} groups of {} routers "
        "with {} hosts each hold {}",
        points, s.groups, s.routers_per_group, s.hosts_per_router, capacity));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddDragonfly(GraphBuilder& builder,
                          absl::Span<const VertexId> points,
                          const DragonflyShape& shape, const LinkSpec& link) {
  if (absl::Status s = CheckShape(shape, points.size()); !s.ok()) return s;
  const int32_t a = shape.routers_per_group;
  const int32_t h = shape.globals_per_router;
  const int32_t g = shape.groups;
  const std::vector<VertexId> routers =
      builder.AddVertices(VertexKind::kSwitch, a * g);
  const auto router = [&](int32_t group, int32_t index) {
    return routers[static_cast<size_t>(group * a + index)];
  };
  for (size_t r = 0; r < routers.size(); ++r) {
    builder.SetGroup(routers[r], static_cast<int32_t>(r) / a);
  }
  for (size_t i = 0; i < points.size(); ++i) {
    builder.SetGroup(points[i],
                     static_cast<int32_t>(i) / (shape.hosts_per_router * a));
    builder.AddDuplex(points[i],
                      routers[i / static_cast<size_t>(shape.hosts_per_router)],
                      link);
  }
  for (int32_t group = 0; group < g; ++group) {
    for (int32_t i = 0; i < a; ++i) {
      for (int32_t j = i + 1; j < a; ++j) {
        builder.AddDuplex(router(group, i), router(group, j), link);
      }
    }
  }
  if (g == 1) return absl::OkStatus();
  // Port q of a group reaches the group q+1 further on; seen from there the
  // way back is g-q-1 further on, port g-q-2 of the same layer.
  const int32_t layers = a * h / (g - 1);
  for (int32_t layer = 0; layer < layers; ++layer) {
    for (int32_t group = 0; group < g; ++group) {
      for (int32_t q = 0; q < g - 1; ++q) {
        const int32_t other = (group + q + 1) % g;
        if (other < group) continue;  // added from the other side
        const int32_t port = layer * (g - 1) + q;
        const int32_t back = layer * (g - 1) + (g - 2 - q);
        builder.AddDuplex(router(group, port / h), router(other, back / h),
                          link);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace orrery
