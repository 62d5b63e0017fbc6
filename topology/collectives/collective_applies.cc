#include <bit>

#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;

absl::Status No(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

bool OneOf(Kind kind, std::initializer_list<Kind> kinds) {
  for (Kind k : kinds) {
    if (k == kind) return true;
  }
  return false;
}

bool Shardwise(Kind kind) {
  return OneOf(kind,
               {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather});
}

absl::Status NeedsGrid(const GroupLayout& layout, bool powers_of_two) {
  if (layout.grid.empty()) return No("the group fills no grid");
  int64_t product = 1;
  for (int32_t side : layout.grid) {
    product *= side;
    if (side < 2) return No("sides of the grid must be at least 2");
    if (powers_of_two && !std::has_single_bit(static_cast<uint32_t>(side))) {
      return No("sides of the grid must be powers of two");
    }
  }
  return product == layout.ranks ? absl::OkStatus()
                                 : No("the grid does not hold the group");
}

absl::Status NeedsIslands(const GroupLayout& layout) {
  if (layout.island_size < 2 || layout.island_size == layout.ranks) {
    return No("needs several islands of several ranks");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Applies(CollectiveAlgorithm algorithm,
                     const ScheduleRequest& request) {
  const Kind kind = request.kind;
  const GroupLayout& layout = request.layout;
  // The blocks of an all-to-all are counted, and listed, pair by pair.
  constexpr int32_t kMostRanksInPairs = 8192;
  if (kind == Kind::kAllToAll && layout.ranks > kMostRanksInPairs) {
    return No("an all-to-all lists every pair: at most 8192 ranks");
  }
  const absl::Status wrong_kind = No("the algorithm does not do this");
  const auto only = [&](bool fits) {
    return fits ? absl::OkStatus() : wrong_kind;
  };
  switch (algorithm) {
    case Algorithm::kRing:
    case Algorithm::kBidirectionalRing:
      return only(Shardwise(kind));
    case Algorithm::kRecursiveDoubling:
      return only(OneOf(kind, {Kind::kAllReduce, Kind::kBarrier}));
    case Algorithm::kHalvingDoubling:
    case Algorithm::kDoubleBinaryTree:
      return only(kind == Kind::kAllReduce);
    case Algorithm::kDirect:
      if (layout.ranks > kMostRanksInPairs) return No("too many pairs");
      return only(Shardwise(kind) ||
                  OneOf(kind, {Kind::kAllToAll, Kind::kPointToPoint}));
    case Algorithm::kPairwise:
      return only(kind == Kind::kAllToAll);
    case Algorithm::kBruck:
      return only(OneOf(
          kind, {Kind::kReduceScatter, Kind::kAllGather, Kind::kAllToAll}));
    case Algorithm::kBinomial:
      return only(OneOf(kind, {Kind::kBroadcast, Kind::kReduce}));
    case Algorithm::kScatterAllGather:
    case Algorithm::kChain:
      return only(kind == Kind::kBroadcast);
    case Algorithm::kTorusBucket:
      if (kind != Kind::kAllReduce) return wrong_kind;
      return NeedsGrid(layout, /*powers_of_two=*/false);
    case Algorithm::kSwing:
      if (kind != Kind::kAllReduce) return wrong_kind;
      for (int32_t side : layout.grid) {
        if (side != layout.grid[0])
          return No("sides of the grid must be equal");
      }
      return NeedsGrid(layout, /*powers_of_two=*/true);
    case Algorithm::kHierarchical:
      if (!Shardwise(kind)) return wrong_kind;
      return NeedsIslands(layout);
    case Algorithm::kSwitchMulticast:
      return only(Shardwise(kind));
    case Algorithm::kReductionTree:
      if (kind != Kind::kAllReduce) return wrong_kind;
      if (layout.tree_parents.empty() && layout.island_size > 0 &&
          layout.island_size < layout.ranks) {
        return No("no switches that reduce join the group");
      }
      return absl::OkStatus();
    case Algorithm::kPxn:
      if (kind != Kind::kAllToAll) return wrong_kind;
      return NeedsIslands(layout);
    case Algorithm::kOneShot:
      if (kind != Kind::kAllReduce) return wrong_kind;
      if (layout.island_size > 0 && layout.island_size < layout.ranks) {
        return No("ranks read from each other inside one island only");
      }
      return layout.ranks > kMostRanksInPairs ? No("too many pairs")
                                              : absl::OkStatus();
  }
  return wrong_kind;
}

}  // namespace orrery
