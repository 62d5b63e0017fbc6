#pragma once
// A Fabric from its schema, checked against the number of its end points.
#include <cstdint>
#include <optional>

#include "topology/machine/fabric.h"
#include "topology/machine/field_reader.h"

namespace orrery {

// From a pb::Fabric. Shapes must multiply to the end points, switches must have
// room for them, and what follows from their number is worked out: the most
// even shape of a torus, the tiers of a tree, the groups of a dragonfly.
// Violations go to the reader's list; after one the result may be missing.
// Requires: endpoints >= 1.
std::optional<Fabric> ReadFabric(const FieldReader& fields, int64_t endpoints);

}  // namespace orrery
