#include <fmt/format.h>

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

// Everything from one rank, or to it.
bool Rooted(Kind kind) {
  return OneOf(kind, {Kind::kBroadcast, Kind::kReduce});
}

absl::Status NeedsGrid(const GroupLayout& layout) {
  if (layout.grid.empty()) return No("the group fills no grid");
  int64_t product = 1;
  for (int32_t side : layout.grid) {
    product *= side;
    if (side < 2) return No("sides of the grid must be at least 2");
  }
  return product == layout.ranks ? absl::OkStatus()
                                 : No("the grid does not hold the group");
}

absl::Status NeedsRings(const GroupLayout& layout) {
  for (size_t d = 0; d < layout.grid.size(); ++d) {
    if (layout.open(d)) return No("a side of the grid does not close");
  }
  return NeedsGrid(layout);
}

absl::Status NeedsEqualPowersOfTwo(const GroupLayout& layout) {
  for (int32_t side : layout.grid) {
    if (side != layout.grid[0]) return No("sides of the grid must be equal");
    if (!std::has_single_bit(static_cast<uint32_t>(side))) {
      return No("sides of the grid must be powers of two");
    }
  }
  return NeedsRings(layout);
}

absl::Status NeedsIslands(const GroupLayout& layout) {
  if (layout.island_size < 2 || layout.island_size == layout.ranks) {
    return No("needs several islands of several ranks");
  }
  return absl::OkStatus();
}

// Islands where as many rings as there are NICs cannot help sharing links, and
// which shards cannot cross rail by rail.
bool UnevenMeshes(const GroupLayout& layout) {
  return layout.meshed && !layout.parts.empty();
}

}  // namespace

absl::Status Applies(CollectiveAlgorithm algorithm,
                     const ScheduleRequest& request) {
  const Kind kind = request.kind;
  const GroupLayout& layout = request.layout;
  const int64_t size = ListedSize(algorithm, request);
  const int64_t most = MostListed(request.detail);
  if (size > most) {
    return No(fmt::format(
        "about {} messages and chunks would have to be listed, more than {}",
        size, most));
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
      return only(kind == Kind::kAllReduce);
    case Algorithm::kDoubleBinaryTree:
      if (!Shardwise(kind)) return wrong_kind;
      if (kind != Kind::kAllReduce && !UnevenMeshes(layout)) {
        return No("shards take trees between unequal meshed islands only");
      }
      return absl::OkStatus();
    case Algorithm::kDirect:
      return only(Shardwise(kind) || Rooted(kind) ||
                  OneOf(kind, {Kind::kAllToAll, Kind::kPointToPoint}));
    case Algorithm::kPairwise:
      return only(kind == Kind::kAllToAll);
    case Algorithm::kBruck:
      return only(Shardwise(kind) || kind == Kind::kAllToAll);
    case Algorithm::kBinomial:
    case Algorithm::kScatterAllGather:
    case Algorithm::kChain:
      return only(Rooted(kind));
    case Algorithm::kTorusBucket:
      if (kind != Kind::kAllReduce) return wrong_kind;
      return NeedsRings(layout);
    case Algorithm::kGrid:
      if (!Shardwise(kind) && !Rooted(kind)) return wrong_kind;
      return NeedsGrid(layout);
    case Algorithm::kShardRing:
      return only(kind == Kind::kAllReduce || Rooted(kind));
    case Algorithm::kSwing:
      if (kind != Kind::kAllReduce) return wrong_kind;
      return NeedsEqualPowersOfTwo(layout);
    case Algorithm::kHierarchical:
      if (!Shardwise(kind)) return wrong_kind;
      return NeedsIslands(layout);
    case Algorithm::kHierarchicalDirect:
      if (!Shardwise(kind)) return wrong_kind;
      if (!layout.meshed) return No("ranks of an island share its ports");
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
    case Algorithm::kSwitchTree:
      if (kind != Kind::kAllReduce) return wrong_kind;
      return NeedsIslands(layout);
    case Algorithm::kPxn:
      if (kind != Kind::kAllToAll) return wrong_kind;
      return NeedsIslands(layout);
    case Algorithm::kOneShot:
      if (kind != Kind::kAllReduce) return wrong_kind;
      if (layout.island_size > 0 && layout.island_size < layout.ranks) {
        return No("ranks read from each other inside one island only");
      }
      return absl::OkStatus();
  }
  return wrong_kind;
}

}  // namespace orrery
