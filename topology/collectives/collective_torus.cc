#include <bit>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"
#include "topology/collectives/grid_view.h"

namespace orrery {
namespace {

// One of the 2D concurrent parts of an all-reduce on a torus: it starts with
// its own dimension and goes its own way around.
struct Lane {
  size_t first_dimension;
  int32_t direction;
  int32_t chunk_base;
};

std::vector<Lane> Lanes(size_t dimensions, int32_t ranks) {
  std::vector<Lane> lanes;
  for (size_t i = 0; i < 2 * dimensions; ++i) {
    lanes.push_back({i % dimensions, i < dimensions ? 1 : -1,
                     static_cast<int32_t>(i) * ranks});
  }
  return lanes;
}

// Ring along the lane's s-th dimension. A lane numbers its chunks by the
// coordinates of their owners in its own order of dimensions, so that the
// chunks a rank sends are its own coordinate in the dimensions done, one value
// in this one, and any in those to come.
void AddBucketStage(ScheduleBuilder& builder, const GridView& grid,
                    const Lane& lane, size_t s, bool reduces) {
  const int32_t p = builder.schedule().ranks;
  const auto dimension = [&](size_t t) {
    return (lane.first_dimension + t) % grid.dimensions();
  };
  int32_t stride = 1;
  for (size_t t = 0; t < s; ++t) stride *= grid.side(dimension(t));
  const size_t d = dimension(s);
  const int32_t side = grid.side(d);
  builder.BeginRound(side - 1, -lane.direction * stride, lane.chunk_base, p);
  for (int32_t rank = 0; rank < p; ++rank) {
    int32_t begin = 0;
    int32_t digit = 1;
    for (size_t t = 0; t < s; ++t) {
      begin += grid.coordinate(rank, dimension(t)) * digit;
      digit *= grid.side(dimension(t));
    }
    const int32_t ahead = reduces ? -lane.direction : 0;
    begin += (grid.coordinate(rank, d) + ahead + side) % side * stride;
    const ChunkRange range = {
        .begin = begin, .count = p / (stride * side), .stride = stride * side};
    builder.Send(rank, grid.Moved(rank, d, lane.direction), {&range, 1},
                 reduces);
  }
}

// Swing's partner distance in step s: 1, -1, 3, -5, 11, ... (NSDI 2024, eq. 1).
int32_t SwingDistance(size_t s) {
  int32_t power = 1;
  for (size_t i = 0; i <= s; ++i) power *= -2;
  return (1 - power) / 3;
}

class Swing {
 public:
  Swing(const GridView& grid, const Lane& lane) : grid_(grid), lane_(lane) {}

  int32_t Partner(int32_t rank, size_t step) const {
    const size_t d = (lane_.first_dimension + step) % grid_.dimensions();
    const int32_t distance =
        SwingDistance(step / grid_.dimensions()) * lane_.direction;
    return grid_.Moved(
        rank, d, grid_.coordinate(rank, d) % 2 == 0 ? distance : -distance);
  }

  // Whom `rank` passes something on to in the steps from `step` on, itself
  // included.
  void Reach(int32_t rank, size_t step, size_t steps,
             std::vector<ChunkRange>& reached) const {
    if (step == steps) {
      reached.push_back({.begin = rank});
      return;
    }
    Reach(rank, step + 1, steps, reached);
    Reach(Partner(rank, step), step + 1, steps, reached);
  }

 private:
  const GridView& grid_;
  const Lane& lane_;
};

}  // namespace

absl::StatusOr<Schedule> TorusBucketSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kTorusBucket, request));
  const int32_t p = request.layout.ranks;
  const GridView grid(request.layout.grid);
  const std::vector<Lane> lanes = Lanes(grid.dimensions(), p);
  ScheduleBuilder builder(request.kind, p,
                          static_cast<int32_t>(lanes.size()) * p);
  for (size_t s = 0; s < grid.dimensions(); ++s) {
    builder.BeginPhase();
    for (const Lane& lane : lanes) AddBucketStage(builder, grid, lane, s, true);
  }
  for (size_t s = grid.dimensions(); s-- > 0;) {
    builder.BeginPhase();
    for (const Lane& lane : lanes) {
      AddBucketStage(builder, grid, lane, s, false);
    }
  }
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> SwingSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kSwing, request));
  const int32_t p = request.layout.ranks;
  const GridView grid(request.layout.grid);
  const std::vector<Lane> lanes = Lanes(grid.dimensions(), p);
  ScheduleBuilder builder(request.kind, p,
                          static_cast<int32_t>(lanes.size()) * p);
  const size_t steps =
      static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(p)));
  std::vector<ChunkRange> blocks;
  const auto step = [&](size_t s, bool reduces) {
    builder.BeginPhase();
    for (const Lane& lane : lanes) {
      const Swing swing(grid, lane);
      builder.BeginRound(1, 0, lane.chunk_base, p);
      for (int32_t rank = 0; rank < p; ++rank) {
        const int32_t partner = swing.Partner(rank, s);
        blocks.clear();
        if (request.detail == Detail::kAmounts) {
          blocks.push_back({.count = 1 << (steps - s - 1)});
        } else {
          swing.Reach(reduces ? partner : rank, s + 1, steps, blocks);
        }
        builder.Send(rank, partner, blocks, reduces);
      }
    }
  };
  for (size_t s = 0; s < steps; ++s) step(s, true);
  for (size_t s = steps; s-- > 0;) step(s, false);
  return std::move(builder).Build();
}

}  // namespace orrery
