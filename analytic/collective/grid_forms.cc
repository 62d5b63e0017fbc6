// Forms on tori: collective_forms.h.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "analytic/collective/collective_forms.h"
#include "analytic/collective/form_builder.h"

namespace orrery {

namespace {

using Side = GroupNetwork::Side;
using Kind = CommunicationKind;

// D parts of the data at once on a grid with D sides: part l goes along side
// l + s in stage s, both ways, and holds of the data what the stages before
// have left [J].
class GridWriter {
 public:
  // All of these must outlive it.
  GridWriter(FormBuilder& form, const GroupNetwork& group,
             const std::vector<Side>& sides)
      : form_(form), group_(group), sides_(sides) {}

  const Side& SideOf(size_t part, size_t stage) const {
    return sides_[(part + stage) % sides_.size()];
  }
  // What a rank has of a part before a stage, as a share of the call.
  double Held(size_t part, size_t stage) const {
    double held = 1.0 / static_cast<double>(sides_.size());
    for (size_t s = 0; s < stage; ++s) held /= SideOf(part, s).members;
    return held;
  }

  int StrideOf(size_t d) const {
    int stride = 1;
    for (size_t i = 0; i < d; ++i) stride *= sides_[i].members;
    return stride;
  }
  int Coordinate(int rank, size_t d) const {
    return rank / StrideOf(d) % sides_[d].members;
  }

  enum class Move : uint8_t { kReduceScatter, kAllGather, kScatter, kGather };
  void Add(Move move, size_t stage) {
    form_.BeginWave();
    for (size_t part = 0; part < sides_.size(); ++part) {
      for (const int direction : {1, -1}) AddWay(move, part, stage, direction);
    }
  }
  void AddAll(Move move) {
    for (size_t stage = 0; stage < sides_.size(); ++stage) Add(move, stage);
  }

 private:
  // The links of a line that a direction has behind one of its places, and the
  // shards that pass the next of them.
  struct Line {
    Side side;
    int root;  // places of the line before the root
    int steps(Move move) const {
      if (!side.open) return side.members / 2;
      switch (move) {
        case Move::kScatter:
          return side.members - 1 - root;
        case Move::kGather:
          return root;
        case Move::kReduceScatter:
        case Move::kAllGather:
          break;
      }
      return side.members - 1;
    }
    // Sent on by the place with `before` others before it; on a ring half of
    // all but one pass in all, and of those from or to a root ever fewer.
    double Shards(Move move, int before) const {
      const int k = side.members;
      switch (move) {
        case Move::kAllGather:
          return side.open ? before + 1 : (k - 1) / 2.0;
        case Move::kReduceScatter:
          return side.open ? k - 1 - before : (k - 1) / 2.0;
        case Move::kScatter:
          if (side.open) return before < root ? 0 : k - 1 - before;
          return std::max(0.0, (k - 1) / 2.0 - (before - root + k) % k);
        case Move::kGather:
          if (side.open) return before < root ? before + 1 : 0;
          return before == root
                     ? 0
                     : std::max(0.0, (k + 1) / 2.0 - (root - before + k) % k);
      }
      return 0;
    }
  };

  void AddWay(Move move, size_t part, size_t stage, int direction) {
    const size_t d = (part + stage) % sides_.size();
    const Side& side = sides_[d];
    const int k = side.members;
    const auto before = [&](int x) { return direction > 0 ? x : k - 1 - x; };
    const Line line = {side, before(Coordinate(group_.root(), d))};
    const int steps = line.steps(move);
    if (steps == 0) return;
    form_.BeginRound(steps);
    const bool rooted = move == Move::kScatter || move == Move::kGather;
    const int stride = StrideOf(d);
    for (int rank = 0; rank < group_.ranks(); ++rank) {
      if (rooted && !OnRootsLine(rank, part, stage)) continue;
      const int x = Coordinate(rank, d);
      const int y = (x + direction + k) % k;
      if (side.open && y != x + direction) continue;
      const double shards = line.Shards(move, before(x));
      if (shards == 0) continue;
      form_.Send(rank, rank + (y - x) * stride,
                 Held(part, stage) / k * shards / steps);
    }
  }

  // What has come from the root, or is on its way to it, in the sides to come.
  bool OnRootsLine(int rank, size_t part, size_t stage) const {
    for (size_t s = stage + 1; s < sides_.size(); ++s) {
      const size_t d = (part + s) % sides_.size();
      if (Coordinate(rank, d) != Coordinate(group_.root(), d)) return false;
    }
    return true;
  }
  FormBuilder& form_;
  const GroupNetwork& group_;
  const std::vector<Side>& sides_;
};

using Move = GridWriter::Move;

// Rings both ways along the side of each part, there and back, in lockstep.
void AddBucketStage(FormBuilder& form, const GroupNetwork& group,
                    size_t stage) {
  const std::vector<Side>& sides = group.grid();
  for (int pass = 0; pass < 2; ++pass) {
    form.BeginWave();
    const GridWriter grid(form, group, sides);
    for (size_t part = 0; part < sides.size(); ++part) {
      const size_t d = (part + stage) % sides.size();
      const int k = sides[d].members;
      for (const int direction : {1, -1}) {
        form.BeginRound(k - 1);
        for (int rank = 0; rank < group.ranks(); ++rank) {
          const int x = grid.Coordinate(rank, d);
          const int y = (x + direction + k) % k;
          form.Send(rank, rank + (y - x) * grid.StrideOf(d),
                    grid.Held(part, stage) / 2 / k);
        }
      }
    }
  }
}

void AddMoves(Kind kind, GridWriter& writer) {
  switch (kind) {
    case Kind::kAllReduce:
      writer.AddAll(Move::kReduceScatter);
      writer.AddAll(Move::kAllGather);
      break;
    case Kind::kReduceScatter:
      writer.AddAll(Move::kReduceScatter);
      break;
    case Kind::kAllGather:
      writer.AddAll(Move::kAllGather);
      break;
    case Kind::kBroadcast:
      writer.AddAll(Move::kScatter);
      writer.AddAll(Move::kAllGather);
      break;
    case Kind::kReduce:
      writer.AddAll(Move::kReduceScatter);
      writer.AddAll(Move::kGather);
      break;
    case Kind::kAllToAll:
    case Kind::kPointToPoint:
    case Kind::kBarrier:
      break;
  }
}

bool ByNumbers(Kind kind, const GroupNetwork& group) {
  return group.routes() == nullptr && kind != Kind::kBroadcast &&
         kind != Kind::kReduce;
}

}  // namespace

CollectiveForm TorusBucketForm(const GroupNetwork& group) {
  const std::vector<Side>& sides = group.grid();
  const size_t dimensions = sides.size();
  FormBuilder form(group, CollectiveAlgorithm::kTorusBucket);
  const GridWriter grid(form, group, sides);
  for (size_t stage = 0; stage < dimensions; ++stage) {
    if (group.routes() != nullptr) {
      AddBucketStage(form, group, stage);
      continue;
    }
    MessageRace steps;
    double largest = 0;
    for (size_t part = 0; part < dimensions; ++part) {
      const Side& side = grid.SideOf(part, stage);
      const double k = side.members;
      // There and, in the all-gather, back.
      steps.push_back({{Tier::kScaleUp, side.hops * group.ports().island_link,
                        2 * (k - 1)}});
      largest = std::max(largest, (k - 1) / k * grid.Held(part, stage));
    }
    form.AddWave(steps, {.island = largest});
  }
  return std::move(form).Build();
}

CollectiveForm GridForm(Kind kind, const GroupNetwork& group) {
  FormBuilder form(group, CollectiveAlgorithm::kGrid);
  GridWriter grid(form, group, group.grid());
  if (!ByNumbers(kind, group)) {
    AddMoves(kind, grid);
    return std::move(form).Build();
  }
  for (size_t stage = 0; stage < group.grid().size(); ++stage) {
    MessageRace steps;
    double largest = 0;
    for (size_t part = 0; part < group.grid().size(); ++part) {
      const Side& side = grid.SideOf(part, stage);
      const int k = side.members;
      // Half of everything from either side of a ring; the link at the end of a
      // line passes all.
      steps.push_back({{Tier::kScaleUp, side.hops * group.ports().island_link,
                        static_cast<double>((side.open ? k - 1 : k / 2) *
                                            PassesOf(kind))}});
      largest = std::max(largest, (k - 1.0) / (side.open ? k : 2 * k) *
                                      grid.Held(part, stage));
    }
    form.AddWave(steps, {.island = largest * PassesOf(kind)});
  }
  return std::move(form).Build();
}

CollectiveForm ShardRingForm(Kind kind, const GroupNetwork& group) {
  FormBuilder form(group, CollectiveAlgorithm::kShardRing);
  const std::vector<Side> ring = {{.members = group.ranks()}};
  GridWriter grid(form, group, ring);
  AddMoves(kind, grid);
  return std::move(form).Build();
}

CollectiveForm SwingForm(const GroupNetwork& group) {
  const std::vector<int> sides = group.rings();
  const size_t dimensions = sides.size();
  const int side = sides[0];
  const auto steps = static_cast<size_t>(
      std::countr_zero(static_cast<unsigned>(group.ranks())));
  std::vector<int> stride(dimensions, 1);
  for (size_t d = 1; d < dimensions; ++d) stride[d] = stride[d - 1] * side;
  FormBuilder form(group, CollectiveAlgorithm::kSwing);
  // Of 2D parts of the data, each begins with its own side and direction.
  const auto step = [&](size_t s, size_t first, int direction, double share) {
    const size_t d = (first + s) % dimensions;
    // 1, -1, 3, -5, 11, ...: (1 - (-2)^(t+1)) / 3 in step t of a side.
    int distance = 1;
    for (size_t t = 0; t < s / dimensions; ++t) distance = 1 - 2 * distance;
    form.BeginRound();
    for (int r = 0; r < group.ranks(); ++r) {
      const int x = r / stride[d] % side;
      const int way = (x % 2 == 0 ? direction : -direction) * distance;
      const int y = ((x + way) % side + side) % side;
      form.Send(r, r + (y - x) * stride[d], share);
    }
  };
  for (int pass = 0; pass < 2; ++pass) {
    double share = 0.5 / (2 * static_cast<double>(dimensions));
    for (size_t s = 0; s < steps; ++s, share /= 2) {
      form.BeginWave();
      for (size_t first = 0; first < dimensions; ++first) {
        for (const int direction : {1, -1}) step(s, first, direction, share);
      }
    }
  }
  return std::move(form).Build();
}

}  // namespace orrery
