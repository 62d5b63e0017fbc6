#include "analytic/collective/collective_forms.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "analytic/collective/form_builder.h"
#include "analytic/collective/ring_lanes.h"
#include "base/check.h"

namespace orrery {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CommunicationKind;

bool Shardwise(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kReduceScatter ||
         kind == Kind::kAllGather;
}

// Everything from one rank, or to it.
bool Rooted(Kind kind) {
  return kind == Kind::kBroadcast || kind == Kind::kReduce;
}

// Of the ranks of an all-reduce by halves: a power of two takes part, each of
// the `extra` first of them with a neighbour folded in.
struct Core {
  int size;
  int extra;

  explicit Core(int p)
      : size(static_cast<int>(std::bit_floor(static_cast<unsigned>(p)))),
        extra(p - size) {}
  int rank(int i) const { return i < extra ? 2 * i : i + extra; }

  void Fold(FormBuilder& form, bool in) const {
    if (extra == 0) return;
    form.BeginWave();
    form.BeginRound();
    for (int i = 0; i < extra; ++i) {
      form.Send(2 * i + (in ? 1 : 0), 2 * i + (in ? 0 : 1), 1);
    }
  }
  // Partners at a distance of 2^i exchange a share of the data.
  void Exchange(FormBuilder& form, int distance, double share) const {
    form.BeginWave();
    form.BeginRound();
    for (int i = 0; i < size; ++i) {
      form.Send(rank(i), rank(i ^ distance), share);
    }
  }
};

}  // namespace

int PassesOf(Kind kind) { return kind == Kind::kAllReduce ? 2 : 1; }

CollectiveForm RingForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  const RingLanes lanes(group);
  FormBuilder form(group, Algorithm::kRing);
  for (int pass = 0; pass < PassesOf(kind); ++pass) {
    form.BeginWave();
    for (int lane = 0; lane < lanes.count(); ++lane) {
      form.BeginRound(p - 1);
      for (int i = 0; i < p; ++i) {
        form.Send(lanes.at(lane, i), lanes.at(lane, i + 1),
                  1.0 / p / lanes.count());
      }
    }
  }
  return std::move(form).Build();
}

CollectiveForm BidirectionalRingForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  FormBuilder form(group, Algorithm::kBidirectionalRing);
  const auto both_ways = [&](int repeat, double share) {
    if (repeat == 0) return;
    form.BeginWave();
    for (const int direction : {1, p - 1}) {
      form.BeginRound(repeat);
      for (int r = 0; r < p; ++r) form.Send(r, (r + direction) % p, share);
    }
  };
  if (kind == Kind::kAllReduce) {
    for (int pass = 0; pass < 2; ++pass) both_ways(p - 1, 0.5 / p);
  } else {
    // The shard of the opposite rank comes half from either side.
    both_ways((p - 1) / 2, 1.0 / p);
    if (p % 2 == 0) both_ways(1, 0.5 / p);
  }
  return std::move(form).Build();
}

CollectiveForm DirectForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  FormBuilder form(group, Algorithm::kDirect,
                   Shardwise(kind) || Rooted(kind)
                       ? ProtocolUse::kRing
                       : ProtocolUse::kPointToPoint);
  // The root gives everyone a part, or takes it from everyone.
  const auto rooted = [&](bool scatters) {
    const int root = group.root();
    form.BeginWave();
    form.BeginRound();
    for (int r = 0; r < p; ++r) {
      if (r != root)
        form.Send(scatters ? root : r, scatters ? r : root, 1.0 / p);
    }
  };
  if (kind == Kind::kBroadcast) rooted(true);
  for (int pass = 0; pass < PassesOf(kind); ++pass) {
    form.BeginWave();
    form.BeginRound();
    if (kind == Kind::kPointToPoint) {
      for (int r = 0; r < (p > 2 ? p : 1); ++r) form.Send(r, (r + 1) % p, 1);
    } else {
      form.SendToAll(1.0 / p);
    }
  }
  if (kind == Kind::kReduce) rooted(false);
  return std::move(form).Build();
}

CollectiveForm AroundTheRingForm(const GroupNetwork& group) {
  const int p = group.ranks();
  FormBuilder form(group, Algorithm::kDirect, ProtocolUse::kPointToPoint);
  form.BeginWave();
  form.BeginRound();
  for (int r = 0; r < p; ++r) form.Send(r, (r + 1) % p, 1);
  return std::move(form).Build();
}

CollectiveForm OneShotForm(const GroupNetwork& group) {
  FormBuilder form(group, Algorithm::kOneShot, ProtocolUse::kOneShot);
  form.BeginWave();
  form.BeginRound();
  form.SendToAll(1);
  return std::move(form).Build();
}

CollectiveForm RecursiveDoublingForm(const GroupNetwork& group) {
  const Core core(group.ranks());
  FormBuilder form(group, Algorithm::kRecursiveDoubling);
  core.Fold(form, true);
  for (int d = 1; d < core.size; d *= 2) core.Exchange(form, d, 1);
  core.Fold(form, false);
  return std::move(form).Build();
}

CollectiveForm HalvingDoublingForm(const GroupNetwork& group) {
  const Core core(group.ranks());
  FormBuilder form(group, Algorithm::kHalvingDoubling);
  core.Fold(form, true);
  for (int pass = 0; pass < 2; ++pass) {
    for (int d = 1; d < core.size; d *= 2) {
      core.Exchange(form, d, static_cast<double>(d) / core.size);
    }
  }
  core.Fold(form, false);
  return std::move(form).Build();
}

CollectiveForm BruckForm(Kind kind, const GroupNetwork& group) {
  const int p = group.ranks();
  FormBuilder form(group, Algorithm::kBruck,
                   kind == Kind::kAllToAll ? ProtocolUse::kPointToPoint
                                           : ProtocolUse::kRing);
  if (kind == Kind::kAllToAll) {
    // Every block goes as many ranks on as its number says, bit by bit.
    for (int d = 1; d < p; d *= 2) {
      int blocks = 0;
      for (int block = 0; block < p; ++block) blocks += (block & d) != 0;
      form.BeginWave();
      form.BeginRound();
      for (int r = 0; r < p; ++r) {
        form.Send(r, (r + d) % p, static_cast<double>(blocks) / p);
      }
    }
    return std::move(form).Build();
  }
  const auto pass = [&](bool reduces) {
    for (int d = 1; d < p; d *= 2) {
      form.BeginWave();
      form.BeginRound();
      const double share = static_cast<double>(std::min(d, p - d)) / p;
      for (int r = 0; r < p; ++r) {
        form.Send(r, (r + (reduces ? d : p - d)) % p, share);
      }
    }
  };
  if (kind != Kind::kAllGather) pass(true);
  if (kind != Kind::kReduceScatter) pass(false);
  return std::move(form).Build();
}

std::optional<CollectiveForm> FormOf(Algorithm algorithm, Kind kind,
                                     const GroupNetwork& group) {
  CHECK_GT(group.ranks(), 1);
  const bool sums = kind == Kind::kAllReduce;
  const bool shards = Shardwise(kind);
  const std::vector<int> rings = group.rings();
  switch (algorithm) {
    case Algorithm::kRing:
      if (!shards) break;
      return RingForm(kind, group);
    case Algorithm::kBidirectionalRing:
      if (!shards) break;
      return BidirectionalRingForm(kind, group);
    case Algorithm::kDirect:
      if (!shards && !Rooted(kind) && kind != Kind::kAllToAll &&
          kind != Kind::kPointToPoint) {
        break;
      }
      return DirectForm(kind, group);
    case Algorithm::kRecursiveDoubling:
      if (!sums) break;
      return RecursiveDoublingForm(group);
    case Algorithm::kHalvingDoubling:
      if (!sums) break;
      return HalvingDoublingForm(group);
    case Algorithm::kDoubleBinaryTree:
      // Shards take trees where islands are meshed and unequal.
      if (!sums && !(shards && group.crosses() && group.meshed() &&
                     !group.hierarchical() && group.most_on_island() > 1)) {
        break;
      }
      return DoubleBinaryTreeForm(kind, group);
    case Algorithm::kBruck:
      if (!shards && kind != Kind::kAllToAll) break;
      return BruckForm(kind, group);
    case Algorithm::kTorusBucket:
      if (!sums || rings.empty()) break;
      return TorusBucketForm(group);
    case Algorithm::kGrid:
      if ((!shards && !Rooted(kind)) || group.grid().empty()) break;
      return GridForm(kind, group);
    case Algorithm::kShardRing:
      if (!sums && !Rooted(kind)) break;
      return ShardRingForm(kind, group);
    case Algorithm::kSwing:
      if (!sums || rings.empty() ||
          !std::has_single_bit(static_cast<unsigned>(rings[0])) ||
          !std::equal(rings.begin() + 1, rings.end(), rings.begin())) {
        break;
      }
      return SwingForm(group);
    case Algorithm::kHierarchical:
      if (!shards || !group.hierarchical()) break;
      return HierarchicalForm(kind, group);
    case Algorithm::kHierarchicalDirect:
      if (!shards || !group.hierarchical() || !group.meshed()) break;
      return HierarchicalDirectForm(kind, group);
    case Algorithm::kSwitchMulticast:
      if (!shards || group.crosses() || !group.ports().island_reduces) break;
      return SwitchMulticastForm(kind, group);
    case Algorithm::kSwitchTree:
      if (!sums || !group.hierarchical() || !group.ports().island_reduces) {
        break;
      }
      return SwitchTreeForm(group);
    case Algorithm::kReductionTree:
      if (!sums || !(group.crosses() ? group.ports().network_reduces
                                     : group.ports().island_reduces)) {
        break;
      }
      return ReductionTreeForm(group);
    case Algorithm::kOneShot:
      if (!sums || group.crosses()) break;
      return OneShotForm(group);
    case Algorithm::kPxn:
      if (kind != Kind::kAllToAll || !group.hierarchical()) break;
      return PxnForm(group);
    case Algorithm::kBinomial:
      if (!Rooted(kind)) break;
      return BinomialForm(kind, group);
    case Algorithm::kScatterAllGather:
      if (!Rooted(kind)) break;
      return ScatterAllGatherForm(kind, group);
    case Algorithm::kChain:
      if (!Rooted(kind)) break;
      return ChainForm(kind, group);
    case Algorithm::kPairwise:
      break;
  }
  return std::nullopt;
}

}  // namespace orrery
