#include <algorithm>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

int32_t PowerAtLeast(int32_t p) {
  int32_t power = 1;
  while (power < p) power *= 2;
  return power;
}

}  // namespace

absl::StatusOr<Schedule> BinomialSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kBinomial, request));
  const int32_t p = request.layout.ranks;
  const bool reduces = request.kind == Kind::kReduce;
  ScheduleBuilder builder(request.kind, p, 1);
  const ChunkRange all = {};
  // Broadcast: the ranks that have the data, 0 .. d-1, hand it d further on.
  const auto step = [&](int32_t d) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t rank = 0; rank < d && rank + d < p; ++rank) {
      builder.Send(reduces ? rank + d : rank, reduces ? rank : rank + d,
                   {&all, 1}, reduces);
    }
  };
  if (reduces) {
    for (int32_t d = PowerAtLeast(p) / 2; d >= 1; d /= 2) step(d);
  } else {
    for (int32_t d = 1; d < p; d *= 2) step(d);
  }
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> ScatterAllGatherSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kScatterAllGather, request));
  const int32_t p = request.layout.ranks;
  ScheduleBuilder builder(request.kind, p, p);
  // Binomial scatter: whoever holds blocks r .. r+2d-1 gives away the upper d.
  for (int32_t d = PowerAtLeast(p) / 2; d >= 1; d /= 2) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t rank = 0; rank + d < p; rank += 2 * d) {
      const ChunkRange upper = {.begin = rank + d,
                                .count = std::min(d, p - rank - d)};
      builder.Send(rank, rank + d, {&upper, 1}, false);
    }
  }
  builder.BeginPhase();
  builder.BeginRound(p - 1, -1);
  for (int32_t rank = 0; rank < p; ++rank) {
    const ChunkRange own = {.begin = rank};
    builder.Send(rank, (rank + 1) % p, {&own, 1}, false);
  }
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> ChainSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kChain, request));
  const int32_t p = request.layout.ranks;
  ScheduleBuilder builder(request.kind, p, 1, request.segments);
  const ChunkRange all = {};
  for (int32_t rank = 0; rank + 1 < p; ++rank) {
    builder.BeginPhase();
    builder.BeginRound();
    builder.Send(rank, rank + 1, {&all, 1}, false);
  }
  return std::move(builder).Build();
}

}  // namespace orrery
