#pragma once
// CollectiveAlgorithm: the ways Orrery knows to run a collective.
//
// Here are only their names, which presets of machines use to say what their
// library has; what each does is in topology/collectives.
#include <cstdint>
#include <string_view>

namespace orrery {

enum class CollectiveAlgorithm : uint8_t {
  kRing,
  kBidirectionalRing,
  kRecursiveDoubling,
  kHalvingDoubling,
  kDoubleBinaryTree,
  kDirect,
  kPairwise,
  kBruck,
  kBinomial,
  kScatterAllGather,
  kChain,
  kTorusBucket,
  kGrid,       // along all sides of a torus or mesh at once, both ways
  kShardRing,  // shards both ways around a ring, scattered, then gathered
  kSwing,
  kHierarchical,
  kSwitchMulticast,  // NVLS: the switch reduces and multicasts for owners
  kReductionTree,    // SHARP: the switches reduce up and multicast down
  kPxn,
  // Every rank sends all it has to every other, and each sums by itself: the
  // custom all-reduce of inference engines, offered only where it is listed.
  kOneShot,
  // Hierarchical where islands are meshes, along rails everyone to everyone.
  kHierarchicalDirect,
  // NVLS tree: the switches of islands reduce and multicast, two trees join
  // what each place of an island owns.
  kSwitchTree,
};
inline constexpr CollectiveAlgorithm kLastCollectiveAlgorithm =
    CollectiveAlgorithm::kSwitchTree;
std::string_view NameOf(CollectiveAlgorithm algorithm);
// Whether switches do the adding up.
constexpr bool ReducesInNetwork(CollectiveAlgorithm algorithm) {
  return algorithm == CollectiveAlgorithm::kSwitchMulticast ||
         algorithm == CollectiveAlgorithm::kReductionTree ||
         algorithm == CollectiveAlgorithm::kSwitchTree;
}

}  // namespace orrery
