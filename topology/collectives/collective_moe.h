#pragma once
// Dispatch and combine of a mixture of experts, token by token.
//
// Normal mode removes duplicates (DeepEP): a token crosses once to every island
// that has an expert for it, to the chip of its own rail, and fans out from
// there; combine adds up on the island first and crosses back once. Low-latency
// mode sends every copy directly. Stages stream. The bytes of the call are
// those of one token; chunk t is token t.
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "topology/collectives/collective.h"

namespace orrery {

struct MoeToken {
  int32_t source;
  // Ranks that hold its experts, each once; the source may be among them.
  std::vector<int32_t> destinations;
};

enum class MoeMode : uint8_t { kDeduplicated, kLowLatency };

// Requires: at least one token; ranks within the layout; for kDeduplicated
// island_size > 0.
Schedule MoeDispatch(const GroupLayout& layout, MoeMode mode,
                     absl::Span<const MoeToken> tokens);
Schedule MoeCombine(const GroupLayout& layout, MoeMode mode,
                    absl::Span<const MoeToken> tokens);

}  // namespace orrery
