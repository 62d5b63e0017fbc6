#pragma once
// Schedule: a collective algorithm as steps of messages.
//
// Participants are the ranks 0 .. ranks-1 of a group, followed by switches that
// reduce or multicast in the network. The data is `segments` segments of
// `chunks` chunks each; a message moves some chunks of one segment from one
// participant to another and either overwrites what is there or adds to it.
//
// Order. A segment goes through all phases. A phase is a set of rounds that run
// at the same time; a round repeats its messages, each time with the chunks
// shifted, as a ring does. A participant starts its messages of a phase when
// its own messages, sent and received, of the phases before are done; of a
// repetition, when those of the repetition before are done; of a segment, when
// those of the same phase of the segment before are done. A message may take
// part in some of the repetitions only, as at the ends of a line. A phase that
// `streams` runs along with the phase before it, byte by byte.
//
// The same schedule gives all fidelities of the network model, and a test moves
// symbolic chunks through every one of them to prove that each rank ends with
// the right data. Who ends with what, for chunk c of a segment:
//
//   all-reduce      every rank has the sum of every chunk
//   reduce-scatter  owner(c) has the sum of chunk c
//   all-gather      every rank has every chunk; owner(c) had chunk c
//   all-to-all      chunk s * ranks + d moves from rank s to rank d
//   broadcast       every rank has every chunk of the root
//   reduce          the root has the sum of every chunk
//   point-to-point  rank 1 has what rank 0 had; with more than two ranks, each
//                   has what the one before it had
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/traffic/collective_algorithm.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

// (begin + i stride) for i in [0, count), modulo the round's modulus.
struct ChunkRange {
  int32_t begin = 0;
  int32_t count = 1;
  int32_t stride = 1;
};

struct Message {
  int32_t source;
  int32_t destination;
  int32_t ranges_begin;  // in Schedule::ranges
  int32_t ranges_end;
  bool reduces;
  // The repetitions of its round that it is sent in.
  int32_t first = 0;
  int32_t times = 1;
};

// Sets of ranks, in each of which every rank sends `share` of the call's bytes
// to every other: those of one place in blocks of `block` ranks (the chips of a
// rail), or those of one block (of an island).
struct RankExchange {
  enum class Among : uint8_t { kPlaces, kBlocks };
  int32_t block = 1;
  Among among = Among::kPlaces;
  double share = 0;

  int32_t SetOf(int32_t rank) const {
    return among == Among::kPlaces ? rank % block : rank / block;
  }
};

struct Round {
  int32_t messages_begin;  // in Schedule::messages
  int32_t messages_end;
  // In repetition r, chunk x of a range stands for
  // chunk_base + (x + r shift) mod chunk_modulus.
  int32_t repeat = 1;
  int32_t shift = 0;
  int32_t chunk_base = 0;
  int32_t chunk_modulus = 1;
  // In place of a list of messages.
  std::optional<RankExchange> exchange = std::nullopt;
};

struct Phase {
  int32_t rounds_begin;  // in Schedule::rounds
  int32_t rounds_end;
  bool streams = false;
};

struct Schedule {
  CommunicationKind kind;
  int32_t ranks = 0;
  int32_t switches = 0;
  int32_t chunks = 1;
  int32_t segments = 1;
  int32_t root = 0;  // of a broadcast or reduce
  // Whether there is a switch for every island, in their order; else switches
  // are those of the fabric, or one joins all ranks.
  bool switch_per_island = false;
  // Round i of a phase goes on where round i of the phase before ended: what
  // different rounds carry never meets, and none waits for another. All phases
  // have as many rounds.
  bool threads = false;
  // Bytes of one chunk as a share of the bytes of the call; one value, or one
  // per chunk where they differ.
  std::vector<double> chunk_share = {};
  // Which rank a chunk belongs to (reduce-scatter, all-gather); empty: chunk c
  // to rank c.
  std::vector<int32_t> owners = {};

  std::vector<ChunkRange> ranges = {};
  std::vector<Message> messages = {};
  std::vector<Round> rounds = {};
  std::vector<Phase> phases = {};  // each after the one before

  int32_t participants() const { return ranks + switches; }
  int32_t owner(int32_t chunk) const {
    return owners.empty() ? chunk : owners[static_cast<size_t>(chunk)];
  }
  absl::Span<const Round> rounds_of(const Phase& phase) const;
  absl::Span<const Message> messages_of(const Round& round) const;
  // Share of the call's bytes that one sending of the message carries; the mean
  // over the repetitions of its round where chunks differ.
  double ShareOf(const Message& message, const Round& round) const;
  // The same of all its sendings in one segment.
  double TotalShareOf(const Message& message, const Round& round) const {
    return ShareOf(message, round) * message.times;
  }
};

// Writes a schedule in order: phases of rounds of messages.
class ScheduleBuilder {
 public:
  // Every chunk is as large as any other and all together are the call's bytes.
  ScheduleBuilder(CommunicationKind kind, int32_t ranks, int32_t chunks,
                  int32_t segments = 1);

  Schedule& schedule() { return schedule_; }
  void BeginPhase(bool streams = false);
  // Requires: a phase has begun. `modulus` 0 stands for all chunks.
  void BeginRound(int32_t repeat = 1, int32_t shift = 0, int32_t base = 0,
                  int32_t modulus = 0);
  // A phase of one exchange, see Round.
  void AddExchange(const RankExchange& exchange, bool streams = false);
  // Requires: a round has begun; source != destination; ranges are not empty.
  void Send(int32_t source, int32_t destination,
            absl::Span<const ChunkRange> ranges, bool reduces);
  // In `times` repetitions from `first` on. Requires: the round has so many.
  void SendIn(int32_t first, int32_t times, int32_t source, int32_t destination,
              absl::Span<const ChunkRange> ranges, bool reduces);

  Schedule Build() && { return std::move(schedule_); }

 private:
  Schedule schedule_;
};

// The ranks of a group on one island, [begin, end), and those of them at which
// lanes of rings and trees enter and leave it: one per lane, each with a NIC of
// its own, in the order of lanes.
struct IslandPart {
  int32_t begin = 0;
  int32_t end = 0;
  std::vector<int32_t> gates = {};
  auto operator<=>(const IslandPart&) const = default;
};

// How a group lies on the machine, as far as algorithms care.
struct GroupLayout {
  int32_t ranks = 1;
  // Ranks per island, island after island, the same number on each; rank r of
  // the layout is place r % island_size of island r / island_size. 0: none.
  int32_t island_size = 0;
  // Islands that hold different numbers of ranks, island after island; empty:
  // they hold the same number, or there are none.
  std::vector<IslandPart> parts = {};
  // Sides of the grid the group fills, first side fastest; empty: none.
  std::vector<int32_t> grid = {};
  // Which of these sides are lines with two ends; empty: all close to rings.
  std::vector<bool> open_sides = {};
  // Switches of the fabric that reduce: of every rank, then of every switch,
  // the switch it sends to, or -1 for a root (reduction_tree.h). Empty: one
  // switch for all ranks, as far as the group is one island or none.
  std::vector<int32_t> tree_parents = {};
  // The rank that a broadcast starts from, or a reduce ends at.
  int32_t root = 0;
  // Ranks of an island, if there are several, have a link of their own to each
  // other, not a port each that all others share.
  bool meshed = false;

  // Rings or pairs of trees that share the data of a call between islands.
  int32_t lanes() const {
    if (!parts.empty()) return static_cast<int32_t>(parts[0].gates.size());
    return island_size > 1 && island_size < ranks ? island_size : 1;
  }
  bool open(size_t side) const {
    return side < open_sides.size() && open_sides[side];
  }
  friend bool operator==(const GroupLayout&, const GroupLayout&) = default;
};

// How much of a schedule is written down.
enum class Detail : uint8_t {
  // Every message with its chunks.
  kMessages,
  // Who sends how much to whom: large exchanges stand for their messages, and
  // messages say how many chunks they carry, but not always which.
  kAmounts,
};

// The schedule of one algorithm, or why it does not apply: to the kind, to the
// number of ranks, to the layout, or because more than MostListed messages and
// ranges of chunks would have to be written down. `segments` is for the
// pipelined ones. Cost: nothing where it does not apply.
constexpr int64_t MostListed(Detail detail) {
  return detail == Detail::kMessages ? 16'000'000 : 4'000'000;
}
absl::StatusOr<Schedule> MakeSchedule(CommunicationKind kind,
                                      CollectiveAlgorithm algorithm,
                                      const GroupLayout& layout,
                                      int32_t segments = 1,
                                      Detail detail = Detail::kMessages);

// Every algorithm that MakeSchedule accepts for these, each with its detail, in
// the enum's order.
std::vector<CollectiveAlgorithm> Applicable(
    CommunicationKind kind, const GroupLayout& layout,
    absl::FunctionRef<Detail(CollectiveAlgorithm)> detail);
// With every message.
std::vector<CollectiveAlgorithm> Applicable(CommunicationKind kind,
                                            const GroupLayout& layout);

}  // namespace orrery
