#include <algorithm>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

using Kind = CommunicationKind;

}  // namespace

absl::StatusOr<Schedule> SwitchMulticastSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kSwitchMulticast, request));
  const int32_t p = request.layout.ranks;
  const int32_t the_switch = p;
  ScheduleBuilder builder(request.kind, p, p, request.segments);
  builder.schedule().switches = 1;
  const ChunkRange all = {.count = p};
  const auto phase = [&](bool streams, bool up, bool whole, bool reduces) {
    builder.BeginPhase(streams);
    builder.BeginRound();
    for (int32_t rank = 0; rank < p; ++rank) {
      const ChunkRange own = {.begin = rank};
      builder.Send(up ? rank : the_switch, up ? the_switch : rank,
                   {whole ? &all : &own, 1}, reduces);
    }
  };
  if (request.kind != Kind::kAllGather) {
    phase(false, /*up=*/true, /*whole=*/true, true);    // owners pull ...
    phase(true, /*up=*/false, /*whole=*/false, false);  // ... the sums
  }
  if (request.kind != Kind::kReduceScatter) {
    phase(false, /*up=*/true, /*whole=*/false, false);  // owners push ...
    phase(true, /*up=*/false, /*whole=*/true, false);   // ... to all
  }
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> ReductionTreeSchedule(const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kReductionTree, request));
  const int32_t p = request.layout.ranks;
  std::vector<int32_t> parents = request.layout.tree_parents;
  if (parents.empty()) {
    parents.assign(static_cast<size_t>(p), p);
    parents.push_back(-1);
  }
  const int32_t island = request.layout.island_size;
  const int32_t size = island > 1 && island < p ? island : 1;
  ScheduleBuilder builder(request.kind, p, size,
                          size > 1 ? request.segments : 1);
  builder.schedule().switches = static_cast<int32_t>(parents.size()) - p;

  // Rings inside the islands: place g ends with, or starts from, chunk g.
  const auto inside = [&](bool reduces) {
    if (size == 1) return;
    builder.BeginPhase();
    builder.BeginRound(size - 1, -1);
    for (int32_t rank = 0; rank < p; ++rank) {
      const int32_t place = rank % size;
      const ChunkRange chunk = {.begin =
                                    (place + (reduces ? size - 1 : 0)) % size};
      builder.Send(rank, rank - place + (place + 1) % size, {&chunk, 1},
                   reduces);
    }
  };

  // How far above the ranks each participant is, and which chunk it is for.
  std::vector<int32_t> height(parents.size(), 0);
  std::vector<int32_t> chunk_of(parents.size(), 0);
  for (int32_t rank = 0; rank < p; ++rank) {
    int32_t at = rank;
    for (int32_t up = 1; parents[static_cast<size_t>(at)] >= 0; ++up) {
      at = parents[static_cast<size_t>(at)];
      height[static_cast<size_t>(at)] =
          std::max(height[static_cast<size_t>(at)], up);
      chunk_of[static_cast<size_t>(at)] = rank % size;
    }
    chunk_of[static_cast<size_t>(rank)] = rank % size;
  }
  const int32_t top = *std::max_element(height.begin(), height.end());
  const auto between = [&](int32_t below, bool up) {
    builder.BeginPhase(/*streams=*/!(up && below == 0));
    builder.BeginRound();
    for (size_t i = 0; i < parents.size(); ++i) {
      if (height[i] != below || parents[i] < 0) continue;
      const auto child = static_cast<int32_t>(i);
      const ChunkRange chunk = {.begin = chunk_of[i]};
      builder.Send(up ? child : parents[i], up ? parents[i] : child,
                   {&chunk, 1}, up);
    }
  };
  inside(true);
  for (int32_t below = 0; below < top; ++below) between(below, true);
  for (int32_t below = top; below-- > 0;) between(below, false);
  inside(false);
  return std::move(builder).Build();
}

}  // namespace orrery
