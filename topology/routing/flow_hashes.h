#pragma once
// Hashes of many flows at once (route_hash.h), as many side by side as the
// processor has room for: an exchange of 16 384 chips has 268 million pairs.
// The same numbers on every machine.
#include <absl/types/span.h>

#include <cstdint>

#include "topology/graph/graph.h"

namespace orrery {

// What a Valiant route picks its intermediate by, of flow 0 from `from` to each
// of `to`: intermediates.h. Requires: as many hashes.
void HashIntermediates(VertexId from, absl::Span<const VertexId> to,
                       absl::Span<uint64_t> hashes);

// One or two choices one after the other, each among a power of two. Choices
// beside each other have numbers one after the other; the places that the first
// lead to stand in a row, and their choices as well, as the switches of a tree
// do.
struct ChoicePair {
  uint64_t place = 0;  // where the first choice is
  uint64_t mask = 0;   // one less than there are
  uint32_t begin = 0;  // number of the lowest
  // Where the lowest of the first leads to the second, and how far it is to
  // where the next one does.
  bool twice = false;
  uint32_t next_place = 0;
  uint32_t next_stride = 0;
  uint64_t next_mask = 0;
  uint32_t next_begin = 0;
  uint32_t begin_stride = 0;
};
// The numbers that flow 0 from `from` to each of `to` picks. Requires: as many
// picks; of the second if there is one.
void HashChoices(VertexId from, absl::Span<const VertexId> to,
                 const ChoicePair& choices, absl::Span<uint32_t> first,
                 absl::Span<uint32_t> second);

}  // namespace orrery
