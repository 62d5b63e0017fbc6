#include "sim/network/schedule_cache.h"

#include <algorithm>

#include "base/check.h"
#include "base/status.h"
#include "topology/collectives/collective_expert.h"
#include "topology/collectives/collective_traffic.h"

namespace orrery {
namespace {

// The traffic with members in another order.
ExpertTraffic InOrder(const ExpertTraffic& traffic,
                      absl::Span<const VertexId> from,
                      absl::Span<const VertexId> to) {
  ExpertTraffic result = traffic;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto place = std::find(from.begin(), from.end(), to[i]);
    CHECK(place != from.end());
    result.share[i] = traffic.share[static_cast<size_t>(place - from.begin())];
  }
  return result;
}

absl::StatusOr<Schedule> ScheduleOf(const CollectiveCall& call,
                                    CollectiveAlgorithm algorithm,
                                    absl::Span<const VertexId> chips,
                                    const GroupPlacement& placement,
                                    int32_t segments) {
  switch (call.shape) {
    case CallShape::kTokensToExperts:
    case CallShape::kTokensFromExperts:
      return ExpertSchedule(placement.layout,
                            InOrder(*call.traffic, chips, placement.chips),
                            call.shape);
    case CallShape::kAroundTheRing:
      // Of two, each sends to the other; more than two always do it so.
      if (chips.size() == 2) {
        return TrafficSchedule(2, {0, 1, 1, 0});
      }
      break;
    case CallShape::kEven:
      break;
  }
  return MakeSchedule(call.kind, algorithm, placement.layout, segments);
}

}  // namespace

const ScheduleCache::Entry& ScheduleCache::Find(
    const CollectiveCall& call, CollectiveAlgorithm algorithm,
    absl::Span<const VertexId> chips, const GroupPlacement& placement) {
  if (MovesTokens(call.shape)) {
    CHECK(call.traffic != nullptr) << "tokens move, but nobody says where";
    if (!traffic_) traffic_ = *call.traffic;
    CHECK(*call.traffic == *traffic_) << "a second traffic in one run";
  }
  std::unique_ptr<const Entry>& cached =
      entries_[{call.kind, algorithm, call.shape, placement.layout.root,
                placement.chips}];
  if (cached != nullptr) return *cached;
  auto entry = std::make_unique<Entry>();
  absl::StatusOr<Schedule> schedule =
      ScheduleOf(call, algorithm, chips, placement, options_.segments);
  entry->status = schedule.status();
  if (schedule.ok()) {
    entry->schedule = *std::move(schedule);
    absl::StatusOr<RoutedSchedule> routed = RoutedSchedule::Make(
        entry->schedule, placement, resources_, router_, options_.arbitration);
    entry->status = routed.status();
    if (routed.ok()) entry->routed = *std::move(routed);
  }
  cached = std::move(entry);
  return *cached;
}

}  // namespace orrery
