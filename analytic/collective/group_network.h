#pragma once
// GroupNetwork: how a group of chips lies on a machine, as far as closed forms
// of collectives care.
//
//   const MachinePorts ports = PortsOf(system);
//   const GroupNetwork group(ports, {0, 1, 2, 3});
//   group.islands();
#include <vector>

#include "analytic/collective/machine_ports.h"

namespace orrery {

class GroupNetwork {
 public:
  // `ports` must outlive the group. Requires: at least one chip, none twice.
  // Rank r is the r-th of `chips`.
  GroupNetwork(const MachinePorts& ports, std::vector<int> chips);
  // The same group in the order of its chips: island after island, along grids.
  GroupNetwork Sorted() const;

  const MachinePorts& ports() const { return *ports_; }
  // Where the machine's formulas do not hold: what tells the loads instead.
  // Pairs of a very large group are too many to route one by one; there the
  // formulas stand in.
  FabricRoutes* routes() const {
    constexpr int kMostRouted = 512;
    return ranks() <= kMostRouted ? ports_->routes : nullptr;
  }
  int ranks() const { return static_cast<int>(chips_.size()); }
  int chip(int rank) const { return chips_[static_cast<size_t>(rank)]; }
  int islands() const { return islands_; }
  bool crosses() const { return islands_ > 1; }
  // The rank that a broadcast starts from, or a reduction ends at: the first
  // the group was made of.
  int root() const { return root_; }
  // Members on every island, or 0 where islands differ.
  int per_island() const { return even_ ? most_on_island_ : 0; }
  int most_on_island() const { return most_on_island_; }
  // Several members on each of several islands, the same number.
  bool hierarchical() const { return crosses() && per_island() > 1; }
  // Members of an island have a link of their own to each other.
  bool meshed() const { return ports_->wiring == IslandWiring::kLinks; }

  // The NIC of a rank, among those of the group.
  int nic(int rank) const { return nics_[static_cast<size_t>(rank)]; }
  int nic_count() const { return nic_count_; }
  // The most members of one island that share a NIC, and the most pairs of
  // members that have to pass one in an exchange of everyone with everyone.
  int most_on_nic() const { return most_on_nic_; }
  int most_pairs_on_nic() const { return most_pairs_on_nic_; }
  // How many groups like this one send through a NIC, if every chip of the
  // machine is in one; and the most members and pairs of all of them on one.
  double nic_crowd(int nic) const {
    return nic_crowds_[static_cast<size_t>(nic)];
  }
  double most_crowded_on_nic() const { return most_crowded_on_nic_; }
  double most_pairs_crowding_nic() const { return most_pairs_crowding_nic_; }
  // The longest route between members of different islands.
  int most_network_hops() const { return most_network_hops_; }

  // Leaves of a tree with something above them, if the group crosses one:
  // `leaf` of NIC i of a rank's own NICs, among those of the group; how many
  // NICs a leaf can send up for (`leaf_up`); and how many groups like this one
  // do so there, if every chip of the machine is in one (`leaf_crowd`), or only
  // those of the same islands are.
  int leaf_count() const { return static_cast<int>(island_crowds_.size()); }
  int leaf(int rank, int nic) const {
    return leaves_[static_cast<size_t>(rank * ports_->nics_per_chip + nic)];
  }
  double leaf_up() const { return ports_->clos->up; }
  double leaf_crowd(int leaf) const {
    return leaf_crowds_[static_cast<size_t>(leaf)];
  }
  double island_crowd(int leaf) const {
    return island_crowds_[static_cast<size_t>(leaf)];
  }
  // The most pairs of members that have to pass the cables up from a leaf in an
  // exchange of everyone with everyone, over `leaf_up`; and of all groups.
  double most_pairs_on_leaf() const { return most_pairs_on_leaf_; }
  double most_pairs_crowded() const { return most_pairs_crowded_; }

  // What a byte counts on the slowest port of a member to the switches of its
  // island: 1 unless links are slow.
  double slowest_port() const;

  // The coordinates of the members along each side of the grid, if the group
  // is on one and holds every combination of them; else empty.
  const std::vector<std::vector<int>>& box() const { return box_; }
  // The sides of the box, those of one member left out, where neighbours are
  // everywhere as far from each other; empty: none.
  struct Side {
    int members = 1;
    // A line with two ends rather than a ring.
    bool open = false;
    // Links between neighbours.
    int hops = 1;
  };
  const std::vector<Side>& grid() const { return grid_; }
  // The members along each side, if all sides close to rings; else empty.
  std::vector<int> rings() const;

 private:
  void FindIslands();
  void FindNics();
  void FindLeaves();
  void FindBox();

  const MachinePorts* ports_;
  std::vector<int> chips_;
  int root_ = 0;
  int islands_ = 1;
  int most_on_island_ = 1;
  bool even_ = true;
  std::vector<int> nics_;
  int nic_count_ = 0;
  int most_on_nic_ = 1;
  int most_pairs_on_nic_ = 0;
  std::vector<double> nic_crowds_;
  double most_crowded_on_nic_ = 1;
  double most_pairs_crowding_nic_ = 0;
  int most_network_hops_ = 0;
  std::vector<int> leaves_;
  std::vector<double> leaf_crowds_;
  std::vector<double> island_crowds_;
  double most_pairs_on_leaf_ = 0;
  double most_pairs_crowded_ = 0;
  std::vector<std::vector<int>> box_;
  std::vector<Side> grid_;
};

}  // namespace orrery
