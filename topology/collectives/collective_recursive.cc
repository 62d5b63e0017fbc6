#include <bit>

#include "base/status.h"
#include "topology/collectives/collective_schedules.h"

namespace orrery {
namespace {

// The ranks that take part once the extra ones are folded in: of the first
// 2 (p - 2^k) ranks the even ones, then all the rest.
struct Core {
  int32_t size;
  int32_t extra;

  explicit Core(int32_t p)
      : size(static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(p)))),
        extra(p - size) {}
  int32_t rank(int32_t i) const { return i < extra ? 2 * i : i + extra; }
};

void Fold(ScheduleBuilder& builder, const Core& core, bool in) {
  if (core.extra == 0) return;
  const ChunkRange all = {.count = builder.schedule().chunks};
  builder.BeginPhase();
  builder.BeginRound();
  for (int32_t i = 0; i < core.extra; ++i) {
    const int32_t odd = 2 * i + 1;
    builder.Send(in ? odd : 2 * i, in ? 2 * i : odd, {&all, 1}, in);
  }
}

}  // namespace

absl::StatusOr<Schedule> RecursiveDoublingSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kRecursiveDoubling, request));
  const Core core(request.layout.ranks);
  ScheduleBuilder builder(request.kind, request.layout.ranks, 1);
  const ChunkRange all = {};
  Fold(builder, core, true);
  for (int32_t distance = 1; distance < core.size; distance *= 2) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t i = 0; i < core.size; ++i) {
      builder.Send(core.rank(i), core.rank(i ^ distance), {&all, 1}, true);
    }
  }
  Fold(builder, core, false);
  return std::move(builder).Build();
}

absl::StatusOr<Schedule> HalvingDoublingSchedule(
    const ScheduleRequest& request) {
  RETURN_IF_ERROR(Applies(CollectiveAlgorithm::kHalvingDoubling, request));
  const Core core(request.layout.ranks);
  ScheduleBuilder builder(request.kind, request.layout.ranks, core.size);
  // At distance d rank i works on the 2d chunks around it and keeps d of them:
  // those that share its bits from d upwards.
  const auto exchange = [&](int32_t d, bool reduces) {
    builder.BeginPhase();
    builder.BeginRound();
    for (int32_t i = 0; i < core.size; ++i) {
      const int32_t partner = i ^ d;
      const int32_t keeper = reduces ? partner : i;
      const ChunkRange half = {.begin = keeper / d * d, .count = d};
      builder.Send(core.rank(i), core.rank(partner), {&half, 1}, reduces);
    }
  };
  Fold(builder, core, true);
  for (int32_t d = core.size / 2; d >= 1; d /= 2) exchange(d, true);
  for (int32_t d = 1; d < core.size; d *= 2) exchange(d, false);
  Fold(builder, core, false);
  return std::move(builder).Build();
}

}  // namespace orrery
