#pragma once
// NetworkResources: the links of a graph as resources of the engine.
//
// A link is a resource, its bandwidth the capacity. Parallel links of a chip
// that are always used evenly (the planes of an NVSwitch island under spray)
// are one resource with their bandwidths added up: the rates are the same and
// the engine has a fraction of the work. Only in islands whose planes are all
// whole. Links that are loaded alike whatever is sent (alike_links.h) stay
// resources by themselves, and know the first of them.
#include <string>

#include "base/ids.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/graph/graph.h"
#include "topology/machine/system.h"

namespace orrery {

class NetworkResources {
 public:
  struct Options {
    // Whether planes of islands are used evenly, that is, sprayed over.
    bool bundle_planes = false;
    // Likewise all links outside islands: nothing chooses among switches.
    bool sprayed = false;
  };
  NetworkResources(const Graph& graph, const Options& options);

  ResourceId of(LinkId link) const { return of_link_[link]; }
  // Bytes per second.
  const IdVector<ResourceId, double>& capacities() const { return capacities_; }
  // The first of the resources that carry the same at any time, itself
  // included.
  ResourceId first_alike(ResourceId resource) const {
    return first_alike_[resource];
  }
  // Whether it is a chip that sends on it, and no switch or NIC.
  bool from_chip(ResourceId resource) const { return from_chip_[resource]; }

 private:
  IdVector<LinkId, ResourceId> of_link_;
  IdVector<ResourceId, double> capacities_;
  IdVector<ResourceId, ResourceId> first_alike_;
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
