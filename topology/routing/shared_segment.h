#pragma once
// SharedSegments: the links that all routes of an end point share, since its
// traffic has no choice there yet.
//
// A chip on one port of a leaf, or behind a NIC of its own, has a single way
// out of its island and a single way in. All shortest paths between two chips
// of different islands are then the segment of the one, all shortest paths
// between the ends of both segments, and the segment of the other; and as many
// chips hang on one leaf, the part in the middle is the same for many pairs.
//
// Segments are found when they are first asked for, and kept: one object, one
// thread.
#include <absl/types/span.h>

#include <array>
#include <cstdint>
#include <vector>

#include "topology/graph/graph.h"

namespace orrery {

struct SharedSegment {
  static constexpr int kMostLinks = 3;
  std::array<LinkId, kMostLinks> links{};  // from the end point outwards
  int8_t count = 0;
  // Where the choice begins; the end point itself if the segment is empty.
  VertexId end{};

  absl::Span<const LinkId> all() const {
    return absl::MakeConstSpan(links.data(), static_cast<size_t>(count));
  }
};

class SharedSegments {
 public:
  // `graph` must outlive it.
  explicit SharedSegments(const Graph& graph);

  // Of what leaves `point`, and of what enters it.
  const SharedSegment& Leaving(VertexId point) {
    return Find(point, Direction::kLeaving);
  }
  const SharedSegment& Entering(VertexId point) {
    return Find(point, Direction::kEntering);
  }

 private:
  struct Found {
    std::vector<SharedSegment> segments;
    std::vector<char> known;
  };
  const SharedSegment& Find(VertexId point, Direction direction);
  SharedSegment Grow(VertexId point, Direction direction) const;

  const Graph& graph_;
  // Islands with a switch, or a chip that forwards, that leads elsewhere.
  std::vector<char> open_islands_;
  Found leaving_;
  Found entering_;
};

}  // namespace orrery
