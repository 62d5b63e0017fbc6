#pragma once
// IslandResources: the links inside islands, which are all built alike, so that
// what a group does to the links of one island it does to those of any other.
//
// Requires: no link of the machine is cut or slow.
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/network/collective_plan.h"
#include "sim/network/network.h"

namespace orrery {

class IslandResources {
 public:
  explicit IslandResources(const Network& network) : graph_(network.graph()) {
    const NetworkResources& resources = network.resources();
    place_.resize(resources.capacities().size(), -1);
    for (LinkId id : graph_.links()) {
      const Link& link = graph_.link(id);
      const std::optional<int32_t> island = graph_.island(link.from);
      if (!island || island != graph_.island(link.to)) continue;
      const auto i = static_cast<size_t>(*island);
      if (inside_.size() <= i) inside_.resize(i + 1);
      const ResourceId resource = resources.of(id);
      if (place_[resource] >= 0) continue;
      place_[resource] = static_cast<int32_t>(inside_[i].size());
      inside_[i].push_back(resource);
    }
    for (VertexId chip : Chips(graph_)) {
      const std::optional<int32_t> island = graph_.island(chip);
      if (!island) continue;
      const auto i = static_cast<size_t>(*island);
      if (first_chip_.size() <= i) {
        first_chip_.resize(i + 1, static_cast<int32_t>(chip));
      }
    }
  }

  // The island that all these chips are in.
  std::optional<int32_t> IslandOf(const std::vector<int>& chips) const {
    const std::optional<int32_t> island =
        graph_.island(static_cast<VertexId>(chips.front()));
    for (int chip : chips) {
      if (graph_.island(static_cast<VertexId>(chip)) != island) {
        return std::nullopt;
      }
    }
    return island;
  }

  // Where in their island they are.
  std::vector<int32_t> PlacesOf(const std::vector<int>& chips) const {
    const std::optional<int32_t> island = IslandOf(chips);
    CHECK(island.has_value());
    std::vector<int32_t> places;
    for (int chip : chips) {
      places.push_back(chip - first_chip_[static_cast<size_t>(*island)]);
    }
    return places;
  }

  // Whether the plan uses nothing outside islands.
  bool Holds(const PlanSteps& plan) const {
    for (const TransferStep& step : plan.steps) {
      for (const ResourceUse& use : step.uses) {
        if (place_[use.resource] < 0) return false;
      }
    }
    return true;
  }

  // The resource of island `to` that is what `resource` is in `from`.
  ResourceId Moved(ResourceId resource, int32_t from, int32_t to) const {
    if (from == to) return resource;
    const int32_t place = place_[resource];
    CHECK(place >= 0) << "traffic inside an island leaves it";
    return inside_[static_cast<size_t>(to)][static_cast<size_t>(place)];
  }

 private:
  const Graph& graph_;
  IdVector<ResourceId, int32_t> place_;
  std::vector<std::vector<ResourceId>> inside_;  // by island
  std::vector<int32_t> first_chip_;
};

}  // namespace orrery
