#include "base/status.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// G ranks on each of N islands: rank i G + g is place g of island i, and chunk
// n G + g belongs to the rank of the same number.
class Hierarchy {
 public:
  // With `exchanges` those stand for messages.
  Hierarchy(ScheduleBuilder& builder, int32_t island_size,
            bool exchanges = false)
      : builder_(builder),
        size_(island_size),
        islands_(builder.schedule().ranks / island_size),
        exchanges_(exchanges) {}

  // Rings inside the islands move the chunks of one place for all islands.
  void Inside(bool reduces) {
    builder_.BeginPhase();
    builder_.BeginRound(size_ - 1, -1);
    ForEach([&](int32_t island, int32_t place) {
      const ChunkRange range = {
          .begin = (place + (reduces ? size_ - 1 : 0)) % size_,
          .count = islands_,
          .stride = size_};
      builder_.Send(island * size_ + place,
                    island * size_ + (place + 1) % size_, {&range, 1}, reduces);
    });
  }

  // Rings along the rails move one chunk each.
  void Across(bool reduces) {
    builder_.BeginPhase();
    builder_.BeginRound(islands_ - 1, -size_);
    ForEach([&](int32_t island, int32_t place) {
      const int32_t first = (island + (reduces ? islands_ - 1 : 0)) % islands_;
      const ChunkRange range = {.begin = first * size_ + place};
      builder_.Send(island * size_ + place,
                    (island + 1) % islands_ * size_ + place, {&range, 1},
                    reduces);
    });
  }

  // The same, everyone to everyone: the sums of the other's place, or what it
  // has of its own.
  void InsideAtOnce(bool reduces) {
    if (exchanges_) {
      builder_.AddExchange(
          {size_, RankExchange::Among::kBlocks, islands_ * ChunkShare()});
      return;
    }
    builder_.BeginPhase();
    builder_.BeginRound();
    ForEach([&](int32_t island, int32_t place) {
      for (int32_t offset = 1; offset < size_; ++offset) {
        const int32_t to = (place + offset) % size_;
        const ChunkRange range = {
            .begin = reduces ? to : place, .count = islands_, .stride = size_};
        builder_.Send(island * size_ + place, island * size_ + to, {&range, 1},
                      reduces);
      }
    });
  }
  void AcrossAtOnce(bool reduces) {
    if (exchanges_) {
      builder_.AddExchange({size_, RankExchange::Among::kPlaces, ChunkShare()});
      return;
    }
    builder_.BeginPhase();
    builder_.BeginRound();
    ForEach([&](int32_t island, int32_t place) {
      for (int32_t offset = 1; offset < islands_; ++offset) {
        const int32_t from = island * size_ + place;
        const int32_t to = (island + offset) % islands_ * size_ + place;
        const ChunkRange range = {.begin = reduces ? to : from};
        builder_.Send(from, to, {&range, 1}, reduces);
      }
    });
  }

 private:
  double ChunkShare() const { return builder_.schedule().chunk_share[0]; }

  template <class Visit>
  void ForEach(Visit visit) {
    for (int32_t island = 0; island < islands_; ++island) {
      for (int32_t place = 0; place < size_; ++place) visit(island, place);
    }
  }

  ScheduleBuilder& builder_;
  int32_t size_;
  int32_t islands_;
  bool exchanges_;
};

// Sums from the inside to the outside, and back again.
template <class Inside, class Across>
void AddPasses(Kind kind, Inside inside, Across across) {
  if (kind != Kind::kAllGather) {
    inside(true);
    across(true);
  }
  if (kind != Kind::kReduceScatter) {
    across(false);
    inside(false);
  }
}

}  // namespace

absl::StatusOr<Schedule> HierarchicalSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kHierarchical, request));
  const int32_t p = request.layout.ranks;
  ScheduleBuilder builder(request.kind, p, p, request.segments);
  Hierarchy hierarchy(builder, request.layout.island_size);
  AddPasses(
      request.kind,
      [&](bool reduces) {
        if (request.layout.meshed) {
          hierarchy.InsideAtOnce(reduces);
        } else {
          hierarchy.Inside(reduces);
        }
      },
      [&](bool reduces) { hierarchy.Across(reduces); });
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> HierarchicalDirectSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kHierarchicalDirect, request));
  const int32_t p = request.layout.ranks;
  const int32_t size = request.layout.island_size;
  ScheduleBuilder builder(request.kind, p, p, request.segments);
  Hierarchy hierarchy(builder, size,
                      request.Exchanges(int64_t{p} * (size + p / size)));
  AddPasses(
      request.kind, [&](bool reduces) { hierarchy.InsideAtOnce(reduces); },
      [&](bool reduces) { hierarchy.AcrossAtOnce(reduces); });
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> PxnSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kPxn, request));
  const int32_t p = request.layout.ranks;
  const int32_t size = request.layout.island_size;
  const int32_t islands = p / size;
  const bool exchanges = request.Exchanges(int64_t{p} * (size + islands));
  ScheduleBuilder builder(request.kind, p, exchanges ? p : p * p);
  builder.schedule().chunk_share = {1.0 / p};
  // To the chip of one's own island on the destination's rail, and on along the
  // rail, the whole island's blocks together.
  if (exchanges) {
    builder.AddExchange(
        {size, RankExchange::Among::kBlocks, static_cast<double>(islands) / p});
    builder.AddExchange(
        {size, RankExchange::Among::kPlaces, static_cast<double>(size) / p},
        /*streams=*/true);
    return std::move(builder).Build();
  }
  builder.BeginPhase();
  builder.BeginRound();
  for (int32_t rank = 0; rank < p; ++rank) {
    for (int32_t offset = 1; offset < size; ++offset) {
      const int32_t place = (rank + offset) % size;
      const ChunkRange blocks = {
          .begin = rank * p + place, .count = islands, .stride = size};
      builder.Send(rank, rank / size * size + place, {&blocks, 1}, false);
    }
  }
  builder.BeginPhase(/*streams=*/true);
  builder.BeginRound();
  for (int32_t rank = 0; rank < p; ++rank) {
    const int32_t island = rank / size;
    for (int32_t offset = 1; offset < islands; ++offset) {
      const int32_t to = (island + offset) % islands * size + rank % size;
      const ChunkRange blocks = {
          .begin = island * size * p + to, .count = size, .stride = p};
      builder.Send(rank, to, {&blocks, 1}, false);
    }
  }
  return std::move(builder).Build();
}

}  // namespace orrery
