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

// The root sends every other its chunk, or every other sends it to the root.
void AddRooted(ScheduleBuilder& builder, int32_t root, bool scatters) {
  builder.BeginPhase();
  builder.BeginRound();
  for (int32_t rank = 0; rank < builder.schedule().ranks; ++rank) {
    if (rank == root) continue;
    const ChunkRange chunk = {.begin = rank};
    builder.Send(scatters ? root : rank, scatters ? rank : root, {&chunk, 1},
                 false);
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
  const bool exchanges = request.Exchanges(int64_t{p} * p);
  if (request.kind == Kind::kAllToAll) {
    ScheduleBuilder builder(request.kind, p, exchanges ? p : p * p);
    builder.schedule().chunk_share = {1.0 / p};
    if (exchanges) {
      builder.AddExchange({.share = 1.0 / p});
      return std::move(builder).Build();
    }
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t offset = 1; offset < p; ++offset) {
      AddBlocks(builder, p, offset);
    }
    return std::move(builder).Build();
  }
  ScheduleBuilder builder(request.kind, p, p);
  const int32_t root = request.layout.root;
  const bool from_root = request.kind == Kind::kBroadcast;
  if (from_root) AddRooted(builder, root, /*scatters=*/true);
  const auto exchange = [&](bool reduces) {
    if (exchanges) {
      builder.AddExchange({.share = 1.0 / p});
    } else {
      AddExchange(builder, p, reduces);
    }
  };
  if (request.kind != Kind::kAllGather && !from_root) exchange(true);
  if (request.kind == Kind::kReduce) {
    AddRooted(builder, root, /*scatters=*/false);
  } else if (request.kind != Kind::kReduceScatter) {
    exchange(false);
  }
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
