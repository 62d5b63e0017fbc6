#include <bit>

#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CommunicationKind;

}  // namespace

bool ScheduleRequest::Exchanges(int64_t messages) const {
  // Fewer are quickly listed.
  constexpr int64_t kFew = 128 * 128;
  return detail == Detail::kAmounts && messages > kFew;
}

int64_t ListedSize(CollectiveAlgorithm algorithm,
                   const ScheduleRequest& request) {
  const GroupLayout& layout = request.layout;
  const int64_t p = layout.ranks;
  const int64_t log = std::bit_width(static_cast<uint64_t>(p - 1));
  const int64_t island = layout.lanes();
  // A message, and a range of its chunks.
  constexpr int64_t kEach = 2;
  const int64_t passes = request.kind == Kind::kAllReduce ||
                                 request.kind == Kind::kBroadcast ||
                                 request.kind == Kind::kReduce
                             ? 2
                             : 1;
  switch (algorithm) {
    case Algorithm::kRing:
      return kEach * passes * p * island;
    case Algorithm::kBidirectionalRing:
    case Algorithm::kShardRing:
      return kEach * passes * p * 4;
    case Algorithm::kRecursiveDoubling:
    case Algorithm::kHalvingDoubling:
      return kEach * passes * p * log;
    case Algorithm::kDoubleBinaryTree: {
      // Shards below an edge, or all others, lie in a few ranges of each half.
      constexpr int64_t kRangesOfShards = 4;
      return 2 * p * (island + 1) *
             (request.kind == Kind::kAllReduce ? kEach : 1 + kRangesOfShards);
    }
    case Algorithm::kDirect:
      if (request.kind == Kind::kPointToPoint) return kEach * p;
      return request.Exchanges(p * p) ? kEach * p : kEach * passes * p * p;
    case Algorithm::kPairwise:
    case Algorithm::kOneShot:
      return kEach * p * p;
    case Algorithm::kBruck:
      return request.kind == Kind::kAllToAll ? p * log * (p / 2)
                                             : kEach * passes * p * log;
    case Algorithm::kBinomial:
    case Algorithm::kScatterAllGather:
      return kEach * passes * p * 2;
    case Algorithm::kChain: {
      // Every hop is a phase, and phases are added up one by one.
      constexpr int64_t kPhasesAtOnce = 8;
      return kEach * p * island + p * p / kPhasesAtOnce;
    }
    case Algorithm::kTorusBucket:
    case Algorithm::kGrid: {
      const auto sides = static_cast<int64_t>(layout.grid.size());
      return kEach * passes * p * 4 * sides * sides;
    }
    case Algorithm::kSwing: {
      const auto lanes = 2 * static_cast<int64_t>(layout.grid.size());
      return request.detail == Detail::kAmounts
                 ? kEach * passes * p * lanes * log
                 : passes * p * p * lanes;
    }
    case Algorithm::kHierarchical:
      return kEach * passes * p * (layout.meshed ? island : 2);
    case Algorithm::kHierarchicalDirect: {
      const int64_t islands = p / island;
      return request.Exchanges(p * (island + islands))
                 ? kEach * passes * p
                 : kEach * passes * p * (island + islands);
    }
    case Algorithm::kSwitchMulticast:
      return kEach * passes * p * 2;
    case Algorithm::kReductionTree:
      return kEach * 2 *
             (2 * p + static_cast<int64_t>(layout.tree_parents.size()));
    case Algorithm::kSwitchTree:
      // To and from the switch twice, and up and down two trees.
      return kEach * p * 8;
    case Algorithm::kPxn: {
      const int64_t islands = p / island;
      return request.Exchanges(p * (island + islands))
                 ? kEach * p
                 : kEach * p * (island + islands);
    }
  }
  return 0;
}

}  // namespace orrery
