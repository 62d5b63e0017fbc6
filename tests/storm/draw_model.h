#pragma once
// Models for storms: any of the catalogue, or one made up.
#include <cstdint>

#include "base/random.h"
#include "catalog/catalog.h"
#include "proto/model.pb.h"

namespace orrery {

// A model that names its preset, drawn for the case `number` of the seed (see
// DrawName), or has none; without its number of layers, which is up to the
// plan.
pb::Model DrawModel(const Catalog& catalog, uint64_t seed, int64_t number,
                    Rng& rng);

}  // namespace orrery
