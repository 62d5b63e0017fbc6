#include "topology/graph/generate_grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/status.h"

namespace orrery {
namespace {

int64_t Product(absl::Span<const int32_t> shape) {
  int64_t product = 1;
  for (int32_t side : shape) product *= side;
  return product;
}

absl::Status CheckShape(absl::Span<const int32_t> shape, int64_t hosts,
                        size_t points) {
  if (shape.empty()) {
    return absl::InvalidArgumentError("a grid needs at least one dimension");
  }
  for (int32_t side : shape) {
    if (side < 1 || side > (1 << 24)) {
      return absl::InvalidArgumentError(fmt::format(
          "grid shape {}: sides must be at least 1", fmt::join(shape, "x")));
    }
  }
  if (Product(shape) * hosts != static_cast<int64_t>(points)) {
    return absl::InvalidArgumentError(fmt::format(
        "grid shape {} with {} end point(s) per position holds {}, not {}",
        fmt::join(shape, "x"), hosts, Product(shape) * hosts, points));
  }
  return absl::OkStatus();
}

// Calls visit(position, coordinates) for every position in order.
template <class Visit>
void ForEachPosition(absl::Span<const int32_t> shape, Visit visit) {
  std::vector<int32_t> at(shape.size(), 0);
  const int64_t count = Product(shape);
  for (int64_t position = 0; position < count; ++position) {
    visit(static_cast<size_t>(position), at);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

size_t PositionOf(absl::Span<const int32_t> shape,
                  absl::Span<const int32_t> at) {
  int64_t position = 0;
  for (size_t d = shape.size(); d-- > 0;)
    position = position * shape[d] + at[d];
  return static_cast<size_t>(position);
}

absl::Status CheckTwist(absl::Span<const int32_t> shape) {
  const int32_t shortest = *std::min_element(shape.begin(), shape.end());
  bool longer = false;
  for (int32_t side : shape) {
    longer |= side == 2 * shortest;
    if (side != shortest && side != 2 * shortest) {
      return absl::InvalidArgumentError(fmt::format(
          "a twisted torus has sides n and 2n, not {}", fmt::join(shape, "x")));
    }
  }
  if (!longer) {
    return absl::InvalidArgumentError(fmt::format(
        "a twisted torus needs a side twice as long as another, not {}",
        fmt::join(shape, "x")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddMesh(GraphBuilder& builder, absl::Span<const VertexId> points,
                     absl::Span<const int32_t> shape, const LinkSpec& link) {
  RETURN_IF_ERROR(CheckShape(shape, 1, points.size()));
  for (VertexId point : points) builder.SetForwards(point);
  ForEachPosition(shape, [&](size_t position, std::vector<int32_t>& at) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (at[d] + 1 == shape[d]) continue;
      ++at[d];
      builder.AddDuplex(points[position], points[PositionOf(shape, at)], link);
      --at[d];
    }
  });
  builder.AddGrid({.shape = {shape.begin(), shape.end()},
                   .step = Grid::Step::kLine,
                   .vertices = {points.begin(), points.end()}});
  return absl::OkStatus();
}

absl::Status AddTorus(GraphBuilder& builder, absl::Span<const VertexId> points,
                      absl::Span<const int32_t> shape, const LinkSpec& link,
                      bool twisted, const std::vector<bool>& open) {
  RETURN_IF_ERROR(CheckShape(shape, 1, points.size()));
  CHECK(open.empty() || (open.size() == shape.size() && !twisted));
  if (twisted) RETURN_IF_ERROR(CheckTwist(shape));
  for (VertexId point : points) builder.SetForwards(point);
  ForEachPosition(shape, [&](size_t position, const std::vector<int32_t>& at) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      std::vector<int32_t> next = at;
      LinkSpec cable = link;
      const bool wraps = ++next[d] == shape[d];
      const bool is_open = !open.empty() && open[d];
      if (wraps && is_open) continue;
      if (wraps) next[d] = 0;
      if (wraps && twisted) {
        for (size_t e = 0; e < shape.size(); ++e) {
          if (shape[e] == 2 * shape[d]) {
            next[e] = (next[e] + shape[d]) % shape[e];
          }
        }
      } else if (shape[d] == 2 && !is_open) {
        if (wraps) continue;  // the way there and the way around: two cables
        cable.cables *= 2;
      }
      builder.AddDuplex(points[position], points[PositionOf(shape, next)],
                        cable);
    }
  });
  builder.AddGrid({.shape = {shape.begin(), shape.end()},
                   .step = Grid::Step::kRing,
                   .twisted = twisted,
                   .open = open,
                   .vertices = {points.begin(), points.end()}});
  return absl::OkStatus();
}

absl::Status AddHyperX(GraphBuilder& builder, absl::Span<const VertexId> points,
                       const HyperXShape& hyperx, const LinkSpec& link) {
  const std::vector<int32_t>& shape = hyperx.shape;
  if (hyperx.hosts < 1) {
    return absl::InvalidArgumentError("HyperX: hosts per router must be >= 1");
  }
  RETURN_IF_ERROR(CheckShape(shape, hyperx.hosts, points.size()));
  if (!hyperx.cables.empty() && hyperx.cables.size() != shape.size()) {
    return absl::InvalidArgumentError(
        "HyperX: links must be given for every dimension or for none");
  }
  for (int32_t cables : hyperx.cables) {
    if (cables < 1) {
      return absl::InvalidArgumentError("HyperX: links must be >= 1");
    }
  }
  const std::vector<VertexId> routers = builder.AddVertices(
      VertexKind::kSwitch, static_cast<int32_t>(Product(shape)));
  const size_t hosts = static_cast<size_t>(hyperx.hosts);
  for (size_t i = 0; i < points.size(); ++i) {
    builder.AddDuplex(points[i], routers[i / hosts], link);
  }
  ForEachPosition(shape, [&](size_t position, const std::vector<int32_t>& at) {
    for (size_t d = 0; d < shape.size(); ++d) {
      LinkSpec cable = link;
      if (!hyperx.cables.empty()) cable.cables *= hyperx.cables[d];
      std::vector<int32_t> other = at;
      while (++other[d] < shape[d]) {
        builder.AddDuplex(routers[position], routers[PositionOf(shape, other)],
                          cable);
      }
    }
  });
  builder.AddGrid(
      {.shape = shape, .step = Grid::Step::kAll, .vertices = routers});
  return absl::OkStatus();
}

}  // namespace orrery
