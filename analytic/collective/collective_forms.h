#pragma once
// The closed forms of collectives: one table of algorithms for every machine.
//
// Written from the literature and not from the step lists of the network model,
// so that the two can disagree. On p ranks with one port each, m bytes (as
// CommunicationKind counts them), a seconds per message and b per byte, they
// are the textbook's, and stand beside each function; on links, grids and
// islands the same messages load what they pass. Sources:
//
//   [T] Thakur, Rabenseifner and Gropp, "Optimization of collective
//       communication operations in MPICH" (2005)
//   [C] Chan, Heimlich, Purkayastha and van de Geijn, "Collective
//       communication: theory, practice, and experience" (2007)
//   [S] Sanders, Speck and Traff, "Two-tree algorithms for full bandwidth
//       broadcast, reduction and scan" (2009), numbered as in NCCL's trees.cc
//   [J] Jain and Sabharwal, "Optimal bucket algorithms for large MPI
//       collectives on torus interconnects" (2010)
//   [W] De Sensi et al., "Swing" (NSDI 2024)
//   [B] Cho et al., "BlueConnect" (MLSys 2019)
//   [R] Graham et al., "Scalable Hierarchical Aggregation Protocol" (2016)
#include <optional>

#include "analytic/collective/collective_form.h"
#include "analytic/collective/group_network.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

// Passes over the data: an all-reduce is a reduce-scatter and an all-gather.
int PassesOf(CommunicationKind kind);

// The form of an algorithm, or nothing where it has none for the kind and the
// group. Every function requires: at least two ranks.
//
// Pairwise exchange has none: it moves the same bytes over the same ports as
// all at once, in more messages.
std::optional<CollectiveForm> FormOf(CollectiveAlgorithm algorithm,
                                     CommunicationKind kind,
                                     const GroupNetwork& group);

// All-reduce 2(p-1) a + 2(p-1)/p m b; reduce-scatter and all-gather half of it
// [T]. Across islands one ring per place, each for its share of the data, every
// one crossing on rails of its own.
CollectiveForm RingForm(CommunicationKind kind, const GroupNetwork& group);
// Half of the data each way around: all-reduce 2(p-1) a + (p-1)/p m b; shards
// both ways: all-gather floor(p/2) a + (p-1)/(2p) m b [C].
CollectiveForm BidirectionalRingForm(CommunicationKind kind,
                                     const GroupNetwork& group);
// All-to-all, all-gather, reduce-scatter a + (p-1)/p m b; all-reduce, broadcast
// and reduce twice that. A point-to-point call among more than two is one step
// around a ring.
CollectiveForm DirectForm(CommunicationKind kind, const GroupNetwork& group);
// Everyone sends to the next, the last to the first: a + m b.
CollectiveForm AroundTheRingForm(const GroupNetwork& group);
// All-reduce log2 p (a + m b); ranks beyond a power of two fold in and out for
// 2(a + m b) [T].
CollectiveForm RecursiveDoublingForm(const GroupNetwork& group);
// All-reduce 2 log2 p a + 2(p-1)/p m b (Rabenseifner), folding likewise [T].
CollectiveForm HalvingDoublingForm(const GroupNetwork& group);
// All-gather or reduce-scatter ceil(log2 p) a + (p-1)/p m b [T]; an all-reduce
// is both. All-to-all ceil(log2 p) a + log2 p m/2 b for a power of two (Bruck
// et al., 1997).
CollectiveForm BruckForm(CommunicationKind kind, const GroupNetwork& group);
// All-reduce over two trees of height h in k pieces: 2 h a + 2 m b (k-1)/k, and
// (2h-1) m b/k to fill the pipeline [S]. Across islands a pair of trees per
// place, fed by chains inside. All-gather and reduce-scatter: what all ranks
// below an edge need or give crosses it one way, and the rest the other way.
CollectiveForm DoubleBinaryTreeForm(CommunicationKind kind,
                                    const GroupNetwork& group);
// The switches of islands add up and multicast, trees join what each of G
// places owns (NVLS tree): (1 + 1/G) m b inside, 2 m/G b between, in pieces,
// and four trips to or from a switch besides the messages of the trees.
// Requires: group.hierarchical(), and islands whose switch reduces.
CollectiveForm SwitchTreeForm(const GroupNetwork& group);
// All-reduce on a torus with D sides: 2D rings at once, each starting with its
// own side, in lockstep [J]. Requires: the group fills rings.
CollectiveForm TorusBucketForm(const GroupNetwork& group);
// Broadcast and reduce: ceil(log2 p)(a + m b) by a binomial tree; by a scatter
// and a ring all-gather, or backwards, (ceil(log2 p) + p - 1) a + 2(p-1)/p m b;
// down a chain in k pieces (p-1) a + m b (p - 2 + k)/k [T, C], across islands
// one chain per place.
CollectiveForm BinomialForm(CommunicationKind kind, const GroupNetwork& group);
CollectiveForm ScatterAllGatherForm(CommunicationKind kind,
                                    const GroupNetwork& group);
CollectiveForm ChainForm(CommunicationKind kind, const GroupNetwork& group);
// On a grid with D sides, D parts of the data at once, each starting with its
// own side, both ways along each [J]: with equal rings all-gather and
// reduce-scatter D floor(k/2) a + (p-1)/p m b/(2D), the others twice that;
// lines take k-1 steps and twice the time. Requires: group.grid().
CollectiveForm GridForm(CommunicationKind kind, const GroupNetwork& group);
// Shards both ways around a ring of the ranks, there and back: all-reduce,
// broadcast and reduce 2 floor(p/2) a + (p-1)/p m b [C].
CollectiveForm ShardRingForm(CommunicationKind kind, const GroupNetwork& group);
// All-reduce 2 log2 p a + congestion m b/D [W]. Requires: the group fills rings
// of one length, a power of two.
CollectiveForm SwingForm(const GroupNetwork& group);
// Inside the islands, then along the rails with what is left:
// 2[(G-1) a + (G-1)/G m b] inside and 2[(N-1) a + (N-1)/N m/G b] between for an
// all-reduce [B]; where every two chips of an island have a link, 2[a + m b/G]
// inside. Requires: group.hierarchical().
CollectiveForm HierarchicalForm(CommunicationKind kind,
                                const GroupNetwork& group);
// The same with 2[a + (N-1)/N m/G b] between. Requires also: group.meshed().
CollectiveForm HierarchicalDirectForm(CommunicationKind kind,
                                      const GroupNetwork& group);
// All-to-all by way of the own island's chip on the destination's rail (PXN):
// (G-1)/G m b inside while (N-1)/N m b go along the rails. Requires:
// group.hierarchical().
CollectiveForm PxnForm(const GroupNetwork& group);
// Owners pull sums from the switch and multicast them (NVLS): four trips to or
// from the switch and (1 + 1/p) m b for an all-reduce. Requires: one island
// whose switch reduces.
CollectiveForm SwitchMulticastForm(CommunicationKind kind,
                                   const GroupNetwork& group);
// Switches add up, `depth` of them above each other: all-reduce 2 depth a + m b
// [R]; on islands of G along the rails, between reduce-scatter and all-gather
// inside. Requires: switches that reduce join the group.
CollectiveForm ReductionTreeForm(const GroupNetwork& group);

}  // namespace orrery
