#pragma once
// How frameworks spread layers over the stages of a pipeline by cost.
//
// Blocks (layers, then the head) stand in a row with the parameters that a
// token meets in each as its cost; the embedding costs nothing.
#include <vector>

#include "proto/model.pb.h"

namespace orrery {

// Layers of each stage, first to last; their sum is the model's. No stage but
// the last is without layers. Requires: at least one layer for every stage.

// A stage takes blocks until their cost, from the first block on, reaches its
// share of the whole, and keeps the one that made it so: the first stages
// have most layers. Keys and values count as queries do. As nanotron does
// (src/nanotron/models/base.py, build_model; models/llama.py,
// get_block_compute_costs). Its code says "exceeds"; where a share is met
// exactly, what the sweep's runs have allocated tells that nothing is added to
// it (10 and 5 of 16 layers on the first of 2 and 4 stages, not 11 and 6).
std::vector<int> SplitByCost(const pb::Model& model, int stages);

// A stage takes blocks while their cost stays within its share. For frameworks
// that spread layers evenly, where they do not divide.
std::vector<int> SplitWithinShares(const pb::Model& model, int stages);

}  // namespace orrery
