#pragma once
// Where the constants of a scenario come from: the sources of every preset in
// it, by the part they vouch for.
#include <vector>

#include "proto/page.pb.h"
#include "proto/scenario.pb.h"

namespace orrery {

// In the order of the schema. Requires: presets are merged in.
std::vector<pb::Provenance> ProvenanceOf(const pb::Scenario& scenario);

}  // namespace orrery
