#include "base/status.h"
#include "topology/collective_schedules.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// One pass around the ring in `direction`: in repetition r every rank sends on
// what it received before, starting `ahead` chunks ahead of its own.
void AddPass(ScheduleBuilder& builder, int32_t p, int32_t direction,
             int32_t ahead, bool reduces, int32_t base) {
  builder.BeginRound(p - 1, -direction, base, p);
  for (int32_t rank = 0; rank < p; ++rank) {
    const ChunkRange own = {.begin = (rank + ahead + 2 * p) % p};
    builder.Send(rank, (rank + direction + p) % p, {&own, 1}, reduces);
  }
}

// Shards of an all-gather go both ways at once, each half of the way round; an
// even number of ranks splits the shard of the opposite rank. Chunks are pairs
// of half shards, 2r and 2r+1.
Schedule GatherBothWays(int32_t p) {
  ScheduleBuilder builder(Kind::kAllGather, p, 2 * p);
  for (int32_t c = 0; c < 2 * p; ++c) {
    builder.schedule().owners.push_back(c / 2);
  }
  const int32_t whole_steps = (p - 1) / 2;
  const auto add = [&](int32_t repeat, int32_t distance, bool half) {
    builder.BeginPhase();
    for (int32_t direction : {1, -1}) {
      builder.BeginRound(repeat, -2 * direction);
      for (int32_t rank = 0; rank < p; ++rank) {
        const int32_t shard = (rank - direction * distance + p) % p;
        const ChunkRange range = {.begin = 2 * shard + (half && direction < 0),
                                  .count = half ? 1 : 2};
        builder.Send(rank, (rank + direction + p) % p, {&range, 1}, false);
      }
    }
  };
  if (whole_steps > 0) add(whole_steps, 0, false);
  if (p % 2 == 0) add(1, whole_steps, true);
  return std::move(builder).Build();
}

// The mirror image in time: sums travel towards the owner.
Schedule ReduceBothWays(int32_t p) {
  ScheduleBuilder builder(Kind::kReduceScatter, p, 2 * p);
  for (int32_t c = 0; c < 2 * p; ++c) {
    builder.schedule().owners.push_back(c / 2);
  }
  const int32_t whole_steps = (p - 1) / 2;
  // In repetition r a rank passes on the shard `distance - r` ranks away.
  const auto add = [&](int32_t repeat, int32_t distance, bool half) {
    builder.BeginPhase();
    for (int32_t direction : {1, -1}) {
      builder.BeginRound(repeat, -2 * direction);
      for (int32_t rank = 0; rank < p; ++rank) {
        const int32_t shard = (rank + direction * distance + p) % p;
        const ChunkRange range = {.begin = 2 * shard + (half && direction < 0),
                                  .count = half ? 1 : 2};
        builder.Send(rank, (rank + direction + p) % p, {&range, 1}, true);
      }
    }
  };
  if (p % 2 == 0) add(1, p / 2, true);
  if (whole_steps > 0) add(whole_steps, whole_steps, false);
  return std::move(builder).Build();
}

}  // namespace

absl::StatusOr<Schedule> RingSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kRing, request));
  const int32_t p = request.layout.ranks;
  ScheduleBuilder builder(request.kind, p, p);
  if (request.kind != Kind::kAllGather) {
    builder.BeginPhase();
    // Chunk rank-1 first, so that chunk rank ends at its own rank.
    AddPass(builder, p, 1, -1, true, 0);
  }
  if (request.kind != Kind::kReduceScatter) {
    builder.BeginPhase();
    AddPass(builder, p, 1, 0, false, 0);
  }
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> BidirectionalRingSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kBidirectionalRing, request));
  const int32_t p = request.layout.ranks;
  if (request.kind == Kind::kAllGather) return GatherBothWays(p);
  if (request.kind == Kind::kReduceScatter) return ReduceBothWays(p);
  // Half of the data each way around.
  ScheduleBuilder builder(request.kind, p, 2 * p);
  builder.BeginPhase();
  AddPass(builder, p, 1, -1, true, 0);
  AddPass(builder, p, -1, 1, true, p);
  builder.BeginPhase();
  AddPass(builder, p, 1, 0, false, 0);
  AddPass(builder, p, -1, 0, false, p);
  return std::move(builder).Build();
}

}  // namespace orrery
