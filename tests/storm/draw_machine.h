#pragma once
// Machines for storms: every system of the catalogue, as it is or rewired into
// any topology, with nodes and switches of uneven sizes.
#include <cstdint>

#include "base/random.h"
#include "catalog/catalog.h"
#include "proto/system.pb.h"
#include "tests/storm/storm.h"

namespace orrery {

// A system that names its preset and sets what differs from it, of at most
// `most_chips`. Drawn without regard for whether the parts fit together; the
// preset is drawn for the case `number` of the seed (see DrawName).
pb::System DrawSystem(const Catalog& catalog, uint64_t seed, int64_t number,
                      int most_chips, Rng& rng);

// The same preset, wired as it is, of at most `most_chips`: only nodes
// may be smaller and fewer.
pb::System DrawPlainSystem(const Catalog& catalog, uint64_t seed,
                           int64_t number, int most_chips, Rng& rng);

// Whether a resolved machine is as in the catalogue but for its number of
// nodes.
bool IsAsInCatalogue(const pb::System& system);

// Its preset, fabrics, routing and faults, as labels.
void LabelMachine(const pb::System& system, StormSheet& sheet);

}  // namespace orrery
