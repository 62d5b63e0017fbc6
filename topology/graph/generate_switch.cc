#include "topology/graph/generate_switch.h"

#include <fmt/format.h>

namespace orrery {

absl::Status AddFullyConnected(GraphBuilder& builder,
                               absl::Span<const VertexId> points,
                               const LinkSpec& link) {
  constexpr size_t kMostPoints = 4096;
  if (points.size() > kMostPoints) {
    return absl::InvalidArgumentError(fmt::format(
        "fully connected: {} end points would need {} links; at "
        "most {} end points are accepted",
        points.size(), points.size() * (points.size() - 1) / 2, kMostPoints));
  }
  for (size_t a = 0; a < points.size(); ++a) {
    for (size_t b = a + 1; b < points.size(); ++b) {
      builder.AddDuplex(points[a], points[b], link);
    }
  }
  return absl::OkStatus();
}

absl::Status AddSwitch(GraphBuilder& builder, absl::Span<const VertexId> points,
                       int32_t planes, int32_t links, const LinkSpec& link) {
  if (planes < 1 || links < planes) {
    return absl::InvalidArgumentError(
        fmt::format("switch: {} planes with {} links per end point; needs at "
                    "least one plane and one link to each",
                    planes, links));
  }
  const std::vector<VertexId> switches =
      builder.AddVertices(VertexKind::kSwitch, planes);
  for (VertexId point : points) {
    for (int32_t plane = 0; plane < planes; ++plane) {
      // Dealt from both ends inwards: 18 over 4 is 5, 4, 4, 5.
      const int32_t rest = links % planes;
      const bool one_more =
          plane < (rest + 1) / 2 || plane >= planes - rest / 2;
      LinkSpec spec = link;
      spec.cables = links / planes + (one_more ? 1 : 0);
      spec.bandwidth =
          link.bandwidth * (static_cast<double>(links) / planes / spec.cables);
      builder.AddDuplex(point, switches[static_cast<size_t>(plane)], spec);
    }
  }
  return absl::OkStatus();
}

absl::Status AddLinkList(GraphBuilder& builder,
                         absl::Span<const VertexId> points, int32_t switches,
                         absl::Span<const ListedLink> links) {
  if (switches < 0) {
    return absl::InvalidArgumentError("link list: switches must be >= 0");
  }
  const int64_t count = static_cast<int64_t>(points.size()) + switches;
  for (size_t i = 0; i < links.size(); ++i) {
    const ListedLink& link = links[i];
    if (link.from < 0 || link.to < 0 || link.from >= count ||
        link.to >= count || link.from == link.to) {
      return absl::InvalidArgumentError(fmt::format(
          "link list: link {} goes from {} to {}; ends must differ and lie in "
          "0..{} ({} end points, then {} switches)",
          i, link.from, link.to, count - 1, points.size(), switches));
    }
    if (link.spec.bandwidth.value() <= 0) {
      return absl::InvalidArgumentError(
          fmt::format("link list: link {} has no bandwidth", i));
    }
  }
  std::vector<VertexId> ends(points.begin(), points.end());
  for (VertexId point : points) builder.SetForwards(point);
  for (int32_t i = 0; i < switches; ++i) {
    ends.push_back(builder.AddVertex(VertexKind::kSwitch));
  }
  for (const ListedLink& link : links) {
    const VertexId from = ends[static_cast<size_t>(link.from)];
    const VertexId to = ends[static_cast<size_t>(link.to)];
    builder.AddLink(from, to, link.spec);
    if (!link.one_way) builder.AddLink(to, from, link.spec);
  }
  return absl::OkStatus();
}

}  // namespace orrery
