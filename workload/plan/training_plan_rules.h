#pragma once
// Lists of a training plan with rules of their own: who gets which tokens, and
// which chip a rank is on. Violations go to the reader; what is then returned
// is of no use.
#include <cstdint>
#include <vector>

#include "proto/training.pb.h"
#include "topology/machine/field_reader.h"
#include "workload/model/model.h"
#include "workload/plan/expert_routing.h"

namespace orrery {

// Balanced, one hot expert (expert_imbalance) or a histogram (expert_load).
ExpertRouting ReadRouting(const pb::Training& proto, const Model& model,
                          const FieldReader& fields);

// The chip of each rank; empty if rank r is on chip r. Every chip has one rank.
std::vector<int> ReadRankMap(const pb::Training& proto, int64_t chips,
                             const FieldReader& fields);

}  // namespace orrery
