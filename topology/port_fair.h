#pragma once
// Rates of flows where switches arbitrate between input ports, not flows.
//
// Credit-based fabrics serve the ports that want an output in turn: each port
// gets the same share of it, and the flows that came in together by one port
// share that port's part in proportion to how they arrived. In a parking lot,
// where one more sender joins at every switch on the way to a common sink, the
// last to join gets a half, the one before a quarter, and so on; max-min would
// give all the same. These are the steady rates of flows that always have
// something to send.
#include <absl/types/span.h>

#include <vector>

#include "topology/graph.h"

namespace orrery {

// `paths[f]` are the links of flow f in order. A chip's own flows come in by
// one port. Ports that ask for less than their part leave the rest to the
// others. Requires: every path has a link and its links follow one another.
// Cost: O(sweeps x links of all paths); a sweep per hop suffices where paths
// form no cycle, and rates settle geometrically where they do.
std::vector<BytesPerSecond> PortFairRates(
    const Graph& graph, absl::Span<const std::vector<LinkId>> paths);

}  // namespace orrery
