#include "base/status.h"
#include "topology/collective_schedules.h"

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
  const int32_t size = request.layout.island_size;
  const int32_t leaves = size > 0 && size < p ? p / size : 1;
  ScheduleBuilder builder(request.kind, p, 1);
  builder.schedule().switches = leaves > 1 ? leaves + 1 : 1;
  const int32_t root = p + leaves;
  const ChunkRange all = {};
  const auto ranks = [&](bool up) {
    builder.BeginPhase(/*streams=*/!up);
    builder.BeginRound();
    for (int32_t rank = 0; rank < p; ++rank) {
      const int32_t leaf = p + (leaves > 1 ? rank / size : 0);
      builder.Send(up ? rank : leaf, up ? leaf : rank, {&all, 1}, up);
    }
  };
  const auto spine = [&](bool up) {
    if (leaves == 1) return;
    builder.BeginPhase(/*streams=*/true);
    builder.BeginRound();
    for (int32_t leaf = p; leaf < p + leaves; ++leaf) {
      builder.Send(up ? leaf : root, up ? root : leaf, {&all, 1}, up);
    }
  };
  ranks(true);
  spine(true);
  spine(false);
  ranks(false);
  return std::move(builder).Build();
}

}  // namespace orrery
