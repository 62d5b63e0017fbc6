#pragma once
// How frameworks spread layers over the stages of a pipeline by cost.
//
// Blocks (layers, then the head) stand in a row with the parameters that a
// token meets in each as its cost; the embedding costs nothing. A stage takes
// blocks while their cost, from the first block on, stays within its share of
// the whole, as nanotron does (src/nanotron/models/base.py, build_model).
#include <vector>

#include "proto/model.pb.h"

namespace orrery {

// Layers of each stage, first to last; their sum is the model's. No stage but
// the last is without layers. Requires: at least one layer for every stage.
std::vector<int> SplitByCost(const pb::Model& model, int stages);

}  // namespace orrery
