#pragma once
// ChipLinks: the links of chips, which are alike from chip to chip, so that
// what a group does to the links of its chips it does to those of any others
// that lie to each other as they do, wherever on their nodes.
//
// Two reasons why groups lie alike:
//  - A shift of the grid that the chips stand in maps one on the other, without
//    a member going around a side: routes that depend on the way from one
//    position to the other alone are shifted with it. The links are those that
//    leave a chip, by side and direction.
//  - Every member is alone on its node, has NICs of its own, and members share
//    leaves and pods of the fabric as those of the other do. The links are
//    those between a chip, its NICs and their leaves. No way leads by the NIC
//    of another chip: chips do not forward, or no chip of a node is nearer to
//    other nodes than the rest of it.
//
// Where a link is cut or slow, grids are not shifted, and groups on its node
// lie like no other.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/folding/node_resources.h"
#include "sim/network/collective_plan.h"
#include "sim/network/network.h"
#include "topology/machine/system.h"

namespace orrery {

class ChipLinks {
 public:
  // All must outlive it. `trees`: whether the fabric between nodes is an even
  // tree, sprayed over, or one switch.
  ChipLinks(const System& system, const Network& network,
            const NodeResources& nodes, bool trees);

  // How a group lies, the same of groups that lie alike; nothing if neither
  // reason holds of any.
  std::optional<std::vector<int32_t>> ShapeOf(
      const std::vector<int>& chips) const;

  // The chips of one group as those of another that lies like it, which must
  // outlive it.
  class Map {
    friend class ChipLinks;
    const std::vector<int>* members = nullptr;  // of the other
    const Grid* grid = nullptr;                 // shifted, this one
    const Graph* graph = nullptr;
    std::vector<int32_t> shift;
  };
  Map MapOf(const std::vector<int>& from, const std::vector<int>& to) const;
  // Where resources are at the chips of a group; nothing if one is at none of
  // those that are mapped.
  std::optional<std::vector<LinkPlace>> PlacesOf(
      absl::Span<const ResourceId> resources,
      const std::vector<int>& members) const;
  // What is there at the other group.
  ResourceId At(const LinkPlace& place, const Map& map) const;

 private:
  // Links beside each other that are the same of every chip.
  void AddSides();
  void AddNics();
  // Puts a link in its place of a chip; false if it has one already or others
  // in this place differ.
  bool Put(LinkId link, int32_t chip, size_t place);
  std::vector<int32_t> Coordinates(const Grid& grid, int32_t position) const;
  static int32_t Shifted(int32_t chip, const Map& map);
  // Whether members stand in one grid.
  bool InOneGrid(const std::vector<int>& chips) const;
  bool AloneOnNodes(const std::vector<int>& chips) const;

  const System& system_;
  const Graph& graph_;
  const NetworkResources& resources_;
  const NodeResources& nodes_;
  bool shifts_ = false;
  bool nics_ = false;
  IdVector<ResourceId, int32_t> chip_;
  IdVector<ResourceId, int32_t> place_;
  std::vector<std::vector<std::optional<ResourceId>>> of_chip_;  // by place
  std::vector<std::optional<LinkId>> first_;  // by place, of some chip
};

}  // namespace orrery
