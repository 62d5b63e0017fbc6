#pragma once
// Link loads of a schedule on unit links: what each phase puts on its busiest
// link, summed over the phases, per byte of the call.
#include <vector>

#include "tests/topology/routing/link_loads.h"
#include "topology/collectives/collective.h"

namespace orrery {

inline double SumOfLargestLoads(const Graph& graph, Routing routing,
                                const Schedule& schedule) {
  double sum = 0;
  for (const Phase& phase : schedule.phases) {
    std::vector<Demand> demands;
    for (const Round& round : schedule.rounds_of(phase)) {
      for (const Message& m : schedule.messages_of(round)) {
        demands.push_back({static_cast<VertexId>(m.source),
                           static_cast<VertexId>(m.destination),
                           schedule.TotalShareOf(m, round)});
      }
    }
    sum += LargestLoad(graph, routing, demands);
  }
  return sum;
}

}  // namespace orrery
