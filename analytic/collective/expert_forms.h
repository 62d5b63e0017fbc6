#pragma once
// Closed forms of tokens on their way to experts, or back.
//
// Sources: DeepSeek-AI, DeepEP and DeepSeek-V3 (arXiv 2412.19437), section
// 3.2.2 (node-limited dispatch).
#include "analytic/collective/collective_form.h"
#include "analytic/collective/group_network.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// Every copy by itself, or by island where the traffic says so: once to each
// island, where the group has several of several, and once to each rank. As
// long as the port or NIC that carries most. Member i of the
// traffic is rank i of the group; by island they lie island after island. On
// the way back (`combine`) everything goes the other way, which differs on
// grids only.
CollectiveForm ExpertForm(const GroupNetwork& group,
                          const ExpertTraffic& traffic, bool combine);

// Islands (or ranks) that k experts of E, drawn uniformly without repetition
// and spread over n places, are expected to touch:
// n (1 - C(E - E/n, k)/C(E, k)).
double ExpectedPlaces(int experts, int chosen, int places);

}  // namespace orrery
