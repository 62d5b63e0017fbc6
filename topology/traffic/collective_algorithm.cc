#include "topology/traffic/collective_algorithm.h"

namespace orrery {

std::string_view NameOf(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return "ring";
    case CollectiveAlgorithm::kBidirectionalRing:
      return "bidirectional_ring";
    case CollectiveAlgorithm::kRecursiveDoubling:
      return "recursive_doubling";
    case CollectiveAlgorithm::kHalvingDoubling:
      return "halving_doubling";
    case CollectiveAlgorithm::kDoubleBinaryTree:
      return "double_binary_tree";
    case CollectiveAlgorithm::kDirect:
      return "direct";
    case CollectiveAlgorithm::kPairwise:
      return "pairwise";
    case CollectiveAlgorithm::kBruck:
      return "bruck";
    case CollectiveAlgorithm::kBinomial:
      return "binomial";
    case CollectiveAlgorithm::kScatterAllGather:
      return "scatter_all_gather";
    case CollectiveAlgorithm::kChain:
      return "chain";
    case CollectiveAlgorithm::kTorusBucket:
      return "torus_bucket";
    case CollectiveAlgorithm::kGrid:
      return "grid";
    case CollectiveAlgorithm::kShardRing:
      return "shard_ring";
    case CollectiveAlgorithm::kSwing:
      return "swing";
    case CollectiveAlgorithm::kHierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::kSwitchMulticast:
      return "nvls";
    case CollectiveAlgorithm::kReductionTree:
      return "sharp";
    case CollectiveAlgorithm::kPxn:
      return "pxn";
    case CollectiveAlgorithm::kOneShot:
      return "one_shot";
    case CollectiveAlgorithm::kHierarchicalDirect:
      return "hierarchical_direct";
    case CollectiveAlgorithm::kSwitchTree:
      return "nvls_tree";
  }
  return "unknown";
}

}  // namespace orrery
