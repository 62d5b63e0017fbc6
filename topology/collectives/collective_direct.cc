#include "base/status.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// Every rank sends to every other: its sum of their chunk, or its own chunk.
void AddExchange(ScheduleBuilder& builder, int32_t p, bool reduces) {
  builder.BeginPhase();
  builder.BeginRound();
  for (int32_t rank = 0; rank < p; ++rank) {
    for (int32_t offset = 1; offset < p; ++offset) {
      const int32_t to = (rank + offset) % p;
      const ChunkRange range = {.begin = reduces ? to : rank};
      builder.Send(rank, to, {&range, 1}, reduces);
    }
  }
}

void AddBlocks(ScheduleBuilder& builder, int32_t p, int32_t offset) {
  for (int32_t rank = 0; rank < p; ++rank) {
    const int32_t to = (rank + offset) % p;
    const ChunkRange block = {.begin = rank * p + to};
    builder.Send(rank, to, {&block, 1}, false);
  }
}

}  // namespace

absl::StatusOr<Schedule> DirectSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kDirect, request));
  const int32_t p = request.layout.ranks;
  if (request.kind == Kind::kPointToPoint) {
    // Two: from the first to the second. More: each one to the next, as a step
    // around a ring, everyone with bytes of their own.
    const int32_t senders = p > 2 ? p : 1;
    ScheduleBuilder builder(request.kind, p, senders);
    builder.schedule().chunk_share = {1.0};
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t rank = 0; rank < senders; ++rank) {
      const ChunkRange own = {.begin = rank};
      builder.Send(rank, (rank + 1) % p, {&own, 1}, false);
    }
    return std::move(builder).Build();
  }
  if (request.kind == Kind::kAllToAll) {
    ScheduleBuilder builder(request.kind, p, p * p);
    builder.schedule().chunk_share = {1.0 / p};
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t offset = 1; offset < p; ++offset) {
      AddBlocks(builder, p, offset);
    }
    return std::move(builder).Build();
  }
  ScheduleBuilder builder(request.kind, p, p);
  if (request.kind != Kind::kAllGather) AddExchange(builder, p, true);
  if (request.kind != Kind::kReduceScatter) AddExchange(builder, p, false);
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> OneShotSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kOneShot, request));
  const int32_t p = request.layout.ranks;
  ScheduleBuilder builder(request.kind, p, 1);
  builder.schedule().chunk_share = {1.0};
  builder.BeginPhase();
  builder.BeginRound();
  const ChunkRange all = {.begin = 0};
  for (int32_t rank = 0; rank < p; ++rank) {
    for (int32_t offset = 1; offset < p; ++offset) {
      builder.Send(rank, (rank + offset) % p, {&all, 1}, /*reduces=*/true);
    }
  }
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> PairwiseSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kPairwise, request));
  const int32_t p = request.layout.ranks;
  ScheduleBuilder builder(request.kind, p, p * p);
  builder.schedule().chunk_share = {1.0 / p};
  for (int32_t offset = 1; offset < p; ++offset) {
    builder.BeginPhase();
    builder.BeginRound();
    AddBlocks(builder, p, offset);
  }
  return std::move(builder).Build();
}

}  // namespace orrery
