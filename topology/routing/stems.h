#pragma once
// Stems: the links that an end point's traffic takes before it has a choice.
//
// A chip on one port of a leaf, or behind a NIC of its own, has a single way
// out of its island and a single way in. All shortest paths between two chips
// of different islands are then the stem of the one, all shortest paths between
// the ends of both stems, and the stem of the other; and as many chips hang on
// one leaf, the part in the middle is the same for many pairs.
#include <absl/types/span.h>

#include <array>
#include <cstdint>
#include <vector>

#include "topology/graph/graph.h"

namespace orrery {

struct Stem {
  static constexpr int kMostLinks = 3;
  std::array<LinkId, kMostLinks> links{};  // from the end point outwards
  int8_t count = 0;
  // Where the choice begins; the end point itself if the stem is empty.
  VertexId end{};

  absl::Span<const LinkId> all() const {
    return absl::MakeConstSpan(links.data(), static_cast<size_t>(count));
  }
};

class Stems {
 public:
  // `graph` must outlive it.
  explicit Stems(const Graph& graph);

  // Of what leaves `point`, and of what enters it.
  const Stem& Leaving(VertexId point) { return Find<true>(point); }
  const Stem& Entering(VertexId point) { return Find<false>(point); }

 private:
  template <bool kLeaving>
  const Stem& Find(VertexId point);
  template <bool kLeaving>
  Stem Grow(VertexId point) const;

  const Graph& graph_;
  // Islands with a switch, or a chip that forwards, that leads elsewhere.
  std::vector<char> open_islands_;
  std::array<std::vector<Stem>, 2> found_;  // leaving, entering
  std::array<std::vector<char>, 2> known_;
};

}  // namespace orrery
