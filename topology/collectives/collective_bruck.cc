#include <algorithm>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

// Step with distance d: rank r hands its blocks r .. r+n-1 to rank r-d.
void AddAllGather(ScheduleBuilder& builder, int32_t p) {
  for (int32_t d = 1; d < p; d *= 2) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t rank = 0; rank < p; ++rank) {
      const ChunkRange range = {.begin = rank, .count = std::min(d, p - d)};
      builder.Send(rank, (rank - d + p) % p, {&range, 1}, false);
    }
  }
}

// The same backwards in time.
void AddReduceScatter(ScheduleBuilder& builder, int32_t p) {
  int32_t d = 1;
  while (d < p) d *= 2;
  for (d /= 2; d >= 1; d /= 2) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t rank = 0; rank < p; ++rank) {
      const int32_t to = (rank + d) % p;
      const ChunkRange range = {.begin = to, .count = std::min(d, p - d)};
      builder.Send(rank, to, {&range, 1}, true);
    }
  }
}

// A block with j ranks to go takes the hops of the bits of j, lowest first.
Schedule AllToAll(int32_t p) {
  ScheduleBuilder builder(Kind::kAllToAll, p, p * p);
  builder.schedule().chunk_share = {1.0 / p};
  std::vector<ChunkRange> ranges;
  for (int32_t d = 1; d < p; d *= 2) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t rank = 0; rank < p; ++rank) {
      ranges.clear();
      for (int32_t j = d; j < p; ++j) {
        if ((j & d) == 0) continue;
        const int32_t origin = (rank - (j & (d - 1)) + p) % p;
        ranges.push_back({.begin = origin * p + (origin + j) % p});
      }
      builder.Send(rank, (rank + d) % p, ranges, false);
    }
  }
  return std::move(builder).Build();
}

}  // namespace

absl::StatusOr<Schedule> BruckSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kBruck, request));
  const int32_t p = request.layout.ranks;
  if (request.kind == Kind::kAllToAll) return AllToAll(p);
  ScheduleBuilder builder(request.kind, p, p);
  if (request.kind != Kind::kAllGather) AddReduceScatter(builder, p);
  if (request.kind != Kind::kReduceScatter) AddAllGather(builder, p);
  return std::move(builder).Build();
}

}  // namespace orrery
