#pragma once
// The exchange of tokens between the ranks of an expert group, as steps of
// amounts: MoeDispatch and MoeCombine on the mean over tokens.
#include "topology/collectives/collective.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// Dispatch, or its reverse. `traffic` is in the order of the layout; without
// islands of equal size everything is sent directly.
Schedule ExpertSchedule(const GroupLayout& layout, const ExpertTraffic& traffic,
                        bool combine);

}  // namespace orrery
