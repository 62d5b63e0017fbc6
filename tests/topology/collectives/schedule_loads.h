#pragma once
// Link loads of a schedule on unit links: what each phase puts on its busiest
// link, summed over the phases, per byte of the call.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "topology/collectives/collective.h"
#include "topology/routing/route.h"

namespace orrery {

inline double SumOfLargestLoads(const Graph& graph, Routing routing,
                                const Schedule& schedule) {
  Router router(graph, routing);
  double sum = 0;
  for (const Phase& phase : schedule.phases) {
    std::vector<Demand> demands;
    for (const Round& round : schedule.rounds_of(phase)) {
      for (const Message& m : schedule.messages_of(round)) {
        demands.push_back({static_cast<VertexId>(m.source),
                           static_cast<VertexId>(m.destination),
                           schedule.ShareOf(m, round) * round.repeat});
      }
    }
    std::stable_sort(
        demands.begin(), demands.end(),
        [](const Demand& a, const Demand& b) { return a.from < b.from; });
    const auto loads = router.Loads(demands);
    CHECK(loads.ok()) << loads.status().ToString();
    double largest = 0;
    for (LinkId id : graph.links()) {
      largest = std::max(
          largest, (*loads)[Index(id)] / graph.link(id).bandwidth.value());
    }
    sum += largest;
  }
  return sum;
}

}  // namespace orrery
