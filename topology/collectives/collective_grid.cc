#include <algorithm>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"
#include "topology/collectives/grid_view.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// What the members of a line do with the shards of the line.
enum class Move : uint8_t {
  kReduceScatter,  // sums travel to the shard's owner
  kAllGather,      // shards travel to everybody
  kScatter,        // shards travel from the root to their owners
  kGather,         // shards travel from their owners to the root
};

bool FromRoot(Move move) {
  return move == Move::kScatter || move == Move::kGather;
}

// When a member of a line sends on in one direction, and which shard first.
// It is `distance` shards further on, and one less in every repetition.
struct Sending {
  int32_t first;
  int32_t times;
  int32_t distance;
};

// A side of the grid, seen in one direction.
struct Way {
  int32_t side;
  bool open;
  int32_t direction;
  int32_t root;   // the root's coordinate
  int32_t reach;  // on a ring, how far shards go this way

  // Steps from one coordinate to another in this direction.
  int32_t Steps(int32_t from, int32_t to) const {
    return ((to - from) * direction % side + side) % side;
  }
  // How far a line goes on behind a coordinate.
  int32_t Behind(int32_t x) const { return direction > 0 ? side - 1 - x : x; }
  int32_t Before(int32_t x) const { return side - 1 - Behind(x); }

  // What coordinate x sends to the next one; nothing if `times` is 0.
  Sending Of(Move move, int32_t x) const {
    if (open && Behind(x) == 0) return {0, 0, 0};
    switch (move) {
      case Move::kAllGather:
        // Its own, then what came from before it.
        return {0, open ? Before(x) + 1 : reach, 0};
      case Move::kReduceScatter:
        // For the farthest first; on a line those at its beginning start.
        if (open) return {Before(x), Behind(x), side - 1};
        return {0, reach, reach};
      case Move::kScatter: {
        // The root sends for the farthest first, others pass on.
        const int32_t farthest = open ? Behind(root) : reach;
        if (open && Before(x) < Before(root)) return {0, 0, 0};
        const int32_t from_root = Steps(root, x);
        return {from_root, std::max(0, farthest - from_root), farthest};
      }
      case Move::kGather: {
        // The mirror image in time.
        const int32_t farthest = open ? Before(root) : reach;
        if (open && Before(x) >= Before(root)) return {0, 0, 0};
        const int32_t to_root = Steps(x, root);
        if (to_root == 0) return {0, 0, 0};
        return {0, std::max(0, farthest - to_root + 1), 0};
      }
    }
    return {0, 0, 0};
  }
};

// D parts of the data at once, each with an order of the sides of its own:
// part l begins with side l, and goes on with the sides after it. A part
// numbers its shards by the coordinates of their owners in that order, so that
// the shards that meet on a line are those of one coordinate in the sides done,
// any in those to come. On a ring half of a shard goes further one way and half
// the other where the number of ranks is even.
class GridWriter {
 public:
  GridWriter(ScheduleBuilder& builder, const GroupLayout& layout)
      : builder_(builder), layout_(layout), grid_(layout.grid) {}

  static int32_t PiecesOf(const GroupLayout& layout) {
    for (size_t d = 0; d < layout.grid.size(); ++d) {
      if (!layout.open(d) && layout.grid[d] % 2 == 0) return 2;
    }
    return 1;
  }

  // Requires: the schedule has no chunks' owners yet.
  void NameOwners() {
    std::vector<int32_t>& owners = builder_.schedule().owners;
    owners.resize(static_cast<size_t>(builder_.schedule().chunks));
    for (size_t part = 0; part < grid_.dimensions(); ++part) {
      for (int32_t rank = 0; rank < layout_.ranks; ++rank) {
        const int32_t shard = ShardOf(part, rank, grid_.dimensions());
        for (int32_t piece = 0; piece < pieces_; ++piece) {
          owners[static_cast<size_t>(Base(part) + shard * pieces_ + piece)] =
              rank;
        }
      }
    }
  }

  // All parts along their s-th side, or the other way round along all sides.
  void AddSides(Move move, bool forwards) {
    for (size_t i = 0; i < grid_.dimensions(); ++i) {
      builder_.BeginPhase();
      const size_t s = forwards ? i : grid_.dimensions() - 1 - i;
      for (size_t part = 0; part < grid_.dimensions(); ++part) {
        for (const int32_t direction : {1, -1}) {
          AddWay(move, part, s, direction);
        }
      }
    }
  }

 private:
  size_t SideOf(size_t part, size_t s) const {
    return (part + s) % grid_.dimensions();
  }
  int32_t Base(size_t part) const {
    return static_cast<int32_t>(part) * layout_.ranks * pieces_;
  }
  // The number of a rank's shard, as far as its first sides tell.
  int32_t ShardOf(size_t part, int32_t rank, size_t sides) const {
    int32_t shard = 0;
    int32_t digit = 1;
    for (size_t t = 0; t < sides; ++t) {
      shard += grid_.coordinate(rank, SideOf(part, t)) * digit;
      digit *= grid_.side(SideOf(part, t));
    }
    return shard;
  }
  // Whether a rank is on a line that the root's data has come to, or comes
  // from, along the part's s-th side.
  bool OnRootsLine(size_t part, int32_t rank, size_t s) const {
    for (size_t t = s + 1; t < grid_.dimensions(); ++t) {
      const size_t d = SideOf(part, t);
      if (grid_.coordinate(rank, d) != grid_.coordinate(layout_.root, d)) {
        return false;
      }
    }
    return true;
  }

  void AddWay(Move move, size_t part, size_t s, int32_t direction) {
    const size_t d = SideOf(part, s);
    const int32_t side = grid_.side(d);
    const bool open = layout_.open(d);
    const bool halves = !open && side % 2 == 0;
    int32_t stride = 1;
    for (size_t t = 0; t < s; ++t) stride *= grid_.side(SideOf(part, t));
    const Way way = {side, open, direction, grid_.coordinate(layout_.root, d),
                     side / 2};
    const int32_t repeat = Repeat(move, way);
    if (repeat == 0) return;
    builder_.BeginRound(repeat, -direction * stride * pieces_, Base(part),
                        layout_.ranks * pieces_);
    for (int32_t rank = 0; rank < layout_.ranks; ++rank) {
      if (FromRoot(move) && !OnRootsLine(part, rank, s)) continue;
      const int32_t x = grid_.coordinate(rank, d);
      const int32_t done = ShardOf(part, rank, s);
      const auto send = [&](const Way& along, int32_t piece, int32_t pieces) {
        const Sending sending = along.Of(move, x);
        if (sending.times == 0) return;
        const int32_t shard =
            (x + direction * sending.distance % side + side) % side;
        std::vector<ChunkRange> ranges;
        for (int32_t i = piece; i < piece + pieces; ++i) {
          ranges.push_back({.begin = (done + shard * stride) * pieces_ + i,
                            .count = layout_.ranks / (stride * side),
                            .stride = stride * side * pieces_});
        }
        builder_.SendIn(sending.first, sending.times, rank,
                        grid_.Moved(rank, d, direction), ranges,
                        move == Move::kReduceScatter);
      };
      if (!halves) {
        send(way, 0, pieces_);
        continue;
      }
      // The opposite rank gets half of a shard from either side.
      Way nearer = way;
      --nearer.reach;
      send(way, direction > 0 ? 0 : 1, 1);
      send(nearer, direction > 0 ? 1 : 0, 1);
    }
  }

  static int32_t Repeat(Move move, const Way& way) {
    int32_t repeat = 0;
    for (int32_t x = 0; x < way.side; ++x) {
      const Sending sending = way.Of(move, x);
      if (sending.times > 0) {
        repeat = std::max(repeat, sending.first + sending.times);
      }
    }
    return repeat;
  }

  ScheduleBuilder& builder_;
  const GroupLayout& layout_;
  GridView grid_;
  int32_t pieces_ = PiecesOf(layout_);
};

Schedule Write(Kind kind, const GroupLayout& layout) {
  ScheduleBuilder builder(kind, layout.ranks,
                          static_cast<int32_t>(layout.grid.size()) *
                              layout.ranks * GridWriter::PiecesOf(layout));
  GridWriter writer(builder, layout);
  writer.NameOwners();
  switch (kind) {
    case Kind::kAllReduce:
      writer.AddSides(Move::kReduceScatter, /*forwards=*/true);
      writer.AddSides(Move::kAllGather, /*forwards=*/false);
      break;
    case Kind::kReduceScatter:
      writer.AddSides(Move::kReduceScatter, /*forwards=*/true);
      break;
    case Kind::kAllGather:
      writer.AddSides(Move::kAllGather, /*forwards=*/false);
      break;
    case Kind::kBroadcast:
      writer.AddSides(Move::kScatter, /*forwards=*/true);
      writer.AddSides(Move::kAllGather, /*forwards=*/false);
      break;
    case Kind::kReduce:
      writer.AddSides(Move::kReduceScatter, /*forwards=*/true);
      writer.AddSides(Move::kGather, /*forwards=*/false);
      break;
    case Kind::kAllToAll:
    case Kind::kBarrier:
    case Kind::kPointToPoint:
      break;  // refused before
  }
  return std::move(builder).Build();
}

}  // namespace

absl::StatusOr<Schedule> GridSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kGrid, request));
  return Write(request.kind, request.layout);
}

absl::StatusOr<Schedule> ShardRingSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kShardRing, request));
  return Write(request.kind, {.ranks = request.layout.ranks,
                              .grid = {request.layout.ranks},
                              .root = request.layout.root});
}

}  // namespace orrery
