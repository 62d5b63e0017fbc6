#pragma once
// The way of prompts' caches from a prefill pool to a decode pool.
//
// Layer by layer: a layer's keys and values leave when the prefill has computed
// them, so that all but the last hide behind it as long as the network keeps
// up. Prompts of a prefill batch are dealt out over the decode replicas, and
// every decode rank gets its part: where the degrees differ, heads are laid out
// anew on the way, and what several ranks need is sent to each. Prefill ranks
// with the same part take turns. All transfers of a batch share the links; both
// sides hold a copy until they are done.
//
// Pools on machines of their own meet between nodes: what leaves one machine
// goes over its scale-out network as if to another of its nodes, and so does
// what enters the other; the slower of the two sets the pace.
#include <absl/status/statusor.h>

#include "base/units.h"
#include "run/scenario.h"

namespace orrery {

struct KvTransfer {
  Bytes bytes;         // of one prompt, as cached
  Bytes moved;         // of a prefill batch, to all ranks that need it
  Duration time{};     // of a prefill batch
  Duration exposed{};  // that a prefill of `prefill` does not hide
};

// Requires: the plan has separate pools.
absl::StatusOr<KvTransfer> TransferCache(const ResolvedScenario& scenario,
                                         Duration prefill);

}  // namespace orrery
