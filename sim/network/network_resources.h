#pragma once
// NetworkResources: the links of a graph as resources of the engine.
//
// A link is a resource, its bandwidth the capacity. Parallel links of a chip
// that are always used evenly (the planes of an NVSwitch island under spray)
// are one resource with their bandwidths added up: the rates are the same and
// the engine has a fraction of the work. Only in islands whose planes are all
// whole.
#include <string>

#include "base/ids.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/graph/graph.h"
#include "topology/machine/system.h"

namespace orrery {

class NetworkResources {
 public:
  // `bundle_planes`: whether planes are used evenly, that is, sprayed over.
  NetworkResources(const Graph& graph, bool bundle_planes);

  ResourceId of(LinkId link) const { return of_link_[link]; }
  // Bytes per second.
  const IdVector<ResourceId, double>& capacities() const { return capacities_; }
  // Whether it is a chip that sends on it, and no switch or NIC.
  bool from_chip(ResourceId resource) const { return from_chip_[resource]; }

 private:
  IdVector<LinkId, ResourceId> of_link_;
  IdVector<ResourceId, double> capacities_;
  IdVector<ResourceId, bool> from_chip_;
};

// "NVLink chip 3 to switch 64"; "NIC 31 to chip 3", where an end names the
// kind.
std::string LinkName(const Graph& graph, LinkId link);
// The first link of each resource.
IdVector<ResourceId, LinkId> FirstLinks(const Graph& graph,
                                        const NetworkResources& resources);
// After the first link of each.
IdVector<ResourceId, std::string> ResourceNames(
    const Graph& graph, const NetworkResources& resources);

}  // namespace orrery
