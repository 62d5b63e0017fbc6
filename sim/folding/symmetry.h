#pragma once
// Whether the ranks of a pipeline stage lie alike on the machine, so that one
// of them can stand for all.
#include <optional>
#include <string>

#include "workload/plan/parallel_layout.h"
#include "workload/plan/placement.h"

namespace orrery {

// Why not, or nothing: every group of a family in a stage must lie on nodes as
// the first one does (as many nodes, as many chips on each), every pipeline
// channel of a boundary must cross nodes or none, and ranks must lie in order.
std::optional<std::string> Asymmetry(const ParallelLayout& layout,
                                     const Placement& placement,
                                     int chips_per_node);

}  // namespace orrery
