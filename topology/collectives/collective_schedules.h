#pragma once
// The algorithms behind MakeSchedule, one function each.
//
// Each returns its schedule, or in a few words why it does not apply. Costs are
// for p ranks, m bytes, a seconds per message and b seconds per byte and port.
#include <absl/status/statusor.h>

#include "topology/collectives/collective.h"

namespace orrery {

struct ScheduleRequest {
  CommunicationKind kind;
  GroupLayout layout;
  int32_t segments = 1;
  Detail detail = Detail::kMessages;

  // Whether exchanges stand for so many messages.
  bool Exchanges(int64_t messages) const;
};

// Messages and ranges of chunks that a schedule would list, not far from what
// it does; schedule_size.cc.
int64_t ListedSize(CollectiveAlgorithm algorithm,
                   const ScheduleRequest& request);

// What each schedule checks first: whether the algorithm applies at all.
absl::Status Applies(CollectiveAlgorithm algorithm,
                     const ScheduleRequest& request);

// collective_ring.cc. All-reduce 2(p-1)a + 2(p-1)/p m b; one half of that for
// reduce-scatter and all-gather; over islands one ring per place, so that all
// rails carry the crossings. Bidirectional: half of the bandwidth term
// where both directions of a link are free; all-gather and reduce-scatter send
// shards both ways in ceil((p-1)/2) steps, an even p splitting the last one.
absl::StatusOr<Schedule> RingSchedule(const ScheduleRequest& request);
absl::StatusOr<Schedule> BidirectionalRingSchedule(
    const ScheduleRequest& request);

// collective_recursive.cc. All-reduce; p that is no power of two folds the
// extra ranks in before and out after.
// Doubling: log2 p (a + m b). Halving and doubling (Rabenseifner, 2004):
// 2 log2 p a + 2(p-1)/p m b.
absl::StatusOr<Schedule> RecursiveDoublingSchedule(
    const ScheduleRequest& request);
absl::StatusOr<Schedule> HalvingDoublingSchedule(
    const ScheduleRequest& request);

// collective_bruck.cc. Any p in ceil(log2 p) steps (Bruck et al., 1997):
// all-gather and its mirror image reduce-scatter move (p-1)/p m, an all-reduce
// is both, all-to-all about log2 p m/2.
absl::StatusOr<Schedule> BruckSchedule(const ScheduleRequest& request);

// collective_tree.cc. Two complementary binary trees, each for half of the
// data, pipelined (Sanders, Speck and Traff, 2009); over islands a chain inside
// and a pair of trees per place between them, as NCCL builds them. Between
// unequal meshed islands also all-gather and reduce-scatter: an edge carries
// the shards of the ranks below it one way, and all others the other way.
absl::StatusOr<Schedule> DoubleBinaryTreeSchedule(
    const ScheduleRequest& request);
// NVLS tree: owners pull the sums of their island from its switch, a pair of
// trees per place joins the islands, owners multicast: (1 + 1/G) m b inside for
// G ranks on each, 2 m/G b between, least and as inner nodes of one tree.
absl::StatusOr<Schedule> SwitchTreeSchedule(const ScheduleRequest& request);

// collective_broadcast.cc. Broadcast from the root; a reduce is the same
// backwards in time. Binomial ceil(log2 p)(a + m b); scatter and ring
// all-gather (log2 p + p - 1)a + 2(p-1)/p m b (van de Geijn); pipelined chain
// (p - 2 + k)(a + m b/k), over islands one chain per place, as the rings.
absl::StatusOr<Schedule> BinomialSchedule(const ScheduleRequest& request);
absl::StatusOr<Schedule> ScatterAllGatherSchedule(
    const ScheduleRequest& request);
absl::StatusOr<Schedule> ChainSchedule(const ScheduleRequest& request);

// collective_direct.cc. Every pair at once: all-to-all a + (p-1)/p m b,
// reduce-scatter and all-gather the same, all-reduce, broadcast and reduce
// twice that; point-to-point is one message. Pairwise: all-to-all in p-1 steps.
// One-shot: all-reduce in one step, everything to everyone: a + (p-1) m b.
absl::StatusOr<Schedule> DirectSchedule(const ScheduleRequest& request);
absl::StatusOr<Schedule> OneShotSchedule(const ScheduleRequest& request);
absl::StatusOr<Schedule> PairwiseSchedule(const ScheduleRequest& request);

// collective_torus.cc. All-reduce on a torus. Bucket: 2D rings at once, each
// with its own order of dimensions and direction, in lockstep. Swing (De Sensi
// et al., NSDI 2024): partners at distance |1-(-2)^(s+1)|/3, sides powers of
// two.
absl::StatusOr<Schedule> TorusBucketSchedule(const ScheduleRequest& request);
absl::StatusOr<Schedule> SwingSchedule(const ScheduleRequest& request);

// collective_grid.cc. On tori and meshes of any sides: D parts of the data at
// once, each along its own order of the D sides, both ways along each. With
// equal sides that close, all-gather and reduce-scatter D floor(k/2) a +
// (p-1)/p m b/(2D), all-reduce, broadcast and reduce twice that; a line of k
// takes k-1 steps and twice the time of a ring (Jain and Sabharwal, 2010).
// Shard ring: the same around one ring of any ranks; its all-gather and
// reduce-scatter by themselves are the bidirectional ring's.
absl::StatusOr<Schedule> GridSchedule(const ScheduleRequest& request);
absl::StatusOr<Schedule> ShardRingSchedule(const ScheduleRequest& request);

// collective_hierarchical.cc. All-reduce as reduce-scatter inside the islands,
// rings along the rails, all-gather inside (BlueConnect, Cho et al., 2019);
// reduce-scatter and all-gather likewise. Inside by rings where ranks share the
// ports of a switch, (G-1) a + (G-1)/G m b a pass; where they have links of
// their own every pair at once, a + m b/G. Direct: on such islands, and every
// pair at once along the rails too. PXN: all-to-all that crosses the island to
// the destination's rail first.
absl::StatusOr<Schedule> HierarchicalSchedule(const ScheduleRequest& request);
absl::StatusOr<Schedule> HierarchicalDirectSchedule(
    const ScheduleRequest& request);
absl::StatusOr<Schedule> PxnSchedule(const ScheduleRequest& request);

// collective_in_network.cc. Switch multicast (NVLS): one switch, owners pull
// sums and push results: 2a + (1 + 1/p) m b. Reduction tree (SHARP): up and
// down the tree of the layout, or one switch: 2 depth a + m b; with G ranks per
// island reduce-scatter inside, a tree per place for m/G, all-gather inside.
absl::StatusOr<Schedule> SwitchMulticastSchedule(
    const ScheduleRequest& request);
absl::StatusOr<Schedule> ReductionTreeSchedule(const ScheduleRequest& request);

}  // namespace orrery
