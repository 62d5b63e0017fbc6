#pragma once
// Islands: every end point one or two links away from every other.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include "topology/graph/graph.h"

namespace orrery {

// A link between every two end points. Refuses more than 4096 of them.
absl::Status AddFullyConnected(GraphBuilder& builder,
                               absl::Span<const VertexId> points,
                               const LinkSpec& link);

// `planes` switches, each connected to every end point; the `links` cables of
// an end point are dealt out over the planes as evenly as whole cables allow
// for counting (H100: 18 over 4 switches is 5, 4, 4, 5), while the bandwidth is
// spread exactly evenly, as the hardware's address hashing does.
absl::Status AddSwitch(GraphBuilder& builder, absl::Span<const VertexId> points,
                       int32_t planes, int32_t links, const LinkSpec& link);

// One link of an explicit list; ends are indices into points, then switches.
struct ListedLink {
  int32_t from = 0;
  int32_t to = 0;
  bool one_way = false;
  LinkSpec spec;
};
// End points and switches wired as listed. End points forward, so that direct
// networks can be listed as well.
absl::Status AddLinkList(GraphBuilder& builder,
                         absl::Span<const VertexId> points, int32_t switches,
                         absl::Span<const ListedLink> links);

}  // namespace orrery
