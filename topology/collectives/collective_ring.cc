#include <utility>
#include <vector>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"
#include "topology/collectives/ring_orders.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// One pass around a ring in `direction`: in repetition r every rank sends on
// what it received before, starting `ahead` chunks ahead of its own. Chunks are
// numbered along the ring from `base` on.
void AddPass(ScheduleBuilder& builder, const RingOrder& order,
             int32_t direction, int32_t ahead, bool reduces, int32_t base) {
  const int32_t p = static_cast<int32_t>(order.size());
  builder.BeginRound(p - 1, -direction, base, p);
  for (int32_t at = 0; at < p; ++at) {
    const ChunkRange own = {.begin = (at + ahead + 2 * p) % p};
    const int32_t next = (at + direction + p) % p;
    builder.Send(order[static_cast<size_t>(at)],
                 order[static_cast<size_t>(next)], {&own, 1}, reduces);
  }
}

// Shards of an all-gather go both ways at once, each half of the way round; an
// even number of ranks splits the shard of the opposite rank. Chunks are pairs
// of half shards, 2r and 2r+1. A reduce-scatter is its mirror image in time:
// sums travel towards the owner, the farthest shards first.
Schedule BothWays(Kind kind, int32_t p) {
  const bool reduces = kind == Kind::kReduceScatter;
  ScheduleBuilder builder(kind, p, 2 * p);
  for (int32_t c = 0; c < 2 * p; ++c) {
    builder.schedule().owners.push_back(c / 2);
  }
  // In repetition r a rank passes on the shard `distance` + r ranks behind it,
  // or where it reduces, `distance` - r ranks before it.
  const auto add = [&](int32_t repeat, int32_t distance, bool half) {
    builder.BeginPhase();
    for (int32_t direction : {1, -1}) {
      const int32_t away = reduces ? direction : -direction;
      builder.BeginRound(repeat, -2 * direction);
      for (int32_t rank = 0; rank < p; ++rank) {
        const int32_t shard = (rank + away * distance + p) % p;
        const ChunkRange range = {.begin = 2 * shard + (half && direction < 0),
                                  .count = half ? 1 : 2};
        builder.Send(rank, (rank + direction + p) % p, {&range, 1}, reduces);
      }
    }
  };
  const int32_t whole_steps = (p - 1) / 2;
  const bool halves = p % 2 == 0;
  if (reduces && halves) add(1, p / 2, true);
  if (whole_steps > 0) add(whole_steps, reduces ? whole_steps : 0, false);
  if (!reduces && halves) add(1, whole_steps, true);
  return std::move(builder).Build();
}

}  // namespace

absl::StatusOr<Schedule> RingSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kRing, request));
  const int32_t p = request.layout.ranks;
  const std::vector<RingOrder> orders = RingOrders(request.layout);
  ScheduleBuilder builder(request.kind, p,
                          static_cast<int32_t>(orders.size()) * p);
  for (const RingOrder& order : orders) {
    builder.schedule().owners.insert(builder.schedule().owners.end(),
                                     order.begin(), order.end());
  }
  // Chunk at-1 is reduced first, so that chunk `at` ends at its own rank.
  const auto pass = [&](bool reduces) {
    builder.BeginPhase();
    for (size_t ring = 0; ring < orders.size(); ++ring) {
      AddPass(builder, orders[ring], 1, reduces ? -1 : 0, reduces,
              static_cast<int32_t>(ring) * p);
    }
  };
  if (request.kind != Kind::kAllGather) pass(true);
  if (request.kind != Kind::kReduceScatter) pass(false);
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> BidirectionalRingSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kBidirectionalRing, request));
  const int32_t p = request.layout.ranks;
  if (request.kind != Kind::kAllReduce) return BothWays(request.kind, p);
  // Half of the data each way around.
  const RingOrder order = RingOrders({.ranks = p})[0];
  ScheduleBuilder builder(request.kind, p, 2 * p);
  builder.BeginPhase();
  AddPass(builder, order, 1, -1, true, 0);
  AddPass(builder, order, -1, 1, true, p);
  builder.BeginPhase();
  AddPass(builder, order, 1, 0, false, 0);
  AddPass(builder, order, -1, 0, false, p);
  return std::move(builder).Build();
}

}  // namespace orrery
