#include "analytic/collective/group_network.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>

#include "analytic/collective/fabric_routes.h"
#include "base/check.h"

namespace orrery {

GroupNetwork::GroupNetwork(const MachinePorts& ports, std::vector<int> chips)
    : ports_(&ports), chips_(std::move(chips)) {
  CHECK(!chips_.empty());
  FindIslands();
  if (crosses()) FindNics();
  constexpr int kSameLeaf = 2;
  if (ports.clos && ports.clos->up > 0 && most_network_hops_ > kSameLeaf) {
    FindLeaves();
  }
  if (!crosses() && ports.wiring == IslandWiring::kGrid) FindBox();
}

GroupNetwork GroupNetwork::Sorted() const {
  if (std::is_sorted(chips_.begin(), chips_.end())) return *this;
  std::vector<int> chips = chips_;
  std::sort(chips.begin(), chips.end());
  GroupNetwork sorted(*ports_, std::move(chips));
  sorted.root_ = static_cast<int>(
      std::lower_bound(sorted.chips_.begin(), sorted.chips_.end(),
                       chips_[static_cast<size_t>(root_)]) -
      sorted.chips_.begin());
  return sorted;
}

void GroupNetwork::FindIslands() {
  absl::flat_hash_map<int, int> members;
  for (const int chip : chips_) ++members[ports_->IslandOf(chip)];
  islands_ = static_cast<int>(members.size());
  for (const auto& [island, count] : members) {
    most_on_island_ = std::max(most_on_island_, count);
  }
  even_ = most_on_island_ * islands_ == ranks();
}

void GroupNetwork::FindNics() {
  CHECK_GT(ports_->nics, 0) << "islands without a network";
  absl::flat_hash_map<int, int> on_island;
  for (const int chip : chips_) ++on_island[ports_->IslandOf(chip)];
  absl::flat_hash_map<int, int> number;
  std::vector<int> on_nic, pairs_on_nic, chips_of_nic;
  for (const int chip : chips_) {
    const auto [found, is_new] = number.try_emplace(
        ports_->NicOf(chip), static_cast<int>(number.size()));
    if (is_new) {
      on_nic.push_back(0);
      pairs_on_nic.push_back(0);
      chips_of_nic.push_back(ports_->ChipsOf(ports_->NicOf(chip)));
    }
    nics_.push_back(found->second);
    const auto nic = static_cast<size_t>(found->second);
    ++on_nic[nic];
    pairs_on_nic[nic] += ranks() - on_island[ports_->IslandOf(chip)];
    // If any two of a Clos lie so far apart, so do some of it and the first.
    most_network_hops_ =
        std::max(most_network_hops_, ports_->NetworkHops(chips_.front(), chip));
  }
  nic_count_ = static_cast<int>(on_nic.size());
  most_on_nic_ = *std::max_element(on_nic.begin(), on_nic.end());
  most_pairs_on_nic_ =
      *std::max_element(pairs_on_nic.begin(), pairs_on_nic.end());
  // No more groups than there are, whatever part of a NIC's chips this one has.
  const double groups = static_cast<double>(ports_->chips) / ranks();
  for (size_t nic = 0; nic < on_nic.size(); ++nic) {
    const double crowd =
        std::min(groups, static_cast<double>(chips_of_nic[nic]) / on_nic[nic]);
    nic_crowds_.push_back(crowd);
    most_crowded_on_nic_ = std::max(most_crowded_on_nic_, on_nic[nic] * crowd);
    most_pairs_crowding_nic_ =
        std::max(most_pairs_crowding_nic_, pairs_on_nic[nic] * crowd);
  }
}

void GroupNetwork::FindLeaves() {
  const int per_chip = ports_->nics_per_chip;
  absl::flat_hash_map<int, int> number;  // of leaves, in the group
  std::vector<int> nics;                 // of the group, on each leaf
  std::vector<int> near;                 // of its islands
  // Members by leaf and island.
  absl::flat_hash_map<std::pair<int, int>, int> together;
  absl::flat_hash_map<int, int> on_leaf, on_island;
  absl::flat_hash_set<int> seen;
  const auto nic_of = [&](size_t rank, int i) {
    return ports_->NicOf(chips_[rank]) + i;
  };
  for (size_t rank = 0; rank < chips_.size(); ++rank) {
    const int island = ports_->IslandOf(chips_[rank]);
    ++on_island[island];
    for (int i = 0; i < per_chip; ++i) {
      const int nic = nic_of(rank, i);
      const int leaf = ports_->LeafOf(nic);
      const auto [found, is_new] =
          number.try_emplace(leaf, static_cast<int>(number.size()));
      if (is_new) {
        nics.push_back(0);
        near.push_back(0);
        leaf_crowds_.push_back(ports_->NicsOn(leaf));
      }
      leaves_.push_back(found->second);
      ++on_leaf[found->second];
      const auto place = static_cast<size_t>(found->second);
      if (seen.insert(nic).second) ++nics[place];
      if (++together[{found->second, island}] > 1) continue;
      // All NICs of the island that are on the leaf.
      for (int other = 0; other < ports_->nics; ++other) {
        if (ports_->LeafOf(island * ports_->nics + other) == leaf) {
          ++near[place];
        }
      }
    }
  }
  std::vector<double> pairs(nics.size(), 0);
  for (size_t rank = 0; rank < chips_.size(); ++rank) {
    const int island = ports_->IslandOf(chips_[rank]);
    for (int i = 0; i < per_chip; ++i) {
      const int leaf = leaves_[rank * static_cast<size_t>(per_chip) +
                               static_cast<size_t>(i)];
      const double stay =
          on_island[island] + on_leaf[leaf] - together[std::pair(leaf, island)];
      pairs[static_cast<size_t>(leaf)] += ranks() - stay;
    }
  }
  // No more groups than there are, whatever part of a leaf this one has.
  const double groups = static_cast<double>(ports_->chips) / ranks();
  for (size_t leaf = 0; leaf < nics.size(); ++leaf) {
    leaf_crowds_[leaf] = std::min(groups, leaf_crowds_[leaf] / nics[leaf]);
    island_crowds_.push_back(static_cast<double>(near[leaf]) / nics[leaf]);
    const double most = pairs[leaf] / leaf_up();
    most_pairs_on_leaf_ = std::max(most_pairs_on_leaf_, most);
    most_pairs_crowded_ =
        std::max(most_pairs_crowded_, most * leaf_crowds_[leaf]);
  }
}

double GroupNetwork::slowest_port() const {
  if (routes() == nullptr) return 1;
  double slowest = 0;
  for (const int chip : chips_) {
    slowest = std::max(slowest, routes()->PortWeight(chip));
  }
  return slowest;
}

std::vector<int> GroupNetwork::rings() const {
  std::vector<int> rings;
  for (const Side& side : grid_) {
    if (side.open) return {};
    rings.push_back(side.members);
  }
  return rings;
}

void GroupNetwork::FindBox() {
  int stride = 1;
  int product = 1;
  bool regular = !ports_->twisted;
  for (size_t d = 0; d < ports_->sides.size(); ++d) {
    const int length = ports_->sides[d];
    const bool closes = ports_->closes(d);
    std::vector<int> coordinates;
    for (const int chip : chips_) {
      coordinates.push_back(chip % ports_->island_chips / stride % length);
    }
    std::sort(coordinates.begin(), coordinates.end());
    coordinates.erase(std::unique(coordinates.begin(), coordinates.end()),
                      coordinates.end());
    const int count = static_cast<int>(coordinates.size());
    product *= count;
    stride *= length;
    if (count > 1) {
      const int apart = coordinates[1] - coordinates[0];
      for (size_t i = 2; i < coordinates.size(); ++i) {
        regular &= coordinates[i] - coordinates[i - 1] == apart;
      }
      // Neighbours do not reach each other around the ring.
      regular &= !closes || 2 * apart <= length;
      grid_.push_back({count, !closes || apart * count != length, apart});
    }
    box_.push_back(std::move(coordinates));
  }
  if (product != ranks()) box_.clear();
  if (product != ranks() || !regular) grid_.clear();
}

}  // namespace orrery
