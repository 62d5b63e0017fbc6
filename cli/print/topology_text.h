#pragma once
// A machine's graph for people: counts and ids as text, the graph itself as DOT
// (for Graphviz) or as an SVG picture.
#include <absl/status/statusor.h>

#include <string>

#include "topology/graph/graph.h"
#include "topology/machine/system.h"

namespace orrery {

// Vertices with their ids, links by tier, bisection, and how a fault names a
// link.
std::string TopologyText(const System& system, const Graph& graph);
// The same counts as a list: vertices by level, links by tier.
std::string TopologyJson(const Graph& graph);
std::string TopologyDot(const System& system, const Graph& graph);
// The error says that it has too many vertices to be seen.
absl::StatusOr<std::string> TopologySvg(const System& system,
                                        const Graph& graph);

}  // namespace orrery
